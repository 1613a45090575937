"""Hypothesis strategies for the settings of credentials, Hadoop, Kerberos and Volcano."""

from hypothesis import strategies as st

from tests.spark_submit.values import PATHS, STEPS, WORDS, K, Settings, mostly, optional, setting

GROUPS = (
    '{"metadata": {"labels": {"a": "b"}}, "spec": {"queue": "json"}}',
    '{"spec": {"minMember": 2, "minResources": {"cpu": 2, "memory": "1Gi"}, "priorityClassName": "p"}}',
)


def security() -> st.SearchStrategy[Settings]:
    prefix = f"{K}authenticate.driver."
    return optional(
        {
            f"{prefix}oauthToken": WORDS,
            f"{prefix}caCertFile": mostly(st.just("@FILES@/cert.pem"), "/no/such/file"),
            f"{prefix}clientKeyFile": st.just("@FILES@/cert.pem"),
            f"{prefix}mounted.oauthTokenFile": PATHS,
            f"{prefix}mounted.caCertFile": PATHS,
            f"{prefix}serviceAccountName": WORDS,
            "spark.other.oauthToken": WORDS,
            "spark.other.password": WORDS,
        }
    )


def hadoop() -> st.SearchStrategy[Settings]:
    token = f"{K}kerberos.tokenSecret."
    return st.one_of(
        setting(f"{K}hadoop.configMapName", WORDS),
        setting(f"{K}kerberos.krb5.configMapName", WORDS),
        setting(
            f"{K}kerberos.krb5.path",
            mostly(st.sampled_from(["@FILES@/krb5.conf", "@FILES@/other.conf"]), "/no/such/file"),
        ),
        st.just({f"{token}name": "a", f"{token}itemKey": "b"}),
        st.just({f"{token}name": "a", f"{token}itemKey": "b"}),
        st.just({f"{K}kerberos.krb5.path": "@FILES@/krb5.conf", f"{K}kerberos.krb5.configMapName": "both"}),
    )


def volcano() -> st.SearchStrategy[Settings]:
    step = {f"{K}driver.pod.featureSteps": f"{STEPS}VolcanoFeatureStep"}
    template = f"{K}scheduler.volcano.podGroupTemplate"
    choices = optional(
        {
            f"{template}File": mostly(st.just("@FILES@/group.yaml"), "/no/such/file"),
            f"{template}Json": mostly(st.sampled_from(GROUPS), "{"),
        }
    )
    return choices.map(lambda chosen: step | chosen)


def kerberos() -> st.SearchStrategy[Settings]:
    principal = {"spark.kerberos.principal": "me"}
    keytabs = [
        {"spark.kerberos.keytab": path} for path in ("local:///etc/keytab", "@FILES@/cert.pem", "@FILES@/a b.txt")
    ]
    token = f"{K}kerberos.tokenSecret."
    tokens = st.sampled_from([{}, {f"{token}name": "a", f"{token}itemKey": "b"}])
    pairs = st.sampled_from([keytab | principal for keytab in keytabs] * 3 + [keytabs[0], principal])
    return st.builds(lambda pair, secret: pair | secret, pairs, tokens)
