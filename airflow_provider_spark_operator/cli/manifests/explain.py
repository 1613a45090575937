"""`spark-operator explain`: explain the fields of a resource, without a cluster."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, cast

import click

from ...core.dialects.kubeflow import GROUP, VERSIONS
from ...core.kubernetes.names import DEFAULT_API_VERSION
from ..base.errors import CommandError
from ..base.exit_codes import ExitCode
from ..files.field_tree import Field, build_kubeflow_tree, build_tree, find_paths, list_paths
from ..options.declaration import Parameter, VerbOption

EXAMPLES = """
# The fields of a SparkApplication
spark-operator explain sparkapp

# One field, with its type, default and allowed values
spark-operator explain sparkapp.spec.deploymentMode

# The fields and the options of `submit` that are about memory
spark-operator explain memory

# All fields of a SparkCluster
spark-operator explain sparkcluster.spec --recursive

# A field of Kubeflow's operator
spark-operator explain sparkapp.spec.restartPolicy --kubeflow
"""

_KINDS = {
    "SparkApplication": ("sparkapplication", "sparkapplications", "sparkapp", "sparkapps"),
    "SparkCluster": ("sparkcluster", "sparkclusters"),
}
_WIDTH = 100


def run(
    field: Annotated[
        str,
        Parameter(
            "FIELD",
            "KIND, KIND.PATH or PATH, for example sparkapp, sparkapp.spec.sparkConf or spec.sparkConf; a PATH "
            "without a kind is a field of SparkApplication; or a word to search for, for example memory",
            complete=lambda *_: [names[0] for names in _KINDS.values()],
        ),
    ],
    recursive: Annotated[bool, Parameter("--recursive", "list the fields of all levels, without descriptions")] = False,
    kubeflow: Annotated[bool, Parameter("--kubeflow", "explain the SparkApplication of Kubeflow's operator")] = False,
) -> ExitCode:
    """Explain a kind or a field: its type, description, default, allowed values and fields.

    The command does not contact a cluster. The fields are those of `spark-operator crds`. For fields of Kubeflow's
    operator, the description names the corresponding field of spark.apache.org/v1.

    A word that is not a field is searched for in the names and descriptions of fields, and in the options of `submit`.
    """
    kind, path = _split(field)
    if kubeflow and kind != "SparkApplication":
        raise CommandError(f"{kind}: Kubeflow's operator has no such kind", ExitCode.INVALID)
    tree = build_kubeflow_tree() if kubeflow else build_tree(kind)
    if kind == "SparkApplication" and path == [field] and field not in tree.list_fields() and _search(tree, field):
        return ExitCode.SUCCESS
    found = _find(tree, kind, path)
    print(f"KIND:     {kind}\nVERSION:  {f'{GROUP}/{VERSIONS[0]}' if kubeflow else DEFAULT_API_VERSION}\n")
    if path:
        print(f"FIELD: {'.'.join(path)} <{found.type_name}>{' -required-' if found.is_required else ''}")
    for line in _format_details(found):
        print(line)
    fields = list(_format_fields(found, recursive=recursive))
    if fields:
        print("FIELDS:", *fields, sep="\n")
    return ExitCode.SUCCESS


def _search(tree: Field, text: str) -> bool:
    """Print the fields and options whose name or description contains all words. Return whether there are some."""
    words = text.lower().split()

    def contains(*texts: str) -> bool:
        joined = " ".join(texts).lower()
        return all(word in joined for word in words)

    found = [(path, inner) for path, inner in list_paths(tree) if contains(path, inner.description)]
    found.sort(key=lambda each: not contains(each[0]))
    options = [each for each in _list_submit_options() if contains(*each.opts, each.help or "")]
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
    return bool(found or options)


def _list_submit_options() -> list[VerbOption]:
    program = click.get_current_context().find_root()
    submit = cast("click.Group", program.command).get_command(program, "submit")
    return [each for each in submit.params if isinstance(each, VerbOption)] if submit else []


def _split(field: str) -> tuple[str, list[str]]:
    """Return the kind and the names of the path. Indexes and brackets of lists are left out.

    Raises:
        CommandError: There is no name.
    """
    names = re.sub(r"\[\d*\]", "", field.strip()).strip(".").split(".")
    if names == [""]:
        raise CommandError(f"{field!r} is not a field: write for example sparkapp.spec", ExitCode.INVALID)
    for kind, words in _KINDS.items():
        if names[0].lower() in words:
            return kind, names[1:]
    return "SparkApplication", names


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
    """Return the most similar field at the same place, or the fields with this name at other places."""
    by_lower = {each.lower(): each for each in known}
    similar = get_close_matches(name.lower(), by_lower, 1, cutoff=0.7)
    elsewhere = list(find_paths(tree, name))[:3]
    meant = [".".join([*owner, by_lower[similar[0]]])] if similar else elsewhere
    if meant:
        return f": did you mean {' or '.join(meant)}?"
    return f": must be one of {', '.join(known)}" if known else ": it has no fields"


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
    return textwrap.fill(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
