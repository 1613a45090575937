"""The results of the checks, and how they are printed."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ....kube.errors import Forbidden, KubeError, NotFound
from ....kube.resources import LOCAL_ACCESS_REVIEWS, NAMESPACES, RESOURCE_QUOTAS, SERVICE_ACCOUNTS
from ...base.program_name import PROGRAM
from ...base.streams import paint
from ...output.output import clean_cell
from ...output.tables import measure, print_table

_NOT_IMPLEMENTED = 501
# The kinds of the optional rules in docs/manifests/command-line.yaml.
_IN_ROLE: Final = frozenset(
    kind.qualified_name for kind in (NAMESPACES, SERVICE_ACCOUNTS, LOCAL_ACCESS_REVIEWS, RESOURCE_QUOTAS)
)
_RETRY = "Run the checks again. If the API still fails, ask the administrator of the cluster"


class Status(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: What was checked.
        status: How the check ended.
        result: What was found. For a skipped check, the reason.
        fix: What to do about a failure, a warning or a missing permission.
        is_access: Whether the check is about the connection or a permission of the client.
    """

    check: str
    status: Status
    result: str = ""
    fix: str = ""
    is_access: bool = False


def report_error(check: str, error: KubeError) -> Finding:
    """Return the result of a check whose request failed: skipped if the client cannot send it in this cluster."""
    if isinstance(error, Forbidden):
        needed = f"you need {error.verb} on {error.resource} {error.place}" if error.advice else str(error)
        return Finding(check, Status.SKIPPED, needed, _advise_grant(error) if error.advice else "")
    if isinstance(error, NotFound) or error.status == _NOT_IMPLEMENTED:
        return Finding(check, Status.SKIPPED, str(error))
    return Finding(check, Status.FAILED, str(error), _RETRY)


def _advise_grant(error: KubeError) -> str:
    """Say how to get a permission without which a check is skipped."""
    namespace = error.namespace or (error.name if error.resource == NAMESPACES.qualified_name else None)
    if error.resource in _IN_ROLE:
        return f"`{PROGRAM} roles --for cli -n {namespace}` has the rule. It is optional"
    role = f"Role in namespace {namespace}" if namespace else "ClusterRole"
    return f"Optional: grant it with a {role}, or ask a cluster administrator to run this check"


_TITLES: Final = ("STATUS", "CHECK", "RESULT", "FIX")
_STYLES: Final = {Status.PASSED: "green", Status.WARNING: "yellow", Status.FAILED: "red", Status.SKIPPED: "dim"}
_INDENT: Final = " " * (max(map(len, Status)) + 3)
_DETAIL: Final = f"{_INDENT}  "


def print_findings(findings: Sequence[Finding]) -> None:
    """Print a table. On a terminal that is too narrow, print the result and the fix below each check instead."""
    rows = [(str(one.status), one.check, one.result, one.fix) for one in findings]
    widths = [max(len(clean_cell(cell)) for cell in column) for column in zip(_TITLES, *rows, strict=True)]
    if sys.stdout.isatty() and measure(widths) > shutil.get_terminal_size().columns:
        _print_paragraphs(findings)
    else:
        print_table(_TITLES, rows, {"STATUS": lambda status: _STYLES[Status(status)]})


def _print_paragraphs(findings: Sequence[Finding]) -> None:
    width = shutil.get_terminal_size().columns
    for one in findings:
        fix = f"Fix: {one.fix}" if one.fix else ""
        details = [line for text in (one.result, fix) if text for line in _wrap(text, width, _DETAIL)]
        first, *others = _wrap(one.check, width, _INDENT)
        status = f"{one.status:<{len(_INDENT)}}"
        print(f"{paint(status, _STYLES[one.status], sys.stdout)}{first.removeprefix(_INDENT)}")
        for line in (*others, *details):
            print(line)


def _wrap(text: str, width: int, indent: str) -> list[str]:
    text = clean_cell(text)
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)
