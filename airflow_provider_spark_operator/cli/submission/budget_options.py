"""The options that limit what an application uses while a command waits for its end."""

import math
from typing import Annotated, TypeAlias

import click

from ...core.report.budget import Budget
from ...core.report.prices import PriceTable
from ..base.errors import CommandError, ExitCode
from ..files.price_file import read_prices
from ..options.declaration import Parameter


def check_limit(text: str) -> float:
    """Return the number in `text`.

    Raises:
        BadParameter: It is not a number greater than 0.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise click.BadParameter("must be a number greater than 0")
    return number


MaxCoreHours: TypeAlias = Annotated[
    float | None,
    Parameter(
        "--max-core-hours NUMBER",
        "with --wait or --follow, delete the application when it has requested more core-hours; the exit code is then "
        "6 (default: no limit)",
        check=check_limit,
    ),
]

MaxCost: TypeAlias = Annotated[
    float | None,
    Parameter(
        "--max-cost NUMBER",
        "with --wait or --follow, delete the application when it has cost more with --prices; the exit code is then "
        "6 (default: no limit)",
        check=check_limit,
    ),
]


def read_budget(
    max_core_hours: float | None, max_cost: float | None, prices: str | None, *, waits: bool
) -> tuple[Budget | None, PriceTable | None]:
    """Return the budget and its prices; None for what is not set.

    Args:
        max_core_hours: The option --max-core-hours.
        max_cost: The option --max-cost.
        prices: The option --prices.
        waits: Whether the command waits for the end of the application.

    Raises:
        CommandError: An option lacks another one, or the prices are not valid.
    """
    for option, limit in (("--max-core-hours", max_core_hours), ("--max-cost", max_cost)):
        if limit is not None and not waits:
            raise CommandError(f"{option} needs --wait or --follow", ExitCode.INVALID)
    if (max_cost is None) != (prices is None):
        raise CommandError("--max-cost and --prices need each other", ExitCode.INVALID)
    if max_core_hours is None and max_cost is None:
        return None, None
    table = read_prices(prices) if prices is not None else None
    return Budget(max_core_hours, max_cost, ends_application=True), table
