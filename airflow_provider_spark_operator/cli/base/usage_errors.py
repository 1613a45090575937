"""Describe the usage errors of click, with the names that the user may have meant."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

import click

# Words of kubectl, spark-submit and other programs, with the verbs and options of this program for them.
_FOREIGN: Mapping[str, tuple[str, ...]] = {
    "abort": ("stop", "delete"),
    "apply": ("submit",),
    "cancel": ("stop", "delete"),
    "class": ("--main-class",),
    "cores": ("--driver-cores", "--executor-cores"),
    "create": ("submit",),
    "destroy": ("delete",),
    "edit": ("restart", "submit"),
    "executors": ("--executor", "--executor-instances"),
    "failed": ("--failure", "--state"),
    "get": ("list", "status", "describe"),
    "history": ("timeline",),
    "info": ("describe",),
    "inspect": ("describe",),
    "kill": ("stop", "delete"),
    "ls": ("list",),
    "max-retries": ("--restart-policy",),
    "memory": ("--driver-memory", "--executor-memory"),
    "num-executors": ("--executor-instances",),
    "port-forward": ("forward",),
    "ps": ("list", "status"),
    "remove": ("delete",),
    "rerun": ("restart",),
    "retries": ("--restart-policy",),
    "retry": ("restart", "--restart-policy"),
    "rm": ("delete",),
    "run": ("submit", "local run"),
    "scale": ("cluster scale",),
    "show": ("describe", "status"),
    "start": ("submit", "local up"),
    "stop": ("local down",),
    "tail": ("logs",),
    "terminate": ("delete", "stop"),
    "ui": ("forward",),
    "up": ("local up",),
}
_EXTRA = re.compile(r"Got unexpected extra arguments? \((\S*)[ )]")


def describe_usage_error(error: click.UsageError) -> str:
    """Return a usage error as one sentence, and where the help is."""
    sentence = _describe(error)
    if error.ctx is None:
        return sentence
    end = "" if sentence.endswith("?") else "."
    return f"{sentence}{end} Run `{error.ctx.command_path} --help` for the usage"


def suggest(word: str, known: Iterable[str]) -> str:
    """Return `: did you mean …?` with the known words that the user may have meant; empty if there are none."""
    by_name = {name.lstrip("-").lower(): name for name in known}
    name = word.lstrip("-").lower()
    # A group of verbs knows only the last word of each.
    meant = [full for full in _FOREIGN.get(name, ()) if {full.split()[0], full.split()[-1]} & {*by_name.values()}]
    meant = meant or [by_name[match] for match in get_close_matches(name, list(by_name), n=1)]
    return f": did you mean {enumerate_words(meant)}?" if meant else ""


def enumerate_words(words: Sequence[str]) -> str:
    """Return words as in `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _describe(error: click.UsageError) -> str:
    match error:
        case click.MissingParameter(param=click.Parameter() as parameter):
            is_option = isinstance(parameter, click.Option)
            name = _name(parameter) if is_option else str(parameter.metavar).removesuffix("…")
            return f"missing {parameter.param_type_name} {name}"
        case click.BadParameter(param=click.Parameter() as parameter):
            return f"{_name(parameter)}: {error.message}"
        case click.NoSuchOption(option_name=name) if name.lstrip("-").isdecimal():
            return f"unexpected negative number {name}"
        case click.NoSuchOption(option_name=name, ctx=click.Context() as context):
            names = [known for each in context.command.get_params(context) for known in each.opts]
            known = [each for each in names if each.startswith("--")]
            advice = ": options follow the verb" if context.parent is None else suggest(name, known)
            return f"unknown option {name}{advice or _advise_on_arguments(context.command)}"
        case click.BadOptionUsage(option_name=name, message=message):  # Option '--state' requires an argument.
            fault = message.removeprefix(f"Option {name!r} ").removesuffix(".")
            return f"{name}: {fault.replace('an argument', 'a value')}"
        case click.UsageError(message=message) if found := _EXTRA.match(message):
            return f"unexpected argument {found[1]}"
    message = error.message.removesuffix(".")
    return f"{message[:1].lower()}{message[1:]}"


def _advise_on_arguments(command: click.Command) -> str:
    """Return how to pass an option to the program that a verb runs; empty if it runs none."""
    has_arguments = any(str(each.metavar).startswith("ARGUMENT") for each in command.params)
    return ". To pass it to the program, write -- before it" if has_arguments else ""


def _name(parameter: click.Parameter) -> str:
    """Return the name of a parameter. An argument whose metavar lists its words has the name in `run`."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    metavar = str(parameter.metavar)
    return metavar.removesuffix("…") if metavar[0].isupper() else str(parameter.name)
