"""Recorded runs of the real spark-submit: their inputs, and both results in comparable form."""

import glob
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from airflow_provider_spark_operator.core.driver.build import DriverResources, build_driver
from airflow_provider_spark_operator.core.driver.configuration.inputs import SubmissionInputs
from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_submit_naming
from airflow_provider_spark_operator.core.driver.submission import (
    SubmitContext,
    build_submission_inputs,
    parse_command_line,
)
from airflow_provider_spark_operator.core.spark.properties import parse_properties

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
FOLDER = Path(__file__).parents[2] / "golden" / "spark_submit"
CASES = sorted(path.parent.name for path in FOLDER.glob("*/args.json"))
REFUSED_BY_THE_API = frozenset(
    {
        "bad-api-unreachable",
        "bad-limit-below-request",
        "bad-namespace",
        "bad-pod-exists",
        "bad-service-account",
        "bad-token",
    }
)
"""Runs that failed only when the API server responded. An offline build has no reason to refuse them."""

_FAMILIES = ("driverEnv.", "secretKeyRef.", "secrets.", "volumes.")
_RANDOM = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "@UUID@"),
    (re.compile(r"spark-[0-9a-f]{32}"), "@APPID@"),
    (re.compile(r"spark-drv-[0-9a-f]{16}-conf-map"), "spark-drv-@CMID@-conf-map"),
    (re.compile(r"(?<=-)[0-9a-f]{16}(?=-|\.)"), "@ID@"),
)
_CLAIM = re.compile(r"(.*-driver-pvc-)\d+(.*)")


@dataclass(frozen=True)
class Case:
    name: str

    @cached_property
    def recorded(self) -> dict[str, Any]:
        recorded: dict[str, Any] = json.loads((FOLDER / self.name / "args.json").read_text())
        return recorded

    @property
    def is_refused(self) -> bool:
        return bool(self.recorded["expect"] == "error" or self.recorded["exitCode"] != 0)

    def load_expected(self) -> list[dict[str, Any]]:
        documents = list(yaml.load_all((FOLDER / self.name / "normal.yaml").read_text(), Loader=LOADER))
        for document in documents:
            document["metadata"].pop("ownerReferences", None)
        return normalize_documents(documents, self._conf)

    def build_documents(self) -> list[dict[str, Any]]:
        resources = self.build()
        documents = json.loads(json.dumps([*resources.pre_resources, resources.pod, *resources.resources]))
        for document in documents:
            text = document.get("data", {}).get("spark.properties")
            if text is not None:
                document["data"]["spark.properties"] = parse_properties(text) | {"spark.app.submitTime": "@MS@"}
        return normalize_documents(documents, self._conf)

    def build(self) -> DriverResources:
        inputs = self.build_inputs()
        naming = build_submit_naming(
            inputs.conf["spark.app.name"], inputs.conf, seed=self.name, environment=inputs.environment
        )
        return build_driver(inputs, naming)

    def build_inputs(self) -> SubmissionInputs:
        environment = self.recorded["env"]
        conf_files = _read_directory(environment.get("SPARK_CONF_DIR"))
        defaults = conf_files.get("spark-defaults.conf", b"").decode()
        context = SubmitContext(
            user="root",
            submit_time=0,
            environment=environment,
            properties=parse_properties(defaults),
            expand=_expand_pattern,
        )
        inputs = build_submission_inputs(parse_command_line(self.recorded["argv"]), context)
        hadoop = environment.get("HADOOP_CONF_DIR")
        return replace(
            inputs,
            conf_files=conf_files,
            hadoop_files=None if hadoop is None else _read_directory(hadoop),
            files=_read_named_files(inputs.conf),
            driver_template=_read_yaml(inputs.conf.get("spark.kubernetes.driver.podTemplateFile")),
            executor_template=_read_text(inputs.conf.get("spark.kubernetes.executor.podTemplateFile")),
            pod_group_template=_read_yaml(inputs.conf.get("spark.kubernetes.scheduler.volcano.podGroupTemplateFile")),
        )

    @property
    def _conf(self) -> dict[str, str]:
        return parse_properties((FOLDER / self.name / "conf.properties").read_text())


def normalize_documents(documents: list[dict[str, Any]], conf: dict[str, str]) -> list[dict[str, Any]]:
    """Replace random parts, and sort entries where the order of spark-submit is that of a hash table."""
    text = json.dumps(documents)
    for pattern, placeholder in _RANDOM:
        text = pattern.sub(placeholder, text)
    comparable = json.loads(text)
    claims = _map_claim_names(comparable)
    comparable = json.loads(_rename(json.dumps(comparable), claims))
    for document in comparable:
        if document["kind"] == "Pod":
            _sort_families(document["spec"], conf)
    return sorted(comparable, key=_get_sort_key)


def _get_sort_key(document: dict[str, Any]) -> tuple[int, str]:
    order = ("PodGroup", "Pod", "Secret", "Service", "NetworkPolicy", "PersistentVolumeClaim", "ConfigMap")
    name = document["metadata"]["name"] if document["kind"] == "PersistentVolumeClaim" else ""
    return order.index(document["kind"]), name


def _map_claim_names(documents: list[dict[str, Any]]) -> dict[str, str]:
    volumes = [volume for each in documents if each["kind"] == "Pod" for volume in each["spec"]["volumes"]]
    names = {}
    for volume in volumes:
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if match := _CLAIM.fullmatch(claim):
            names[claim] = f"{match[1]}@{volume['name']}@{match[2]}"
    return names


def _rename(text: str, names: dict[str, str]) -> str:
    for name, replacement in names.items():
        text = text.replace(json.dumps(name), json.dumps(replacement))
    return text


def _sort_families(spec: dict[str, Any], conf: dict[str, str]) -> None:
    names: set[str] = set()
    for key in conf:
        for family in _FAMILIES:
            rest = key.removeprefix(f"spark.kubernetes.driver.{family}").removeprefix(f"spark.kubernetes.{family}")
            if rest != key:
                names |= {rest, f"{rest}-volume", rest.split(".")[1] if family == "volumes." else rest}
    spec["volumes"] = _sort_family_runs(spec["volumes"], names)
    container = spec["containers"][-1]
    container["volumeMounts"] = _sort_family_runs(container["volumeMounts"], names)
    container["env"] = _sort_family_runs(container["env"], names)
    for variable in container["env"]:
        if variable["name"] == "SPARK_LOCAL_DIRS" and any("spark-local-dir-" in name for name in names):
            variable["value"] = ",".join(sorted(variable["value"].split(",")))


def _sort_family_runs(entries: list[dict[str, Any]], names: set[str]) -> list[dict[str, Any]]:
    """Sort each run of adjacent entries of one family by name. Other entries keep their positions."""
    result: list[dict[str, Any]] = []
    run: list[dict[str, Any]] = []
    for entry in entries:
        if entry["name"] in names:
            run.append(entry)
            continue
        result += [*sorted(run, key=_get_name_and_text), entry]
        run = []
    return result + sorted(run, key=_get_name_and_text)


def _get_name_and_text(entry: dict[str, Any]) -> tuple[str, str]:
    # Volumes of different types can have the same name, which only the API rejects.
    return entry["name"], json.dumps(entry, sort_keys=True)


def _resolve_path(path: str) -> Path:
    return FOLDER / path.removeprefix("/golden/")


def _expand_pattern(pattern: str) -> list[str]:
    found = glob.glob(str(_resolve_path(pattern)))  # noqa: PTH207 - an absolute pattern
    return sorted(f"/golden/{Path(each).relative_to(FOLDER)}" for each in found)


def _read_directory(path: str | None) -> dict[str, bytes]:
    if path is None:
        return {}
    return {each.name: each.read_bytes() for each in _resolve_path(path).iterdir() if each.is_file()}


def _read_named_files(conf: Mapping[str, str]) -> dict[str, bytes]:
    return {
        value: _resolve_path(value).read_bytes()
        for value in conf.values()
        if value.startswith("/golden/") and _resolve_path(value).is_file()
    }


def _read_text(path: str | None) -> str | None:
    return _resolve_path(path).read_text() if path is not None and _resolve_path(path).is_file() else None


def _read_yaml(path: str | None) -> dict[str, Any] | None:
    text = _read_text(path)
    return None if text is None else yaml.safe_load(text)
