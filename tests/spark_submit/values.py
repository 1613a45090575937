"""Valid and invalid keys and values for the Hypothesis strategies."""

from hypothesis import strategies as st

K = "spark.kubernetes."
STEPS = "org.apache.spark.deploy.k8s.features."
Settings = dict[str, str]

WORDS = st.text("abcxyz019-", min_size=1, max_size=12).map(lambda word: f"w{word.strip('-')}")
PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn", "Co")), max_size=20)
ODD = st.one_of(
    PRINTABLE,
    st.sampled_from(
        [
            "",
            " ",
            "a=b",
            "k: v",
            "#x",
            "!x",
            "back\\slash",
            "tab\there",
            "two\nlines",
            " lead",
            "trail ",
            "ü→字🐍",
            '"q"',
        ]
    ),
)
# A name that consists of dashes only would produce an ID without a name, which `normalize_documents` cannot recognize.
NAMES = st.one_of(WORDS, st.tuples(ODD, WORDS, ODD).map("".join))
PATHS = WORDS.map(lambda word: f"/mnt/{word}")
SIZES = st.sampled_from(
    ["512m", "1g", "2G", "1536", "4gb", "1048576k", "3000MB", "1t", "700m", "1gib", "2Gi", "512mi", "1p"]
)
BAD_SIZES = ("0", "0.5g", "1x", "-1g", "", "1 g", "1g1", "g")
FACTORS = st.sampled_from(["0.1", "0.25", "0.4", "1", "1.5", "2.0", "1e-1", "0.333333333333", "12345678.9", "0.00001"])
QUANTITIES = st.sampled_from(["1", "500m", "0.5", "2.5", "100m", "1Ki"])
BOOLEANS = st.sampled_from(["true", "false"])
VARIABLES = st.text("ABCXYZ_09", min_size=1, max_size=8).map(lambda name: f"V{name}")


def draw_mostly(good: st.SearchStrategy[str], *bad: str) -> st.SearchStrategy[str]:
    """Draw a valid value, or rarely an invalid one."""
    return st.integers(0, 11).flatmap(lambda number: good if number else st.sampled_from(bad))


def draw_setting(key: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[Settings]:
    return values.map(lambda value: {key: value})


def draw_optional(keys: dict[str, st.SearchStrategy[str]]) -> st.SearchStrategy[Settings]:
    """Draw any of the settings."""
    return st.fixed_dictionaries({}, optional=keys)
