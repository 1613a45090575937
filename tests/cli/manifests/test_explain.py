from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.files.field_tree import Field, build_tree
from airflow_provider_spark_operator.cli.manifests.explain import PROPERTIES
from airflow_provider_spark_operator.core.dialects.apache_spec import CONF_KEYS
from airflow_provider_spark_operator.core.parameters.parameters import MEMORY_KEYS
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from tests.cli.verbs import Verbs

ROOT = Path(__file__).parents[3]


def explain(run_verb: Verbs, *words: str) -> str:
    return run_verb(["explain", *words]).out


def test_field_has_type_default_description_and_allowed_values(run_verb: Verbs) -> None:
    text = explain(run_verb, "sparkapp.spec.deploymentMode")
    assert "VERSION:  spark.apache.org/v1\n" in text
    assert "FIELD: spec.deploymentMode <string>\nALLOWED: ClusterMode, ClientMode\nDEFAULT: ClusterMode\n" in text
    assert "DESCRIPTION:\n    Must be ClusterMode" in text


def test_object_lists_its_fields_and_marks_the_required_ones(run_verb: Verbs) -> None:
    text = explain(run_verb, "SparkApplications.spec")
    assert "\nFIELDS:\n  runtimeVersions <object> -required-\n    The versions of the software" in text
    assert "\n  sparkConf <map of strings>\n" in text
    assert "\n  configMapSpecs <list of objects>\n" in text


def test_kind_can_be_left_out_and_indexes_are_ignored(run_verb: Verbs) -> None:
    assert explain(run_verb, "spec.configMapSpecs[0].name") == explain(run_verb, "sparkapp.spec.configMapSpecs.name")


def test_kubernetes_types_have_their_fields(run_verb: Verbs) -> None:
    text = explain(run_verb, "sparkapp.spec.driverSpec.podTemplateSpec.spec.containers")
    assert "<list of core.v1.Container>" in text
    assert "  args <list of strings>" in text
    assert "  resources <core.v1.ResourceRequirements>\n" in text


def test_recursive_lists_every_field_of_the_definition(run_verb: Verbs) -> None:
    lines = {line.split()[0] for line in explain(run_verb, "sparkapp", "--recursive").splitlines() if "<" in line}
    assert {"maxRestartAttempts", "ttlAfterStopMillis", "driverReadyTimeoutMillis", "sparkVersion"} <= lines


def test_kubeflow_field_has_its_translation(run_verb: Verbs) -> None:
    text = explain(run_verb, "sparkapp.spec.mainClass", "--kubeflow")
    assert "VERSION:  sparkoperator.k8s.io/v1beta2\n" in text
    assert "<string>" in text
    assert "In spark.apache.org/v1: mainClass." in text
    assert "  instances <integer>\n" in explain(run_verb, "spec.executor", "--kubeflow")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["."], "'.' is not a field: write for example sparkapp.spec"),
        (["sparkapp.spec.sprkConf"], "'sprkConf' is not a field of spec: did you mean spec.sparkConf?"),
        (["spec.sparkVersion"], "did you mean spec.runtimeVersions.sparkVersion?"),
        (["sparkapp.spec.SPARKCONF"], "did you mean spec.sparkConf?"),
        (["sparkapp.spec.driverSpec.podTemplateSpec.spec.nodeSelectr"], "podTemplateSpec.spec.nodeSelector?"),
        (["sparkapp.xyzzy"], "must be one of apiVersion, kind, metadata, spec, status"),
        (["sparkapp.spec.restrtConfig"], "did you mean spec.applicationTolerations.restartConfig?"),
        (["xyzzy"], "'xyzzy' is not in the name or description of a field, or of an option of `submit`"),
        (["xyzzy"], "explain sparkapp --recursive` lists the fields"),
        (["xyzzy.abc"], "explain sparkapp --recursive` lists the fields"),
        ([" - "], "' - ' is not in the name"),
        (["sparkaplication"], "did you mean sparkapplication?"),
        (["sparkap.spc"], "did you mean spec?"),
        (["sprkConf"], "did you mean spec.sparkConf?"),
        (["memroy"], "did you mean memory?"),
        (['spec.sparkConf["spark.driver.memroy"]'], "did you mean spark.driver.memory?"),
        (["spec.sparkConf.spark.ui.port"], "spark.ui.port is not a usual property of Spark: see the documentation"),
        (["executer-memry"], "did you mean --executor-memory?"),
        (["sparkapp.kind.x"], "it has no fields"),
        (["spec.retries"], "To search all fields, run `spark-operator explain retries`"),
        (["sparkcluster.spec", "--kubeflow"], "Kubeflow's operator has no such kind"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_unknown_field_is_invalid_with_a_suggestion(words: list[str], sentence: str, run_verb: Verbs) -> None:
    captured = run_verb(["explain", *words], ExitCode.INVALID)
    assert captured.out == ""
    assert sentence in captured.err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["memory"], "  --executor-memory SIZE"),
        (["MAIN CLASS"], "  --main-class CLASS"),
        (["ttlAfterStopMillis"], "  spec.applicationTolerations.ttlAfterStopMillis <integer>"),
        (["driver memory", "--kubeflow"], "  spec.driver.memory <string>"),
        (["executor-memory"], "  --executor-memory SIZE"),
        (["executorMemory"], "  --executor-memory SIZE"),
        (["spark.executor.memory"], "  --executor-memory SIZE"),
        (["spark.executor.memory"], "  spec.sparkConf <map of strings>"),
        (["spark.xyzzy"], "  --conf KEY=VALUE"),
        (["retries"], "  spec.applicationTolerations.restartConfig <object>"),
        (["retry"], "  --restart-policy POLICY"),
        (["time to live"], "  --ttl DURATION|keep"),
        (["time", "to", "live"], "  --ttl DURATION|keep"),
        (["memory overhead"], '  spec.sparkConf["spark.driver.memoryOverhead"] <string>'),
        (["memory", "overhead", "--kubeflow"], "  spec.executor.memoryOverhead <string>"),
        (["executorMemory"], '  spec.sparkConf["spark.executor.memory"] <string>'),
        (["timeToLive"], "  --ttl DURATION|keep"),
        (["cpus"], "  --driver-cores N"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_word_that_is_not_a_field_is_searched_for(words: list[str], found: str, run_verb: Verbs) -> None:
    assert found in explain(run_verb, *words).splitlines()


def test_search_shows_names_before_descriptions(run_verb: Verbs) -> None:
    lines = explain(run_verb, "timeout").splitlines()
    paths = [line for line in lines if line.startswith("  spec.")]
    with_name = ["timeout" in path.lower() for path in paths]
    assert with_name == sorted(with_name, reverse=True)
    assert len(set(with_name)) == 2


@pytest.mark.parametrize("kind", ["SparkApplication", "SparkCluster"])
def test_tree_has_the_fields_of_the_definition(kind: str) -> None:
    definition = next(each for each in build_custom_resource_definitions() if each["spec"]["names"]["kind"] == kind)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]

    def compare(part: dict[str, object], field: Field, path: str) -> None:
        items = part.get("items")
        inner = items if isinstance(items, dict) else part
        properties = inner.get("properties")
        if isinstance(properties, dict):
            fields = field.list_fields()
            assert set(properties) == set(fields), path
            for name, each in properties.items():
                compare(each, fields[name], f"{path}.{name}")
                assert list(each.get("enum", [])) == sorted(fields[name].allowed)

    compare(schema, build_tree(kind).list_fields()["spec"], "spec")


@pytest.mark.parametrize("word", ["ttl", "keep"])
def test_word_is_searched_for_in_all_options_of_submit(run_verb: Verbs, word: str) -> None:
    fields, _, options = explain(run_verb, word).partition("OPTIONS of `submit`:")
    assert "Millis <integer>" in fields
    assert {"ttl": "--ttl DURATION|keep", "keep": "--keep-failed-driver DURATION"}[word] in options


@pytest.mark.parametrize(
    "path",
    [
        'spec.sparkConf["spark.driver.memory"]',
        "sparkapp.spec.sparkConf[spark.driver.memory]",
        "spec.sparkConf.spark.driver.memory",
    ],
)
def test_property_of_spark_has_a_description_with_its_default(run_verb: Verbs, path: str) -> None:
    text = explain(run_verb, path)
    assert 'FIELD: spec.sparkConf["spark.driver.memory"] <string>\nDESCRIPTION:\n' in text
    assert "Default: 1g. The pod requests this plus spark.driver.memoryOverhead (10 %" in " ".join(text.split())


def test_each_property_with_an_option_has_a_description() -> None:
    assert {*CONF_KEYS.values(), *MEMORY_KEYS} <= {*PROPERTIES}


@pytest.mark.parametrize("words", [["out of memory"], ["memory", "units"]], ids=" ".join)
def test_words_without_a_match_show_the_nearest_fields(run_verb: Verbs, words: list[str]) -> None:
    captured = run_verb(["explain", *words])
    assert '  spec.sparkConf["spark.driver.memory"] <string>\n    Heap of' in captured.out
    assert "these names contain memory. See also docs/guides/out-of-memory.md\n" in captured.err
    assert (ROOT / "docs/guides/out-of-memory.md").exists()
