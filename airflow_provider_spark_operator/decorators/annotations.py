"""The source of a decorated function without what only its module can evaluate."""

import libcst  # Airflow's own decorators load it as well


def remove_annotations(source: str) -> str:
    """Return `source` without the annotations of the function's parameters and result.

    Python evaluates them when it defines the function. They use names of the module, which is not shipped.
    Annotations inside the function stay: pandas UDFs need theirs.
    """
    module = libcst.parse_module(source)
    body = [_strip(one) if isinstance(one, libcst.FunctionDef) else one for one in module.body]
    return module.with_changes(body=body).code


def _strip(function: libcst.FunctionDef) -> libcst.FunctionDef:
    def strip(given: object) -> object:
        return given.with_changes(annotation=None) if isinstance(given, libcst.Param) else given

    given = function.params
    lists = ("posonly_params", "params", "kwonly_params")
    changed: dict[str, object] = {name: [strip(one) for one in getattr(given, name)] for name in lists}
    changed |= {name: strip(getattr(given, name)) for name in ("star_arg", "star_kwarg")}
    return function.with_changes(params=given.with_changes(**changed), returns=None)
