# The image of the controller. It contains neither Airflow nor Java and needs no shell. The root file system can be
# read-only; only --webhook writes to /tmp.
ARG BASE=python:3.13.15-slim-trixie@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b

FROM ${BASE} AS build
ENV PYTHONDONTWRITEBYTECODE=1
WORKDIR /src
COPY requirements/build.txt requirements/controller.txt requirements/
RUN python3 -m venv --without-pip /opt/spark-operator \
    && python3 -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes -r requirements/build.txt \
    && /opt/build/bin/pip --python /opt/spark-operator/bin/python3 install --no-cache-dir --no-compile --no-deps --only-binary :all: --require-hashes -r requirements/controller.txt
COPY pyproject.toml hatch_build.py README.md LICENSE NOTICE ./
COPY airflow_provider_spark_operator airflow_provider_spark_operator
RUN /opt/build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir wheels . \
    && /opt/build/bin/pip --python /opt/spark-operator/bin/python3 install --no-cache-dir --no-compile --no-deps wheels/*.whl
# Without the times of the sources, two builds have the same bytecode. The controller rarely imports the other packages.
RUN python3 -m compileall -q --invalidation-mode unchecked-hash -x '/(cffi|cryptography|dateutil|kubernetes_asyncio|markdown_it|pendulum|pycparser|pygments|rich|urllib3)/' /opt/spark-operator/lib

FROM ${BASE}
COPY --from=build /opt/spark-operator /opt/spark-operator
ENV PATH=/opt/spark-operator/bin:/usr/local/bin:/usr/bin:/bin PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["/opt/spark-operator/bin/spark-operator"]
CMD ["reconcile"]
