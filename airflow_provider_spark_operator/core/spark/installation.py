"""How to install optional parts of the package."""


def advise_installation(extra: str) -> str:
    """Return how to install an extra of the package, as part of a sentence.

    Args:
        extra: The name of the extra, for example "local".
    """
    node = "./packages/local-kubernetes " if extra in {"local", "testing"} else ""
    release = f"pip install 'airflow-provider-spark-operator[{extra}]'"
    return f"run `{release}`, or in a clone of the repository `pip install {node}'.[{extra}]'`"
