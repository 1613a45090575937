"""`spark-operator cleanup`: delete applications that ended long ago."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from ...core.dialects.dialect import list_ended_states
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.times import format_duration
from ...core.report.summary import ApplicationSummary
from ...core.verdict.verdict import Outcome
from ...follow.access.reference import ApplicationReference
from ...kube.client import KubeClient
from ...kube.errors import Conflict, NotFound
from ..base.ages import check_age, parse_duration
from ..base.errors import ExitCode, print_error, print_note
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import AllNamespaces, DryRun, Selector
from ..options.selection import complete_states, require_states
from ..views.pod_census import PodCensus
from .named_applications import act_on_applications, list_applications

_OUTCOMES = (Outcome.SUCCEEDED, Outcome.FAILED)


@dataclass(frozen=True)
class _Criteria:
    """Which applications to delete.

    Attributes:
        older_than: The time since their end.
        states: Their states or outcomes, in lower case. Empty for all.
    """

    older_than: timedelta
    states: frozenset[str]

    def accepts(self, summary: ApplicationSummary, now: datetime) -> bool:
        """Return whether an application is deleted. Its age counts if the time of its end is unknown."""
        end = summary.ended or summary.created
        is_old = end is not None and now - end >= self.older_than
        words = {summary.state.lower(), summary.verdict.outcome.lower()}
        return (
            summary.progress.phase is Phase.ENDED
            and summary.verdict.outcome is not Outcome.UNKNOWN
            and not summary.is_deleting
            and is_old
            and (not self.states or not self.states.isdisjoint(words))
        )


def run(
    access: ClusterOptions,
    older_than: Annotated[
        str,
        Parameter(
            "--older-than DURATION",
            "only applications that ended at least this long ago, for example 7d (required)",
            check=check_age,
        ),
    ],
    state: Annotated[
        list[str] | None,
        Parameter(
            "--state STATE",
            "only applications with this outcome (succeeded or failed) or in this state, for example "
            "ResourceReleased; can be repeated",
            check=require_states(_OUTCOMES, list_ended_states()),
            complete=complete_states(_OUTCOMES, list_ended_states()),
        ),
    ] = None,
    selector: Selector = None,
    dry_run: DryRun = False,
    all_namespaces: AllNamespaces = False,
) -> ExitCode:
    """Delete applications that ended long ago, with their pods.

    The command prints each application that it deletes. It deletes only applications that have ended. --older-than is
    the time since an application ended, not since it was created.

    Examples:
        # List the applications of the current namespace that ended more than seven days ago
        spark-operator cleanup --older-than 7d --dry-run

        # Delete the successful ones of a team in all namespaces
        spark-operator cleanup --older-than 1d --state succeeded -l team=a -A
    """
    criteria = _Criteria(parse_duration(older_than), frozenset(word.lower() for word in state or ()))
    return run_with_client(
        access, lambda client: _clean_up(client, criteria, selector, all_namespaces=all_namespaces, dry_run=dry_run)
    )


async def _clean_up(
    client: KubeClient, criteria: _Criteria, selector: str | None, *, all_namespaces: bool, dry_run: bool
) -> ExitCode:
    scope = None if all_namespaces else client.default_namespace
    census = PodCensus(client, scope)

    async def delete(reference: ApplicationReference, resource: JsonObject) -> str:
        summary, now = census.summarize(resource), client.get_time()
        end = summary.ended or summary.created or now
        place = f" in namespace {reference.namespace}" if all_namespaces else ""
        details = f"{place} ({summary.verdict.outcome}, ended {format_duration(now - end)} ago)"
        try:
            await client.delete(
                reference.resource,
                reference.name,
                reference.namespace,
                uid=reference.uid,
                resource_version=resource["metadata"]["resourceVersion"],
                dry_run=dry_run,
            )
        except NotFound:
            return f"was already deleted{place}"
        except Conflict:  # it may have been restarted
            return f"skipped{place}: it changed in the meantime"
        return f"would be deleted{details}" if dry_run else f"deleted{details}"

    found = await list_applications(client, scope, selector)
    await census.read_drivers([resource for _, resource in found])
    chosen = [one for one in found if criteria.accepts(census.summarize(one[1]), client.get_time())]
    for refusal in census.refusals:
        print_error(f"applications whose end is unknown are kept: {refusal}")
    if not chosen:
        where = "any namespace" if all_namespaces else f"namespace {client.default_namespace}"
        print_note(f"no application in {where} meets the conditions")
    return await act_on_applications(chosen, delete)
