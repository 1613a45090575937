from datetime import timedelta

import pytest

from airflow_provider_spark_operator.core.kubernetes.ownership import LeaseReference
from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.reconcile.objects.lease import LeaseTerms
from airflow_provider_spark_operator.reconcile.objects.limits import ReconcileLimit, RequestLimit
from airflow_provider_spark_operator.reconcile.objects.scope import (
    EveryNamespace,
    NamedNamespaces,
    Scope,
    SelectedNamespaces,
    describe,
)
from airflow_provider_spark_operator.reconcile.reports.event_filter import EventSettings
from airflow_provider_spark_operator.reconcile.settings.settings import (
    ControllerSettings,
    ElectionSettings,
    SettingsError,
    TakeoverSettings,
    keep_fixed_settings,
    list_differences,
    parse_properties_settings,
    parse_yaml_settings,
    resolve_lease,
)

EXPECTED = ControllerSettings(
    decisions=Settings(
        reconcile_interval=timedelta(seconds=1),
        missing_driver_grace_period=timedelta(seconds=3),
        missing_driver_requeue_interval=timedelta(0),
        suspend_hold_requeue_interval=timedelta(minutes=10),
        trim_state_transition_history=False,
        operator_name="mine",
    ),
    workers=7,
    scope=NamedNamespaces(("a", "b")),
    first_retry=1.5,
    reconciles=ReconcileLimit(count=4, period=20.0),
    events=EventSettings(
        is_enabled=False, excluded_reasons=("Kueue.*", "DriverReady"), min_interval=timedelta(minutes=1)
    ),
    election=ElectionSettings(
        lease_name="lease", lease_namespace="operators", terms=LeaseTerms(duration=180, renew_deadline=120, retry=5)
    ),
)
ONLY_OURS = """
apiRequestsPerSecond: 20
apiRequestBurst: 40
takeOver: true
otherControllerLease: operators/spark-operator-lease
"""


def test_yaml_sets_every_setting() -> None:
    assert (
        parse_yaml_settings("""
        operatorName: mine
        reconcileIntervalSeconds: 1
        missingDriverGracePeriodSeconds: 3
        missingDriverRequeueIntervalSeconds: -1
        suspendHoldRequeueIntervalSeconds: 600
        trimStateTransitionHistory: false
        workers: 7
        watchedNamespaces: [a, b, a]
        firstRetrySeconds: 1.5
        reconcilesPerPeriod: 4
        reconcilePeriodSeconds: 20
        eventsEnabled: false
        eventsExcludedReasons: ["Kueue.*", DriverReady]
        eventsMinIntervalSeconds: 60
        leaderElection: true
        leaseName: lease
        leaseNamespace: operators
        leaseDurationSeconds: 180
        leaseRenewDeadlineSeconds: 120
        leaseRetrySeconds: 5
        """)
        == EXPECTED
    )


def test_yaml_sets_the_settings_that_the_apache_operator_lacks() -> None:
    settings = parse_yaml_settings(ONLY_OURS)
    assert settings.requests == RequestLimit(per_second=20, burst=40)
    assert settings.takeover == TakeoverSettings(
        take_over=True, lease=LeaseReference("operators", "spark-operator-lease")
    )


def test_properties_set_every_setting() -> None:
    assert (
        parse_properties_settings("""
        spark.kubernetes.operator.name=mine
        spark.kubernetes.operator.reconciler.intervalSeconds=1
        spark.kubernetes.operator.reconciler.missingDriverGracePeriodSeconds=3
        spark.kubernetes.operator.reconciler.missingDriverRequeueIntervalSeconds=-1
        spark.kubernetes.operator.reconciler.suspendHoldRequeueIntervalSeconds=600
        spark.kubernetes.operator.reconciler.trimStateTransitionHistoryEnabled=False
        spark.kubernetes.operator.reconciler.parallelism=7
        spark.kubernetes.operator.watchedNamespaces=a, b
        spark.kubernetes.operator.reconciler.retry.initialIntervalSeconds=1.5
        spark.kubernetes.operator.reconciler.rateLimiter.maxLoopForPeriod=4
        spark.kubernetes.operator.reconciler.rateLimiter.refreshPeriodSeconds=20
        spark.kubernetes.operator.events.enabled=FALSE
        spark.kubernetes.operator.events.excludedReasons=Kueue.*, DriverReady,
        spark.kubernetes.operator.events.minIntervalSeconds=60
        spark.kubernetes.operator.namespace=operators
        spark.kubernetes.operator.leaderElection.enabled=true
        spark.kubernetes.operator.leaderElection.leaseName=lease
        spark.kubernetes.operator.leaderElection.leaseDurationSeconds=180
        spark.kubernetes.operator.leaderElection.renewDeadlineSeconds=120
        spark.kubernetes.operator.leaderElection.retryPeriodSeconds=5
        spark.driver.memory=1g
        """)
        == EXPECTED
    )


@pytest.mark.parametrize("text", ["", "# nothing", "{}"])
def test_empty_file_sets_the_defaults(text: str) -> None:
    assert parse_yaml_settings(text) == ControllerSettings()


def test_properties_with_an_invalid_escape_are_rejected() -> None:
    with pytest.raises(SettingsError, match=r"^invalid properties: contains a \\u without four"):
        parse_properties_settings("spark.kubernetes.operator.a\\u00zz=1")


def test_unsupported_properties_are_reported() -> None:
    settings = parse_properties_settings("""
        spark.kubernetes.operator.metrics.port=19090
        spark.kubernetes.operator.reconciler.retry.maxIntervalSeconds=60
        other=1
        """)
    assert settings.ignored == (
        "spark.kubernetes.operator.metrics.port",
        "spark.kubernetes.operator.reconciler.retry.maxIntervalSeconds",
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("workers: many", "workers: must be a number, not 'many'", id="word for a number"),
        pytest.param("workers: true", "workers: must be a number, not True", id="flag for a number"),
        pytest.param("workers: 1.5", "workers: must be an integer, not 1.5", id="fraction"),
        pytest.param("workers: .nan", "invalid YAML: invalid float: put the value in quotes", id="no number"),
        pytest.param("trimStateTransitionHistory: 1", "trimStateTransitionHistory: must be true or false", id="flag"),
        pytest.param("operatorName: ''", "operatorName: must be a non-empty string", id="empty name"),
        pytest.param("watchedNamespaces: []", "watchedNamespaces: must name at least one namespace", id="none"),
        pytest.param("watchedNamespaces: [A_B]", "watchedNamespaces: must be names of namespaces", id="name"),
        pytest.param("leaseName: A_B", "leaseName: must be the name of an object", id="lease"),
        pytest.param("leaseNamespace: A_B", "leaseNamespace: must be the name of a namespace", id="lease namespace"),
        pytest.param(
            "otherControllerLease: A/B",
            "otherControllerLease: must be a Lease as NAMESPACE/NAME",
            id="invalid namespace",
        ),
        pytest.param("operatorName: a b", "operatorName: must be a valid label value", id="operator"),
        pytest.param("watchedNamespaces: [1]", "watchedNamespaces: must be a list of namespaces", id="a number"),
        pytest.param(
            "eventsExcludedReasons: 1", "eventsExcludedReasons: must be a list of regular expressions", id="no list"
        ),
        pytest.param(
            "eventsExcludedReasons: ['(']",
            "eventsExcludedReasons: must be a list of regular expressions ('(': missing )",
            id="invalid regular expression",
        ),
        pytest.param(
            f"eventsExcludedReasons: [{'a' * 201}]",
            "eventsExcludedReasons: must contain at most 100 regular expressions, each with at most 200 characters",
            id="long regular expression",
        ),
        pytest.param("firstRetrySeconds: 0", "firstRetrySeconds: must be a number of seconds above 0", id="zero"),
        pytest.param(
            "reconcileIntervalSeconds: 1e300", "reconcileIntervalSeconds: must be a number of", id="too large"
        ),
        pytest.param(
            "reconcilesPerPeriod: 1.5", "reconcilesPerPeriod: must be an integer, not 1.5", id="fraction of a count"
        ),
        pytest.param(
            "otherControllerLease: a", "otherControllerLease: must be a Lease as NAMESPACE/NAME", id="no namespace"
        ),
        pytest.param(
            "otherControllerLease: a/b/c",
            "otherControllerLease: must be a Lease as NAMESPACE/NAME",
            id="too many parts",
        ),
        pytest.param("leaseRetrySeconds: 10", "the retry period of the lease (10 s) must be shorter", id="terms"),
        pytest.param("worker: 1", "worker: unknown setting. The known settings are apiRequestBurst,", id="unknown key"),
        pytest.param("- 1", "the file must contain a mapping of settings", id="list"),
        pytest.param("a: [", "invalid YAML: ", id="not YAML"),
    ],
)
def test_invalid_setting_is_rejected_with_its_key(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_yaml_settings(text)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_invalid_property_is_rejected_with_its_full_key() -> None:
    with pytest.raises(SettingsError, match=r"^spark\.kubernetes\.operator\.reconciler\.parallelism: must be a number"):
        parse_properties_settings("spark.kubernetes.operator.reconciler.parallelism=x")


@pytest.mark.parametrize(("text", "is_enabled"), [("true", True), ("TRUE ", True), ("False", False), ("fALSE", False)])
def test_boolean_property_is_true_or_false_in_any_case(text: str, is_enabled: bool) -> None:
    assert parse_properties_settings(f"spark.kubernetes.operator.events.enabled={text}").events.is_enabled is is_enabled


@pytest.mark.parametrize("text", ["0", "1", "yes", "", "null"])
def test_other_value_of_a_boolean_property_is_rejected(text: str) -> None:
    with pytest.raises(SettingsError, match=r"^spark\.kubernetes\.operator\.events\.enabled: must be true or false"):
        parse_properties_settings(f"spark.kubernetes.operator.events.enabled={text}")


def test_asterisk_means_all_namespaces() -> None:
    assert parse_yaml_settings("watchedNamespaces: '*'").scope == EveryNamespace()


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("reconcileIntervalSeconds: 1\nworkers: 3\nreconcilesPerPeriod: 1\ntakeOver: true", ()),
        ("operatorName: another", ("operatorName",)),
        ("leaseRetrySeconds: 1\nleaseName: ours", ("leaseName", "leaseRetrySeconds")),
    ],
    ids=["live", "the name", "the election"],
)
def test_list_differences_names_settings_that_need_a_restart(text: str, keys: tuple[str, ...]) -> None:
    assert list_differences(parse_yaml_settings(""), parse_yaml_settings(text), fixed=True) == keys


def test_keep_fixed_settings_keeps_settings_that_need_a_restart() -> None:
    old = parse_yaml_settings("operatorName: old\nleaderElection: true\nleaseName: ours")
    new = keep_fixed_settings(
        old, parse_yaml_settings("operatorName: new\nkueueEnabled: true\nreconcileIntervalSeconds: 1\nworkers: 3")
    )
    assert (new.decisions.operator_name, new.election.lease_name) == ("old", "ours")
    assert (new.decisions.reconcile_interval, new.workers) == (timedelta(seconds=1), 3)
    assert list_differences(old, new, fixed=True) == ()
    assert list_differences(old, new, fixed=False) == ("reconcileIntervalSeconds", "workers")


def test_parallelism_without_limit_still_has_workers() -> None:
    assert parse_properties_settings("spark.kubernetes.operator.reconciler.parallelism=-1").workers > 1


@pytest.mark.parametrize(
    ("scope", "words"),
    [(NamedNamespaces(("a", "b")), "a,b"), (SelectedNamespaces("team=x"), "selector:team=x"), (EveryNamespace(), "*")],
)
def test_describe_scope(scope: NamedNamespaces | SelectedNamespaces | EveryNamespace, words: str) -> None:
    assert describe(scope) == words


@pytest.mark.parametrize(
    ("text", "scope", "lease"),
    [
        ("", NamedNamespaces(("jobs", "tests")), "jobs/spark-operator-lease"),
        ("", EveryNamespace(), "current/spark-operator-lease"),
        ("leaseNamespace: operators\nleaseName: ours", NamedNamespaces(("jobs",)), "operators/ours"),
    ],
    ids=["first namespace", "current namespace", "settings"],
)
def test_lease_is_where_the_controller_has_permissions(text: str, scope: Scope, lease: str) -> None:
    assert str(resolve_lease(parse_yaml_settings(text).election, scope, "current")) == lease
