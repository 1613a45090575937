"""Read the prices in a file."""

from ...core.report.prices import InvalidPrices, PriceTable, parse_prices
from ..base.errors import CommandError, ExitCode
from .documents import read_text


def read_prices(path: str) -> PriceTable:
    """Return the price table in a file.

    Raises:
        CommandError: The file cannot be read, or is not valid.
    """
    try:
        return parse_prices(read_text(path))
    except InvalidPrices as error:
        raise CommandError(f"{path}: {error}", ExitCode.INVALID) from None
