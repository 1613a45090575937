"""The program of an application and its dependencies."""

from typing import Final

from ..dialects.apache_spec import IVY_DIRECTORY, IVY_KEY
from ..driver.configuration.inputs import PYTHON_RUNNER, R_RUNNER, ApplicationKind
from ..driver.submission import detect_kind
from .conversion import Draft

_TYPES: Final = {
    ApplicationKind.PYTHON: ("Python",),
    ApplicationKind.R: ("R",),
    ApplicationKind.JAVA: ("Java", "Scala"),
}
# The flags of spark-submit take precedence over `sparkConf`.
_DEPENDENCIES: Final = {
    "jars": "spark.jars",
    "files": "spark.files",
    "archives": "spark.archives",
    "packages": "spark.jars.packages",
    "excludePackages": "spark.jars.excludes",
    "repositories": "spark.jars.repositories",
}
_PY_FILES_KEY: Final = "spark.submit.pyFiles"


def write_program(draft: Draft) -> None:
    """Write the main file, its class, the arguments and the dependencies."""
    source, spec = draft.source, draft.spec
    main = source["mainApplicationFile"]
    kind = detect_kind(main)
    if source["type"] not in _TYPES[kind]:
        reason = (
            f"spark-submit chooses the language by the file name, and runs {main} as a {kind.name.title()} program; "
            "the converted application does the same"
        )
        draft.change("spec.type", reason)
    _write_dependencies(draft, kind)
    if kind is ApplicationKind.JAVA:
        _write_jar(draft, main)
    else:
        is_python = kind is ApplicationKind.PYTHON
        spec["mainClass"] = PYTHON_RUNNER if is_python else R_RUNNER
        if is_python:
            spec["pyFiles"] = ",".join([main, *_take_py_files(draft)])
        else:
            spec["sparkRFiles"] = main
        if "mainClass" in source:
            draft.change(
                "spec.mainClass",
                f"mainClass was replaced with {spec['mainClass']}, because spark-submit ignores mainClass for a script",
            )
    if source.get("arguments"):
        spec["driverArgs"] = source["arguments"]
    if source.get("proxyUser"):
        spec["proxyUser"] = source["proxyUser"]
    spec["runtimeVersions"] = {"sparkVersion": source["sparkVersion"]}
    _report_version(draft)
    if source.get("mode", "cluster") != "cluster":
        reason = (
            "client mode runs the driver inside the operator, which the Apache operator does not support: set mode to "
            "`cluster`"
        )
        draft.refuse("spec.mode", reason)


def _write_jar(draft: Draft, main: str) -> None:
    main_class = draft.source.get("mainClass")
    if not main_class:
        reason = "is required: Kubeflow's operator can read the main class only from a jar in the operator's own image"
        draft.refuse("spec.mainClass", reason)
        return
    draft.spec |= {"jars": main, "mainClass": main_class}
    if draft.conf.get("spark.jars"):
        # The property replaces the entry of the main jar.
        draft.conf["spark.jars"] = ",".join([draft.conf["spark.jars"], main])


def _write_dependencies(draft: Draft, kind: ApplicationKind) -> None:
    deps = draft.source.get("deps", {})
    for field, key in _DEPENDENCIES.items():
        if deps.get(field):
            _replace_property(draft, key, ",".join(deps[field]), f"spec.deps.{field}")
    if draft.conf.get("spark.jars.packages"):
        draft.conf.setdefault(IVY_KEY, IVY_DIRECTORY)
    if deps.get("pyFiles") and kind is not ApplicationKind.PYTHON:
        _replace_property(draft, _PY_FILES_KEY, ",".join(deps["pyFiles"]), "spec.deps.pyFiles")
        draft.targets["spec.deps.pyFiles"] = _PY_FILES_KEY


def _take_py_files(draft: Draft) -> list[str]:
    """Return the Python dependencies of the flag, which replaces the property."""
    files: list[str] = draft.source.get("deps", {}).get("pyFiles", [])
    if files and draft.conf.pop(_PY_FILES_KEY, None) is not None:
        draft.change("spec.sparkConf", f"{_PY_FILES_KEY} was removed: spec.deps.pyFiles takes precedence")
    return files


def _replace_property(draft: Draft, key: str, value: str, field: str) -> None:
    if draft.conf.get(key, value) != value:
        draft.change("spec.sparkConf", f"{key} was replaced: {field} takes precedence")
    draft.conf[key] = value


def _report_version(draft: Draft) -> None:
    version: str = draft.source["sparkVersion"]
    major = version.split(".", 1)[0]
    if major.isdecimal() and int(major) < 4:
        reason = (
            "the operators for spark.apache.org support only Spark 4 and later, and create the driver as spark-submit "
            "of Spark 4 does. Test the application with an image of Spark 4"
        )
        draft.change("spec.sparkVersion", reason)
