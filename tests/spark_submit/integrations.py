"""Hypothesis strategies for the settings of credentials, Hadoop, Kerberos and Volcano."""

from hypothesis import strategies as st

from tests.spark_submit.values import PATHS, STEPS, WORDS, K, Settings, draw_mostly, draw_optional, draw_setting

GROUPS = (
    '{"metadata": {"labels": {"a": "b"}}, "spec": {"queue": "json"}}',
    '{"spec": {"minMember": 2, "minResources": {"cpu": 2, "memory": "1Gi"}, "priorityClassName": "p"}}',
)


def draw_credentials() -> st.SearchStrategy[Settings]:
    prefix = f"{K}authenticate.driver."
    return draw_optional(
        {
            f"{prefix}oauthToken": WORDS,
            f"{prefix}caCertFile": draw_mostly(st.just("@FILES@/cert.pem"), "/no/such/file"),
            f"{prefix}clientKeyFile": st.just("@FILES@/cert.pem"),
            f"{prefix}mounted.oauthTokenFile": PATHS,
            f"{prefix}mounted.caCertFile": PATHS,
            f"{prefix}serviceAccountName": WORDS,
            "spark.other.oauthToken": WORDS,
            "spark.other.password": WORDS,
        }
    )


def draw_hadoop() -> st.SearchStrategy[Settings]:
    token = f"{K}kerberos.tokenSecret."
    return st.one_of(
        draw_setting(f"{K}hadoop.configMapName", WORDS),
        draw_setting(f"{K}kerberos.krb5.configMapName", WORDS),
        draw_setting(
            f"{K}kerberos.krb5.path",
            draw_mostly(st.sampled_from(["@FILES@/krb5.conf", "@FILES@/other.conf"]), "/no/such/file"),
        ),
        st.just({f"{token}name": "a", f"{token}itemKey": "b"}),
        st.just({f"{token}name": "a", f"{token}itemKey": "b"}),
        st.just({f"{K}kerberos.krb5.path": "@FILES@/krb5.conf", f"{K}kerberos.krb5.configMapName": "both"}),
    )


def draw_volcano() -> st.SearchStrategy[Settings]:
    step = {f"{K}driver.pod.featureSteps": f"{STEPS}VolcanoFeatureStep"}
    template = f"{K}scheduler.volcano.podGroupTemplate"
    choices = draw_optional(
        {
            f"{template}File": draw_mostly(st.just("@FILES@/group.yaml"), "/no/such/file"),
            f"{template}Json": draw_mostly(st.sampled_from(GROUPS), "{"),
        }
    )
    return choices.map(lambda chosen: step | chosen)


def draw_kerberos() -> st.SearchStrategy[Settings]:
    principal = {"spark.kerberos.principal": "me"}
    keytabs = [
        {"spark.kerberos.keytab": path} for path in ("local:///etc/keytab", "@FILES@/cert.pem", "@FILES@/a b.txt")
    ]
    token = f"{K}kerberos.tokenSecret."
    tokens = st.sampled_from([{}, {f"{token}name": "a", f"{token}itemKey": "b"}])
    pairs = st.sampled_from([keytab | principal for keytab in keytabs] * 3 + [keytabs[0], principal])
    return st.builds(lambda pair, secret: pair | secret, pairs, tokens)
