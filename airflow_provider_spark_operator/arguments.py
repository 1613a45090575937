"""Checks of arguments that operators, sensors and policies share; cheap, because DAG files are parsed often."""


def check_booleans(**arguments: object) -> None:
    """Refuse values that are not booleans: Python takes a string such as "false" for true.

    Args:
        **arguments: Values by the names of their parameters.

    Raises:
        TypeError: One of them is not a boolean.
    """
    for name, value in arguments.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, not {value!r}")
