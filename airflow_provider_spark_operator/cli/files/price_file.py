"""Read the prices in a file."""

from pathlib import Path
from typing import Final

from ...core.report.prices import InvalidPrices, PriceTable, parse_prices
from ..base.errors import CommandError
from ..base.exit_codes import ExitCode

_LARGEST: Final = 1024 * 1024


def read_prices(path: str) -> PriceTable:
    """Return the price table in a file.

    Raises:
        CommandError: The file cannot be read, or is not valid.
    """
    try:
        with Path(path).open("rb") as file:
            text = file.read(_LARGEST + 1)
        if len(text) > _LARGEST:
            raise InvalidPrices(f"must have at most {_LARGEST} bytes")
        return parse_prices(text.decode())
    except OSError as error:
        raise CommandError(f"could not read {path}: {error.strerror or error}", ExitCode.INVALID) from None
    except UnicodeDecodeError:
        raise CommandError(f"{path}: must be text in UTF-8", ExitCode.INVALID) from None
    except InvalidPrices as error:
        raise CommandError(f"{path}: {error}", ExitCode.INVALID) from None
