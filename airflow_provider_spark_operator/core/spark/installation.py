"""How to install optional parts of the package."""


def advise_installation(extra: str) -> str:
    """Return how to install an extra of the package, as part of a sentence.

    Args:
        extra: The name of the extra, for example "local".
    """
    # No release is on a package index yet.
    node = "./packages/local-kubernetes " if extra in {"local", "testing"} else ""
    return f"run `pip install {node}'.[{extra}]'` in a clone of the repository"
