"""The arguments of all verbs. Parsing them imports no module of a verb."""

import argparse
from collections.abc import Mapping

from airflow_provider_spark_operator.core.kubernetes_names import (
    NAMESPACE_RULE,
    OBJECT_RULE,
    is_label_selector,
    is_namespace,
    is_object_name,
)

DESCRIPTION = "Run Apache Spark on Kubernetes: a controller, a local cluster and tools for spark.apache.org resources."
_API_FAILED = "the API was unreachable, rejected the request or denied permission"
_OUTPUT_LOST = "the output could not be written"
# The exit codes of verbs that need no cluster.
_BASIC_CODES = {0: "success", 2: "invalid input or usage", 5: _OUTPUT_LOST, 130: "interrupted"}
_RECONCILE_CODES = _BASIC_CODES | {1: "--check found resources of another controller", 3: _API_FAILED}
_UP_CODES = _BASIC_CODES | {3: _API_FAILED, 5: f"the cluster could not run, or {_OUTPUT_LOST}"}
_PREPARE_CODES = _BASIC_CODES | {4: "timed out", 5: "Spark could not run, or the archive or the output was not written"}
_RUN_CODES = _BASIC_CODES | {
    1: "the application failed",
    3: _API_FAILED,
    4: "timed out",
    5: f"infrastructure or scheduling failure, or {_OUTPUT_LOST}",
}
_ALL_CODES = _RUN_CODES | {1: "the application failed, or reconcile --check found resources of another controller"}

_MOST_WORKERS = 10_000


def build_parser(version: str) -> argparse.ArgumentParser:
    """Build the parser of the whole command line. It ends the process with exit code 2 after a usage error."""
    root = argparse.ArgumentParser(
        prog="spark-operator", description=DESCRIPTION, epilog=_describe_exit_codes(_ALL_CODES)
    )
    root.add_argument("--version", action="version", version=f"spark-operator {version}")
    verbs = root.add_subparsers(title="verbs", metavar="VERB", required=True)
    _add_reconcile(verbs)
    _add_local(verbs)
    _add_crds(verbs)
    _add_validate(verbs)
    _add_render(verbs)
    return root


def _add_reconcile(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    reconcile = verbs.add_parser(
        "reconcile",
        help="run the controller for SparkApplications and SparkClusters",
        description="Run the controller for SparkApplications and SparkClusters on a cluster without an operator. "
        "The controller prints one line `ready ...` when its caches are filled. SIGTERM ends it.",
        epilog=_describe_exit_codes(_RECONCILE_CODES),
    )
    reconcile.set_defaults(module="reconcile")
    _add_cluster_access(reconcile)
    _add_scope(reconcile)
    reconcile.add_argument(
        "--config",
        type=_parse_text,
        metavar="FILE",
        help="read the settings from a YAML file, or from a .properties file of the Apache operator (default: none)",
    )
    _add_ports(reconcile)
    reconcile.add_argument(
        "--workers",
        type=_parse_worker_count,
        metavar="N",
        help="maximum number of concurrent reconciles (default: the number in the settings, or 50)",
    )
    _add_leader_election(reconcile)
    _add_take_over(reconcile)
    _add_webhook(reconcile)
    _add_log_format(reconcile)


def _add_scope(reconcile: argparse.ArgumentParser) -> None:
    scope = reconcile.add_mutually_exclusive_group()
    scope.add_argument("--namespaces", metavar="A,B", help="watch these namespaces (default: the current namespace)")
    scope.add_argument(
        "--namespace-selector",
        type=_parse_selector,
        metavar="S",
        help="watch the namespaces that match this label selector",
    )
    scope.add_argument("--all-namespaces", action="store_true", help="watch all namespaces")


def _add_ports(reconcile: argparse.ArgumentParser) -> None:
    reconcile.add_argument(
        "--health-port",
        type=_parse_port,
        metavar="N",
        help="serve /healthz and /readyz on this port; 0 selects a free port (default: do not serve)",
    )
    reconcile.add_argument(
        "--metrics-port",
        type=_parse_port,
        metavar="N",
        help="serve Prometheus metrics at /metrics on this port; 0 selects a free port (default: do not serve)",
    )


def _add_leader_election(reconcile: argparse.ArgumentParser) -> None:
    reconcile.add_argument(
        "--leader-elect", action="store_true", help="stand by while another controller holds the Lease"
    )
    reconcile.add_argument(
        "--lease",
        type=_parse_lease,
        metavar="[NAMESPACE/]NAME",
        help="name of the Lease; implies --leader-elect (default: the Lease in the settings, or spark-operator-lease "
        "in the current namespace)",
    )


def _add_take_over(reconcile: argparse.ArgumentParser) -> None:
    reconcile.add_argument(
        "--take-over",
        action="store_true",
        help="take over resources even if the controller that managed them may still be running",
    )
    reconcile.add_argument(
        "--check",
        action="store_true",
        help="list the resources that other controllers manage, then exit; the exit code is 1 if there are any",
    )


def _add_webhook(reconcile: argparse.ArgumentParser) -> None:
    reconcile.add_argument(
        "--webhook",
        type=_parse_object_name,
        metavar="NAME",
        help="serve the webhooks of this ValidatingWebhookConfiguration (default: none)",
    )
    reconcile.add_argument(
        "--webhook-port",
        type=_parse_port,
        metavar="N",
        help="serve the webhooks on this port; 0 selects a free port (default: 9443)",
    )


def _add_local(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    local = verbs.add_parser(
        "local",
        help="run a Kubernetes cluster and the Spark controller on this machine",
        description="Run a Kubernetes cluster and the Spark controller on this machine. Pods run as processes.",
        epilog=_describe_exit_codes(_RUN_CODES),
    )
    actions = local.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_local_up(actions)
    _add_local_prepare(actions)
    _add_local_run(actions)
    _add_local_images(actions)


def _add_local_up(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    up = actions.add_parser(
        "up",
        help="run the cluster in the foreground",
        description="Run the cluster in the foreground. When the cluster has started, the command prints one line "
        "`ready kubeconfig=FILE`. SIGTERM or SIGINT ends the cluster and all its pods.",
        epilog=_describe_exit_codes(_UP_CODES),
    )
    up.set_defaults(module="local_up")
    up.add_argument(
        "--home",
        type=_parse_text,
        metavar="DIR",
        default=".spark-local",
        help="folder for the state of the cluster (default: %(default)s)",
    )
    up.add_argument(
        "--kubeconfig",
        type=_parse_text,
        metavar="FILE",
        help="also write the kubeconfig to FILE",
    )
    _add_images(up)
    up.add_argument(
        "--keep", action="store_true", help="keep the objects in DIR, and load those of an earlier run with --keep"
    )
    up.add_argument(
        "--repair",
        action="store_true",
        help="with --keep: drop damaged records of DIR/journal, after keeping a copy of the file",
    )
    up.add_argument(
        "--take-over", action="store_true", help="also manage resources that another controller managed last"
    )
    _add_log_format(up)


def _add_local_prepare(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    prepare = actions.add_parser(
        "prepare",
        help="archive the classes of Spark, so that Spark starts faster",
        description="Run Spark once (about a minute), and write an archive of its classes. With the archive, a JVM "
        "needs half the processor time to start. The archive (about 130 MB) is in this Python environment.",
        epilog=_describe_exit_codes(_PREPARE_CODES),
    )
    prepare.set_defaults(module="local_prepare")


def _add_local_run(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    run = actions.add_parser(
        "run",
        help="run one application on its own cluster",
        description="Run one application on its own cluster, and stop the cluster when the application ends. The "
        "driver's log goes to stdout, and the states of the application go to stderr. The exit code is 0 if the "
        "application succeeded.",
        epilog=_describe_exit_codes(_RUN_CODES),
    )
    run.set_defaults(module="local_run")
    run.add_argument("application", metavar="APP.yaml", help="file with one SparkApplication; - reads standard input")
    run.add_argument(
        "-n",
        "--namespace",
        type=_parse_namespace,
        metavar="NAMESPACE",
        default="default",
        help="namespace of the application (default: %(default)s)",
    )
    run.add_argument(
        "--timeout", type=_parse_seconds, metavar="SECONDS", help="stop after this time (default: no limit)"
    )
    _add_images(run)
    _add_log_format(run)


def _add_local_images(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    images = actions.add_parser(
        "images",
        help="list the images that the cluster can run",
        description="List the images that the cluster can run, and the runtime of each. "
        "The first line that matches the name of an image applies.",
        epilog=_describe_exit_codes(_BASIC_CODES),
    )
    images.set_defaults(module="local_images")
    _add_images(images)
    _add_output(images, "text", "json")


def _add_crds(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    crds = verbs.add_parser(
        "crds",
        help="print the CustomResourceDefinitions",
        description="Print the CustomResourceDefinitions. To install them, pipe the output to "
        "`kubectl apply --server-side -f -`.",
        epilog=_describe_exit_codes(_BASIC_CODES),
    )
    crds.set_defaults(module="crds")
    crds.add_argument(
        "--kind",
        type=_parse_text,
        metavar="K",
        help="print only this kind, for example SparkApplication (default: all)",
    )
    _add_output(crds, "yaml", "json")


def _add_validate(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    validate = verbs.add_parser(
        "validate",
        help="validate manifests in files, without a cluster",
        description="Validate the manifests in YAML or JSON files, without a cluster. "
        "The command prints one line for each problem, with the path of the field.",
        epilog=_describe_exit_codes(_BASIC_CODES),
    )
    validate.set_defaults(module="validate")
    validate.add_argument(
        "files", nargs="+", metavar="FILE", help="file with one or more manifests; - reads standard input"
    )
    _add_output(validate, "text", "json")


def _add_render(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    render = verbs.add_parser(
        "render",
        usage="%(prog)s [-h] APP.yaml [-n NAMESPACE] [--attempt N] [--config FILE] [-o yaml|json]\n"
        "       %(prog)s [-o yaml|json] --spark-submit -- ARGS...",
        help="print the resources of an application, without a cluster",
        description="Print the resources that `reconcile` creates for an application. With --spark-submit, print the "
        "resources that spark-submit creates for its arguments, environment and files. "
        "The command does not contact a cluster.",
        epilog=_describe_exit_codes(_BASIC_CODES),
    )
    render.set_defaults(module="render")
    render.add_argument(
        "words", nargs="*", metavar="APP.yaml", help="file with one SparkApplication; - reads standard input"
    )
    render.add_argument(
        "-n",
        "--namespace",
        type=_parse_namespace,
        metavar="NAMESPACE",
        help="namespace of an application whose file sets none (default: default)",
    )
    render.add_argument(
        "--attempt",
        type=_parse_attempt,
        metavar="N",
        help="number of the attempt, from 0 (default: the attempt in the status, or 0)",
    )
    render.add_argument(
        "--config",
        type=_parse_text,
        metavar="FILE",
        help="settings file of `reconcile`; needed only if it sets operatorName (default: none)",
    )
    render.add_argument("--spark-submit", action="store_true", help="read the arguments after -- as spark-submit does")
    _add_output(render, "yaml", "json")


def _add_cluster_access(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--kubeconfig",
        type=_parse_text,
        metavar="FILE",
        help="kubeconfig (default: $KUBECONFIG, ~/.kube/config, or in-cluster)",
    )
    verb.add_argument(
        "--context", type=_parse_text, metavar="NAME", help="context of the kubeconfig (default: its current context)"
    )


def _add_images(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--image",
        action="append",
        metavar="PATTERN=RUNTIME",
        help="use RUNTIME (`spark` or `process`) for images whose name matches PATTERN; can be repeated, and has "
        "precedence over the default images",
    )


def _add_log_format(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="format of log messages (default: %(default)s)"
    )


def _add_output(verb: argparse.ArgumentParser, *formats: str) -> None:
    verb.add_argument(
        "-o", "--output", choices=formats, default=formats[0], help="format of the output (default: %(default)s)"
    )


def _describe_exit_codes(codes: Mapping[int, str]) -> str:
    """Return the line of `--help` about the exit codes of a verb."""
    return "exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in sorted(codes.items()))


def _parse_text(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _parse_namespace(text: str) -> str:
    if not is_namespace(text):
        raise argparse.ArgumentTypeError(f"invalid namespace {text!r}: {NAMESPACE_RULE}")
    return text


def _parse_selector(text: str) -> str:
    if not is_label_selector(text):
        raise argparse.ArgumentTypeError(
            f"invalid label selector {text!r}: use the syntax of `kubectl -l`, for example team=a"
        )
    return text


def _parse_object_name(text: str) -> str:
    if not is_object_name(text):
        raise argparse.ArgumentTypeError(f"invalid object name {text!r}: {OBJECT_RULE}")
    return text


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"invalid port {text!r}: must be an integer from 0 to 65535")
    return int(text)


def _parse_attempt(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"invalid attempt {text!r}: must be an integer of at least 0")
    return int(text)


def _parse_lease(text: str) -> str:
    namespace, slash, name = text.rpartition("/")
    if not is_object_name(name) or (slash and not is_namespace(namespace)):
        raise argparse.ArgumentTypeError(f"invalid Lease {text!r}: must be NAME or NAMESPACE/NAME; {OBJECT_RULE}")
    return text


def _parse_worker_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"invalid number {text!r}: must be an integer from 1 to {_MOST_WORKERS}")
    return int(text)


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"invalid number of seconds {text!r}: must be greater than 0")
    return seconds
