"""`spark-operator explain`: explain the fields of a resource, without a cluster."""

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, Final, cast

import click

from ...core.dialects.kubeflow import GROUP, VERSIONS
from ...core.kubernetes.names import DEFAULT_API_VERSION
from ..base.errors import CommandError, ExitCode, print_note
from ..base.program_name import get_program_name
from ..files.field_tree import Field, build_kubeflow_tree, build_tree, complete_path, list_paths
from ..options.assignment import format_path
from ..options.declaration import Parameter, VerbOption

_KINDS = {
    "SparkApplication": ("sparkapplication", "sparkapplications", "sparkapp", "sparkapps"),
    "SparkCluster": ("sparkcluster", "sparkclusters"),
}
_WIDTH: Final = 100
# A shell removes the quotes of `spec.sparkConf["spark.driver.memory"]`.
_PROPERTY: Final = re.compile(r"""(?P<path>.*\bsparkConf)[.\[]["']?(?P<key>spark\.[\w.]+)["']?\]?""")
_MEMORY_GUIDE: Final = "docs/guides/out-of-memory.md"
_FEWEST_LETTERS: Final = 3
# Words of users, and the words of fields and options for them.
_SYNONYMS = {
    "cpus?": "cores",
    "num(ber)? executors|replicas": "executor instances",
    "ram": "memory",
    "retry|retries": "restart",
    "time to live": "ttl",
}
_OVERHEAD: Final = "10 % of the heap for JVM programs, 40 % for Python and R, at least 384m"


def _complete(incomplete: str, *, kubeflow: bool) -> list[str]:
    word, dot, rest = incomplete.partition(".")
    kind = next((kind for kind, words in _KINDS.items() if word.lower() in words), "SparkApplication")
    tree = build_kubeflow_tree() if kubeflow else build_tree(kind)
    if dot and word.lower() in _KINDS[kind]:
        return [f"{word}.{path}" for path in complete_path(tree, rest)]
    return [*(names[0] for names in _KINDS.values()), *complete_path(tree, incomplete)]


def run(
    words: Annotated[
        list[str],
        Parameter(
            "FIELD…",
            "KIND, KIND.PATH or PATH, for example sparkapp, sparkapp.spec.sparkConf or spec.sparkConf; a PATH "
            "without a kind is a field of SparkApplication; or words to search for, for example memory overhead",
            complete=lambda context, incomplete: _complete(incomplete, kubeflow=bool(context.params.get("kubeflow"))),
        ),
    ],
    recursive: Annotated[bool, Parameter("--recursive", "list the fields of all levels, without descriptions")] = False,
    kubeflow: Annotated[bool, Parameter("--kubeflow", "explain the SparkApplication of Kubeflow's operator")] = False,
) -> ExitCode:
    """Explain a kind or a field: its type, description, default, allowed values and fields.

    The command does not contact a cluster. The fields are those of `spark-operator crds`. For fields of Kubeflow's
    operator, the description names the corresponding field of spark.apache.org/v1.

    If FIELD is neither a kind nor a field, the command searches the fields of SparkApplication, its usual Spark
    properties, and the options of `submit`. It prints those whose name and description contain all words of FIELD, or
    else those whose name contains the most. Hyphens, dots and capital letters separate words.

    Examples:
        # The fields of a SparkApplication
        spark-operator explain sparkapp

        # One field, with its type, default and allowed values
        spark-operator explain sparkapp.spec.deploymentMode

        # The fields and the options of `submit` that are about memory overhead
        spark-operator explain memory overhead

        # All fields of a SparkCluster
        spark-operator explain sparkcluster.spec --recursive

        # A field of Kubeflow's operator
        spark-operator explain sparkapp.spec.restartPolicy --kubeflow
    """
    field = " ".join(words)
    wanted = _PROPERTY.fullmatch(field)
    given, path = _split(wanted["path"] if wanted else field)
    kind = given or "SparkApplication"
    if kubeflow and kind != "SparkApplication":
        raise CommandError(f"{kind}: Kubeflow's operator has no such kind", ExitCode.INVALID)
    tree = build_kubeflow_tree() if kubeflow else build_tree(kind)
    if not given and path[0] not in tree.list_fields():
        _search(tree, field, is_kubeflow=kubeflow)
        return ExitCode.SUCCESS
    found, name = _find(tree, kind, path), ".".join(path)
    if wanted:
        found, name = _find_property(wanted["key"]), format_path((*path, wanted["key"]))
    print(f"KIND:     {kind}\nVERSION:  {f'{GROUP}/{VERSIONS[0]}' if kubeflow else DEFAULT_API_VERSION}\n")
    if path:
        print(f"FIELD: {name} <{found.type_name}>{' -required-' if found.is_required else ''}")
    for line in _format_details(found):
        print(line)
    fields = list(_format_fields(found, recursive=recursive))
    if fields:
        print("FIELDS:", *fields, sep="\n")
    return ExitCode.SUCCESS


def _search(tree: Field, text: str, *, is_kubeflow: bool) -> None:
    """Print the fields, properties and options whose name or description contains all words of a text.

    Raises:
        CommandError: There are none.
    """
    words = _normalize(text)
    translated = words
    for pattern, other in _SYNONYMS.items():
        translated = re.sub(rf"\b({pattern})\b", other, translated)

    def contains(*texts: str) -> bool:
        joined = " ".join((*texts, *map(_normalize, texts))).lower()
        is_property = text.startswith("spark.") and {"spec.sparkConf", "--conf"} & {*texts}
        return bool(is_property) or any(
            all(word.removesuffix("s") in joined for word in each.split()) for each in (words, translated)
        )

    properties = {format_path(("spec", "sparkConf", key)): field for key, field in PROPERTIES.items()}
    places = [*list_paths(tree), *(() if is_kubeflow else properties.items())]
    found = [(path, inner) for path, inner in places if contains(path, inner.description)]
    found.sort(key=lambda each: not contains(each[0]))
    options = [each for each in _list_submit_options() if contains(*each.opts, each.help or "")]
    if not words or not (found or options):
        found = _find_nearest(tree, text, places)
    if found:
        print("FIELDS:")
    for path, inner in found:
        print(f"  {path} <{inner.type_name}>")
        if inner.description:
            print(_wrap(inner.description, "    "))
    if options:
        print("OPTIONS of `submit`:")
    for each in options:
        print(f"  {each.usage}", _wrap(each.help or "", "    "), sep="\n")


def _find_nearest(tree: Field, text: str, places: Sequence[tuple[str, Field]]) -> list[tuple[str, Field]]:
    """Return the fields whose names contain the most words of a text, and print which words these are.

    Raises:
        CommandError: No name contains one of the words, or the text is similar to a name.
    """
    problem = f"{text!r} is not in the name or description of a field, or of an option of `submit`"
    advice = _suggest_similar(tree, text)
    words = {word for word in _normalize(text).split() if len(word) >= _FEWEST_LETTERS}
    shared = {path: words.intersection(_normalize(path.replace('"', ".")).split()) for path, _ in places}
    most = max(map(len, shared.values()))
    if advice or not most:
        advice = advice or f"`{get_program_name()} explain sparkapp --recursive` lists the fields"
        raise CommandError(f"{problem}: {advice}", ExitCode.INVALID)
    found = [(path, field) for path, field in places if len(shared[path]) == most]
    common = sorted({word for path, _ in found for word in shared[path]}, key=text.lower().find)
    guide = f". See also {_MEMORY_GUIDE}" if "memory" in common else ""
    print_note(f"{problem}: these names contain {' '.join(common)}{guide}")
    return found


def _normalize(text: str) -> str:
    """Return the words of a text in lower case: `executor memory` for `--executor-memory` and `executorMemory`.

    All properties of Spark begin with `spark`, but no option does.
    """
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-._]", " ", text.removeprefix("spark.")).lower().split())


def _suggest_similar(tree: Field, text: str) -> str:
    """Suggest the kind, field, option or word of them that is the most similar to a text; empty if none is similar."""
    paths = [path for path, _ in list_paths(tree)]
    options = [name for each in _list_submit_options() for name in each.opts]
    known = {word: word for name in (*paths, *options) for word in _normalize(name).split()}
    known |= {name: names[0] for names in _KINDS.values() for name in names}
    known |= {name.strip("-"): name for name in options}
    known |= {each.lower(): path for path in paths for each in (path.rpartition(".")[2], path, f"sparkapp.{path}")}
    similar = get_close_matches(text.lower(), known, 1, cutoff=0.7)
    return f"did you mean {known[similar[0]]}?" if similar else ""


def _list_submit_options() -> list[VerbOption]:
    program = click.get_current_context().find_root()
    submit = cast("click.Group", program.command).get_command(program, "submit")
    return [each for each in submit.params if isinstance(each, VerbOption)] if submit else []


def _split(field: str) -> tuple[str, list[str]]:
    """Return the kind, empty if none is given, and the names of the path. Indexes of lists are left out.

    Raises:
        CommandError: There is no name.
    """
    names = re.sub(r"\[\d*\]", "", field.strip()).strip(".").split(".")
    if names == [""]:
        raise CommandError(f"{field!r} is not a field: write for example sparkapp.spec", ExitCode.INVALID)
    for kind, words in _KINDS.items():
        if names[0].lower() in words:
            return kind, names[1:]
    return "", names


def _find_property(key: str) -> Field:
    """Return a usual property of Spark.

    Raises:
        CommandError: It is not one of them.
    """
    if key not in PROPERTIES:
        similar = get_close_matches(key, PROPERTIES, 1, cutoff=0.8)
        advice = f"did you mean {similar[0]}?" if similar else "see the documentation of Spark"
        raise CommandError(f"{key} is not a usual property of Spark: {advice}", ExitCode.INVALID)
    return PROPERTIES[key]


def _find(tree: Field, kind: str, path: Sequence[str]) -> Field:
    """Return the field at a path.

    Raises:
        CommandError: The field does not exist.
    """
    found = tree
    for position, name in enumerate(path):
        known = found.list_fields()
        if name not in known:
            owner = ".".join(path[:position]) or kind
            advice = _suggest(tree, list(known), path[:position], name)
            raise CommandError(f"{'.'.join(path)}: {name!r} is not a field of {owner}{advice}", ExitCode.INVALID)
        found = known[name]
    return found


def _suggest(tree: Field, known: Sequence[str], owner: Sequence[str], name: str) -> str:
    """Return the most similar field at the same place, or the fields with the most similar name at other places."""
    by_lower = {each.lower(): [".".join([*owner, each])] for each in known}
    elsewhere: dict[str, list[str]] = {}
    for path, _ in list_paths(tree):
        elsewhere.setdefault(path.rpartition(".")[2].lower(), []).append(path)
    found = (
        names[match]
        for names in (by_lower, elsewhere)
        for match in get_close_matches(name.lower(), names, 1, cutoff=0.7)
    )
    meant = next(found, [])[:3]
    if meant:
        return f": did you mean {' or '.join(meant)}?"
    search = f". To search all fields, run `{get_program_name()} explain {name}`"
    return f": must be one of {', '.join(known)}{search}" if known else f": it has no fields{search}"


def _format_details(field: Field) -> Iterator[str]:
    if field.allowed:
        yield f"ALLOWED: {', '.join(field.allowed)}"
    if field.default:
        yield f"DEFAULT: {field.default}"
    if field.description:
        yield "DESCRIPTION:"
        yield _wrap(field.description, "    ")
    yield ""


def _format_fields(field: Field, *, recursive: bool, indent: str = "  ") -> Iterator[str]:
    for name, inner in field.list_fields().items():
        yield f"{indent}{name} <{inner.type_name}>{' -required-' if inner.is_required else ''}"
        if not recursive:
            if inner.description:
                yield _wrap(inner.description, f"{indent}  ")
        elif not inner.is_foreign:
            yield from _format_fields(inner, recursive=True, indent=f"{indent}  ")


def _wrap(text: str, indent: str) -> str:
    width = min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _describe_memory(role: str) -> dict[str, str]:
    key = f"spark.{role}.memory"
    return {
        key: f"Heap of the {role}'s JVM, for example 4g. Default: 1g. The pod requests this plus {key}Overhead "
        f"({_OVERHEAD}).",
        f"{key}Overhead": f"Memory of the {role} pod in addition to the heap: Python, native libraries, buffers. "
        f"Default: {_OVERHEAD}.",
    }


PROPERTIES: Final = {
    key: Field("string", description)
    for key, description in sorted(
        {
            "spark.driver.cores": "Cores of the driver; the pod requests as many CPUs. Default: 1.",
            **_describe_memory("driver"),
            "spark.executor.cores": "Tasks that each executor runs at once; the pod requests as many CPUs. Default: 1.",
            "spark.executor.instances": "Number of executors; with dynamic allocation, the fewest at the start. "
            "Default: 2; 0 with dynamic allocation.",
            **_describe_memory("executor"),
            "spark.kubernetes.authenticate.driver.serviceAccountName": "Service account of the driver pod, which must "
            "be permitted to create executor pods. Default: the default service account of the namespace.",
            "spark.kubernetes.container.image": "Image of the driver and the executors. No default.",
            "spark.kubernetes.container.image.pullPolicy": "When to pull the image: Always, IfNotPresent or Never. "
            "Default: IfNotPresent.",
        }.items()
    )
}
"""The properties by their names."""
