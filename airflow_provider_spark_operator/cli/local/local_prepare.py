"""`spark-operator local prepare`: write an archive of Spark's classes, so that Spark starts faster."""

from ...local.archive_writer import ArchiveError, ArchiveTimedOut, write_archive
from ...local.class_archive import build_archive_path
from ...local.java import JavaMissing, find_java
from ...local.software import SparkInstallation, SparkMissing, find_spark
from ..base.errors import CommandError, ExitCode, print_note
from ..base.signals import run_until_signal


def run() -> ExitCode:
    """Run Spark once (about a minute), and write an archive of its classes.

    With the archive, a JVM needs half the processor time to start. The archive (about 190 MB) is in this Python
    environment. The command prints its path.

    Examples:
        # Write the archive once, before the first runs
        spark-operator local prepare
    """
    return run_until_signal(_prepare, after_sigterm=ExitCode.INTERRUPTED)


async def _prepare() -> ExitCode:
    try:
        spark = SparkInstallation(find_spark(), await find_java())
        archive = build_archive_path(spark.java, spark.home)
        if not archive.exists():
            print_note(f"running Spark once on Java {spark.java.major}")
            await write_archive(spark, archive)
    except ArchiveTimedOut as error:
        raise CommandError(str(error), ExitCode.TIMED_OUT) from None
    except (SparkMissing, JavaMissing, ArchiveError) as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None
    print(archive)
    return ExitCode.SUCCESS
