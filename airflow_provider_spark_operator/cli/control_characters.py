"""Control characters in texts of files and of the cluster, which a terminal would execute."""


def escape_controls(text: str) -> str:
    """Return a text on one line with the codes of its control characters in place of these."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)
