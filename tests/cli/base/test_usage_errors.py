"""Usage errors: one sentence that names the word and the accepted values."""

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.verbs import Verbs


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("completion tcsh", "shell: must be bash, zsh or fish, not 'tcsh'."),
        ("top --sort-by age", "--sort-by: must be name, cores or memory, not 'age'."),
        ("crds -o text", "--output: must be yaml or json, not 'text'."),
        ("logs pi --tail few", "--tail: must be an integer."),
        ("logs pi --attempt 0", "--attempt: must be at least 1."),
        (
            "local run pi.py --timeout soon",
            "--timeout: invalid duration 'soon': write for example 90s, 15m, 2h30m or 7d.",
        ),
        ("cluster scale analytics more", "N: must be an integer."),
        ("forward pi --port 65536", "--port: must be at most 65535."),
        ("list pi", "unexpected argument pi."),
        ("status pi report load", "unexpected argument report."),
        ("list -A --all-namespaces=yes", "--all-namespaces: does not take a value."),
        ("--", "missing command."),
        ("list --state", "--state: requires a value."),
        ("validate", "missing argument FILE|DIR."),
        ("convert", "missing argument FILE|DIR|-."),
        ("suspend", "missing argument NAME."),
        ("completion", "missing argument bash|zsh|fish."),
        ("cleanup", "missing option --older-than."),
        ("logs --nope", "unknown option --nope."),
        ("-n jobs list", "unknown option -n: options follow the verb."),
        ("cluster scale analytics -1", "unexpected negative number -1."),
        ("logs pi --tail 99999999999999999999", "--tail: must be at most 9223372036854775807."),
        ("wait pi --for runing", "--for: unknown state runing: did you mean running?"),
        ("list --sate running", "unknown option --sate: did you mean --state?"),
        ("list --failed", "unknown option --failed: did you mean --failure or --state?"),
        ("logs pi --executors", "unknown option --executors: did you mean --executor?"),
        ("submit job.py --executors 2", "unknown option --executors: did you mean --executor-instances?"),
        ("get pi", "unknown verb get: did you mean list, status or describe?"),
        ("ls", "unknown verb ls: did you mean list?"),
        ("ps", "unknown verb ps: did you mean list or status?"),
        ("run job.py", "unknown verb run: did you mean submit or local run?"),
        ("local ps", "unknown verb ps: did you mean status?"),
        ("local run x.py --day 3", "unknown option --day. To pass it to the program, write -- before it."),
        ("submit x.py --driver-memry 3g", "unknown option --driver-memry: did you mean --driver-memory?"),
        ("local start", "unknown verb start: did you mean local up?"),
        ("local stop", "unknown verb stop: did you mean local down?"),
        ("scale analytics 3", "unknown verb scale: did you mean cluster scale?"),
        ("remove pi", "unknown verb remove: did you mean delete?"),
        ("retry pi", "unknown verb retry: did you mean restart?"),
        ("terminate pi", "unknown verb terminate: did you mean delete or stop?"),
        ("submit x.py --retries 3", "unknown option --retries: did you mean --restart-policy?"),
        ("submit x.py --memory 3g", "unknown option --memory: did you mean --driver-memory or --executor-memory?"),
        ("restart pi --cores 2", "unknown option --cores: did you mean --driver-cores or --executor-cores?"),
        ("cluster get", "unknown verb get: did you mean list or status?"),
    ],
)
def test_usage_error_names_the_word_and_the_accepted_values(words: str, sentence: str, run_verb: Verbs) -> None:
    assert run_verb(words, ExitCode.INVALID).err.startswith(f"spark-operator: error: {sentence} Run `spark-operator ")
