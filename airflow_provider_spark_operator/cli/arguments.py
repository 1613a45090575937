"""The words of every command; no verb's module is loaded to know them."""

import argparse

from airflow_provider_spark_operator.core.kubernetes_names import (
    NAMESPACE_RULE,
    OBJECT_RULE,
    is_label_selector,
    is_namespace,
    is_object_name,
)

DESCRIPTION = "Apache Spark on Kubernetes: controller, local cluster and tools for spark.apache.org resources."
EXIT_CODES = (
    "exit codes: 0 success, 1 the application failed, or reconcile --check found resources of another controller, "
    "2 invalid input or usage, 3 API unreachable, refused or not permitted, 4 timed out, "
    "5 infrastructure or scheduling failure, "
    "or the output could not be written, 130 interrupted"
)

_MOST_WORKERS = 10_000


def build_parser(version: str) -> argparse.ArgumentParser:
    """Build the parser of the whole command line; a usage error ends with exit code 2, as argparse defines it."""
    root = argparse.ArgumentParser(prog="spark-operator", description=DESCRIPTION, epilog=EXIT_CODES)
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
        help="run the controller that drives SparkApplications",
        description="Run the controller that drives SparkApplications, where no operator does. "
        "Prints one line `ready ...` when it has seen everything it looks after; SIGTERM ends it.",
        epilog=EXIT_CODES,
    )
    reconcile.set_defaults(module="reconcile")
    _add_cluster_access(reconcile)
    scope = reconcile.add_mutually_exclusive_group()
    scope.add_argument("--namespaces", metavar="A,B", help="watch these namespaces (default: the current one)")
    scope.add_argument(
        "--namespace-selector", type=_parse_selector, metavar="S", help="watch the namespaces with these labels"
    )
    scope.add_argument("--all-namespaces", action="store_true", help="watch the whole cluster")
    reconcile.add_argument(
        "--config",
        type=_parse_text,
        metavar="FILE",
        help="settings: YAML, or a .properties file of the Apache operator",
    )
    reconcile.add_argument(
        "--health-port", type=_parse_port, metavar="N", help="serve /healthz and /readyz there (0: a free port)"
    )
    reconcile.add_argument(
        "--metrics-port", type=_parse_port, metavar="N", help="serve /metrics for Prometheus there (0: a free port)"
    )
    reconcile.add_argument(
        "--workers", type=_parse_worker_count, metavar="N", help="resources looked at at the same time (default: 50)"
    )
    reconcile.add_argument(
        "--leader-elect", action="store_true", help="stand by while another controller holds the lease"
    )
    reconcile.add_argument(
        "--lease",
        type=_parse_lease,
        metavar="[NAMESPACE/]NAME",
        help="the lease (default: that of the settings, or spark-operator-lease in the current namespace)",
    )
    reconcile.add_argument(
        "--take-over",
        action="store_true",
        help="take over resources even if the controller that managed them may still be running",
    )
    reconcile.add_argument(
        "--check",
        action="store_true",
        help="list the resources that other controllers manage and exit, with exit code 1 if there are any",
    )
    reconcile.add_argument(
        "--webhook",
        type=_parse_object_name,
        metavar="NAME",
        help="answer the webhooks of this ValidatingWebhookConfiguration",
    )
    reconcile.add_argument(
        "--webhook-port", type=_parse_port, metavar="N", help="answer them there (default: 9443; 0: a free port)"
    )
    _add_log_format(reconcile)


def _add_local(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    local = verbs.add_parser(
        "local",
        help="run a cluster on this machine, its pods as processes",
        description="Run a cluster on this machine, its pods as processes, with the controller on it.",
        epilog=EXIT_CODES,
    )
    actions = local.add_subparsers(title="actions", metavar="ACTION", required=True)
    up = actions.add_parser("up", help="start the cluster and keep it in the foreground", epilog=EXIT_CODES)
    up.set_defaults(module="local_up")
    up.add_argument(
        "--home", type=_parse_text, metavar="DIR", default=".spark-local", help="its state (default: %(default)s)"
    )
    up.add_argument(
        "--kubeconfig", type=_parse_text, metavar="FILE", help="write the kubeconfig there too, not only under DIR"
    )
    _add_images(up)
    up.add_argument("--keep", action="store_true", help="keep its objects under DIR for the next start with --keep")
    up.add_argument(
        "--repair",
        action="store_true",
        help="with --keep: drop damaged records of DIR/journal, after keeping a copy of it",
    )
    up.add_argument(
        "--take-over", action="store_true", help="also manage resources that another controller managed last"
    )
    _add_log_format(up)
    prepare = actions.add_parser(
        "prepare",
        help="make Spark start sooner: archive its classes, once",
        description="Run Spark once (about a minute), and keep its classes in a form that a JVM starts from in half "
        "the processor time. The archive (about 130 MB) lies in this Python environment; only speed depends on it.",
        epilog=EXIT_CODES,
    )
    prepare.set_defaults(module="local_prepare")
    run = actions.add_parser(
        "run",
        help="run one application on a cluster of its own, then take that down",
        description="Run one application on a cluster of its own. The driver's log goes to stdout, "
        "what happens meanwhile to stderr; the exit code is the application's.",
        epilog=EXIT_CODES,
    )
    run.set_defaults(module="local_run")
    run.add_argument("application", metavar="APP.yaml", help="a SparkApplication; - reads standard input")
    run.add_argument("-n", "--namespace", type=_parse_namespace, metavar="NAMESPACE", default="default")
    run.add_argument("--timeout", type=_parse_seconds, metavar="SECONDS", help="give up then (default: never)")
    _add_images(run)
    _add_log_format(run)
    images = actions.add_parser(
        "images",
        help="print which images the cluster runs, and by what",
        description="Print the table of images: the first line that fits an image's name decides what runs instead.",
        epilog=EXIT_CODES,
    )
    images.set_defaults(module="local_images")
    _add_images(images)
    images.add_argument("-o", "--output", choices=("text", "json"), default="text")


def _add_crds(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    crds = verbs.add_parser(
        "crds",
        help="print the CustomResourceDefinitions",
        description="Print the CustomResourceDefinitions, for `kubectl apply --server-side -f -`.",
        epilog=EXIT_CODES,
    )
    crds.set_defaults(module="crds")
    crds.add_argument("--kind", type=_parse_text, metavar="K", help="only this kind, for example SparkApplication")
    crds.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml")


def _add_validate(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    validate = verbs.add_parser(
        "validate",
        help="check resources in files, without a cluster",
        description="Check the resources in YAML or JSON files, without a cluster. "
        "Each problem is one line with the path of its field.",
        epilog=EXIT_CODES,
    )
    validate.set_defaults(module="validate")
    validate.add_argument("files", nargs="+", metavar="FILE", help="may hold several documents; - is stdin")
    validate.add_argument("-o", "--output", choices=("text", "json"), default="text")


def _add_render(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    render = verbs.add_parser(
        "render",
        usage="%(prog)s [-h] APP.yaml [-n NAMESPACE] [--attempt N] [--config FILE] [-o yaml|json]\n"
        "       %(prog)s [-o yaml|json] --spark-submit -- ARGS...",
        help="print the resources of an application, without a cluster",
        description="Print the resources that `reconcile` creates for an application, or those that spark-submit "
        "sends for its own command line, environment and files. Nothing is sent anywhere.",
        epilog=EXIT_CODES,
    )
    render.set_defaults(module="render")
    render.add_argument("words", nargs="*", metavar="APP.yaml", help="one SparkApplication; - reads standard input")
    render.add_argument(
        "-n",
        "--namespace",
        type=_parse_namespace,
        metavar="NAMESPACE",
        help="where the file names none (default: default)",
    )
    render.add_argument(
        "--attempt", type=_parse_attempt, metavar="N", help="counts from 0 (default: that of the status, else 0)"
    )
    render.add_argument(
        "--config",
        type=_parse_text,
        metavar="FILE",
        help="the settings of `reconcile`: its name is on what it creates (default: none)",
    )
    render.add_argument("--spark-submit", action="store_true", help="take what follows -- as spark-submit does")
    render.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml")


def _add_cluster_access(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--kubeconfig", type=_parse_text, metavar="FILE", help="(default: KUBECONFIG, ~/.kube/config, in-cluster)"
    )
    verb.add_argument(
        "--context", type=_parse_text, metavar="NAME", help="context of the kubeconfig (default: its current one)"
    )


def _add_images(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--image",
        action="append",
        metavar="PATTERN=RUNTIME",
        help="run images of such names by `spark` or `process`; may be repeated, comes before what is built in",
    )


def _add_log_format(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--log-format", choices=("text", "json"), default="text")


def _parse_text(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _parse_namespace(text: str) -> str:
    if not is_namespace(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a namespace: {NAMESPACE_RULE}")
    return text


def _parse_selector(text: str) -> str:
    if not is_label_selector(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a label selector: write it as for `kubectl -l`, as in team=a"
        )
    return text


def _parse_object_name(text: str) -> str:
    if not is_object_name(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of an object: {OBJECT_RULE}")
    return text


def _parse_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"invalid port {text!r}: give a number from 0 to 65535")
    return int(text)


def _parse_attempt(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"invalid attempt {text!r}: give an integer of 0 or more")
    return int(text)


def _parse_lease(text: str) -> str:
    namespace, slash, name = text.rpartition("/")
    if not is_object_name(name) or (slash and not is_namespace(namespace)):
        raise argparse.ArgumentTypeError(f"invalid lease {text!r}: give NAME or NAMESPACE/NAME; {OBJECT_RULE}")
    return text


def _parse_worker_count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"invalid number {text!r}: give an integer from 1 to {_MOST_WORKERS}")
    return int(text)


def _parse_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"invalid number of seconds {text!r}: give a number above 0")
    return seconds
