"""The verbs of the command line: their names and summaries. No module of a verb is imported here.

How to add a verb, for example `spark-operator events NAME`:

1. Add `Verb("events", "list the events of an application", Section.APPLICATIONS)` to `VERBS`. The verb is implemented
   in the module `cli/applications/events.py`; `cluster scale` is implemented in `cli/clusters/cluster_scale.py`.
2. Write a function `run` in this module. The command line is built from its signature:

       def run(access: ClusterOptions, name: ApplicationName, output: Output = TABLE) -> ExitCode:
           '''List the events of an application, the oldest first.

           This, the section `Examples:` that follows it, and the summary in the catalogue are the help of the verb.
           '''
           return run_with_client(access, lambda client: _list_events(client, name, output))

   - `cli.options.options` and `cli.options.cluster_access` declare the options that several verbs have. Declare an
     option of one verb next to its `run`. Describe the default in the help of an option only if it is not a constant:
     constants are shown.
   - `cli.options.cluster_access.run_with_client` opens the client and handles signals. A verb without a cluster returns
     its `ExitCode` directly.
   - Results go through `cli.output.output` or `print`; `cli.base.errors.print_note` prints everything else.
   - Raise `CommandError(message, exit_code)` for a failure. Do not catch `KubeError`, `ConfigurationError` or
     `InvalidResource` only to report them: `cli.program.command` translates them once.
   - Import at the top of the module: it is imported only when the verb is used.
3. Test the verb with `main([...])`, as in tests/cli/controller/test_crds.py.
"""

from dataclasses import dataclass
from enum import StrEnum

_PACKAGE = __name__.removesuffix(".program.catalogue")


class Section(StrEnum):
    """A heading in the list of verbs. The help shows them in this order."""

    APPLICATIONS = "Applications"
    CLUSTERS = "Clusters"
    DOCUMENTS = "Documents"
    LOCAL = "Local"
    CONTROLLER = "Controller"
    PROGRAM = "Program"

    @property
    def folder(self) -> str:
        """The folder in `cli` with the modules of the verbs."""
        return "manifests" if self is Section.DOCUMENTS else self.lower()


@dataclass(frozen=True)
class Verb:
    """One verb.

    Attributes:
        name: The words of the verb, for example `local up`. The first word of two names a group.
        summary: What the verb does, as a phrase in the imperative.
        section: The heading of the verb in the list of verbs.
        is_hidden: Whether the lists of verbs omit the verb, because only other programs use it.
    """

    name: str
    summary: str
    section: Section
    is_hidden: bool = False

    @property
    def module(self) -> str:
        """The module with the function `run` of the verb."""
        return f"{_PACKAGE}.{self.section.folder}.{self.name.replace(' ', '_')}"


@dataclass(frozen=True)
class Group:
    """The verbs whose name begins with the same word."""

    name: str
    summary: str
    section: Section


GROUPS = (
    Group("cluster", "manage SparkClusters, which several applications can share", Section.CLUSTERS),
    Group("local", "run a Kubernetes cluster and the Spark controller on this machine", Section.LOCAL),
)

VERBS = (
    Verb("list", "list applications", Section.APPLICATIONS),
    Verb("status", "show the state of an application in one line", Section.APPLICATIONS),
    Verb("describe", "describe an application: verdict, states, executors, Events and log", Section.APPLICATIONS),
    Verb("compare", "show two applications side by side", Section.APPLICATIONS),
    Verb("events", "list the Kubernetes Events of an application and its pods", Section.APPLICATIONS),
    Verb("timeline", "show the states and executors of an application over time", Section.APPLICATIONS),
    Verb("top", "show the cores and the memory of applications", Section.APPLICATIONS),
    Verb("report", "show what applications took, requested and cost", Section.APPLICATIONS),
    Verb("advise", "suggest smaller requests, from what the last runs of tasks used", Section.APPLICATIONS),
    Verb("wait", "wait until an application ends or reaches a state", Section.APPLICATIONS),
    Verb("logs", "print the logs of the driver or the executors", Section.APPLICATIONS),
    Verb("submit", "submit an application from a manifest or a program", Section.APPLICATIONS),
    Verb("forward", "show the Spark UI of an application on a local port", Section.APPLICATIONS),
    Verb("connect", "open a shell or run a script with a Spark Connect server", Section.APPLICATIONS),
    Verb("delete", "delete applications", Section.APPLICATIONS),
    Verb("stop", "ask the program of an application to end", Section.APPLICATIONS),
    Verb("suspend", "suspend applications", Section.APPLICATIONS),
    Verb("resume", "resume suspended applications", Section.APPLICATIONS),
    Verb("restart", "delete an application and submit it again", Section.APPLICATIONS),
    Verb("cleanup", "delete applications that ended long ago", Section.APPLICATIONS),
    Verb("cluster create", "create a SparkCluster", Section.CLUSTERS),
    Verb("cluster list", "list SparkClusters", Section.CLUSTERS),
    Verb("cluster status", "show the state of a SparkCluster", Section.CLUSTERS),
    Verb("cluster scale", "change the number of workers of a SparkCluster", Section.CLUSTERS),
    Verb("cluster forward", "show the web interface of a master on a local port", Section.CLUSTERS),
    Verb("cluster delete", "delete SparkClusters", Section.CLUSTERS),
    Verb("init", "print a starter manifest or a starter DAG", Section.DOCUMENTS),
    Verb("validate", "validate manifests in files, without a cluster", Section.DOCUMENTS),
    Verb("render", "print the resources of an application, without a cluster", Section.DOCUMENTS),
    Verb("diff", "show what submitting a manifest would change", Section.DOCUMENTS),
    Verb("explain", "explain the fields of a resource, without a cluster", Section.DOCUMENTS),
    Verb("convert", "convert manifests of Kubeflow's operator, without a cluster", Section.DOCUMENTS),
    Verb("local up", "run the cluster in the foreground", Section.LOCAL),
    Verb("local run", "run a script, SQL or a manifest on a temporary local cluster", Section.LOCAL),
    Verb("local status", "show whether a cluster runs, and its applications", Section.LOCAL),
    Verb("local down", "stop a cluster", Section.LOCAL),
    Verb("local reset", "delete the state of a stopped cluster", Section.LOCAL),
    Verb("local images", "list the images that the cluster can run", Section.LOCAL),
    Verb("local prepare", "archive the classes of Spark, so that Spark starts faster", Section.LOCAL),
    Verb("reconcile", "run the controller for SparkApplications and SparkClusters", Section.CONTROLLER),
    Verb("crds", "print the CustomResourceDefinitions", Section.CONTROLLER),
    Verb("roles", "print the permissions that Airflow, users, the controller and drivers need", Section.CONTROLLER),
    Verb("doctor", "check everything that an application needs in a cluster", Section.CONTROLLER),
    Verb("help", "print the help of a verb, or the exit codes", Section.PROGRAM),
    Verb("completion", "print the completion script of a shell", Section.PROGRAM),
    Verb("complete", "print the words that can follow on the command line", Section.PROGRAM, is_hidden=True),
    Verb("version", "print the version", Section.PROGRAM),
)


def list_members(group: str = "") -> tuple[Verb | Group, ...]:
    """Return the listed verbs of a group; by default the groups, and the listed verbs that belong to no group."""
    verbs = tuple(verb for verb in VERBS if verb.name.rpartition(" ")[0] == group and not verb.is_hidden)
    return verbs if group else (*GROUPS, *verbs)
