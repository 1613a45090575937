"""`spark-operator local images`: list the images that a local cluster can run."""

import asyncio
import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from local_kubernetes.kubelet.node.images import ImageRule, parse_rule
from local_kubernetes.kubelet.node.runtime import HOST

from ...local.java import JavaMissing, find_java
from ...local.runtime import SparkRuntime, build_spark_images
from ...local.software import SparkMissing, find_spark
from ..base.errors import CommandError, ExitCode
from ..options.options import ImageRules, ReportFormat, ReportOutput
from ..output.tables import print_table

_HEAD = ("IMAGE", "RUNTIME", "RUNS")


def run(image: ImageRules = None, output: ReportOutput = ReportFormat.TEXT) -> ExitCode:
    """List the images that the cluster can run, and the runtime of each.

    The first rule that matches the name of an image applies. Rules of --image take precedence over the
    default rules.

    Examples:
        # Show which images run Spark, and which run the command of their container
        spark-operator local images

        # Show the effect of a rule
        spark-operator local images --image 'registry.example.com/*=spark'
    """
    rules = parse_image_rules(image)
    what_runs = {
        SparkRuntime.name: asyncio.run(_describe_spark()),
        HOST.name: "the command of the container, unchanged",
    }
    rows = [(rule.pattern, rule.runtime.name, what_runs[rule.runtime.name]) for rule in rules]
    if output is ReportFormat.JSON:
        print(json.dumps([dict(zip(map(str.lower, _HEAD), row, strict=True)) for row in rows], indent=2))
    else:
        print_table(_HEAD, rows)
    return ExitCode.SUCCESS


def parse_image_rules(given: Sequence[str] | None) -> tuple[ImageRule, ...]:
    """Parse the rules of a command line, and return them before the default rules.

    Raises:
        CommandError: A rule is invalid.
    """
    spark = SparkRuntime()
    try:
        return (*(parse_rule(text, (spark, HOST)) for text in given or ()), *build_spark_images(spark))
    except ValueError as error:
        raise CommandError(f"--image: {error}", ExitCode.INVALID) from None


async def _describe_spark() -> str:
    """Describe the Spark and the Java that run Spark images, or say what to install."""
    try:
        home, java = find_spark(), await find_java()
    except (SparkMissing, JavaMissing) as error:
        return f"not available: {error}"
    try:
        release = f"Spark {version('pyspark')}"
    except PackageNotFoundError:  # it is on sys.path without package metadata
        release = "Spark"
    return f"{release} of {home} on Java {java.major} of {java.home}"
