"""The prices of cores and memory, by which the requests of a run become its cost."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from ..spark.spot import SPOT_LABELS
from .pod_spans import PodSpan

_MAX_PRICES: Final = 200
_MAX_STARS: Final = 3
_LARGEST: Final = 10**9
_CURRENCY: Final = re.compile(r"\S{1,8}")
_AMOUNTS: Final = ("coreHour", "gibHour")
_CONDITIONS: Final = ("nodeSelector", "node")
_SPOT: Final = "spot"


class InvalidPrices(ValueError):
    """The price table is not valid. The message names the field and the problem."""


@dataclass(frozen=True)
class Price:
    """The price of the pods that match its conditions.

    Attributes:
        core_hour: Price of one core for one hour.
        gib_hour: Price of one GiB of memory for one hour.
        selector: Labels that the pod must require of its node, in its `nodeSelector`.
        node: Pattern for the name of the node. None if any node matches.
        is_spot: Whether it is the price of spot nodes.
    """

    core_hour: Decimal
    gib_hour: Decimal
    selector: frozenset[tuple[str, str]] = frozenset()
    node: re.Pattern[str] | None = None
    is_spot: bool = False

    def matches(self, span: PodSpan, *, if_unknown: bool) -> bool:
        """Return whether a pod has this price; `if_unknown` decides conditions on what is not known about the pod."""
        has_labels = not self.selector or (if_unknown if span.selector is None else self.selector <= span.selector)
        has_node = self.node is None or (self.node.fullmatch(span.node) is not None if span.node else if_unknown)
        return has_labels and has_node


@dataclass(frozen=True)
class PriceTable:
    """Prices in the order in which they are tried.

    Attributes:
        currency: Currency of the amounts, for example `EUR`.
        prices: The prices. The first one that matches a pod is used.
    """

    currency: str
    prices: tuple[Price, ...]

    def find(self, span: PodSpan) -> Price | None:
        """Return the price of a pod. None if no price matches, or if too little is known about the pod to decide."""
        first = next((price for price in self.prices if price.matches(span, if_unknown=True)), None)
        return first if first and first.matches(span, if_unknown=False) else None


def parse_prices(text: str) -> PriceTable:
    """Return the price table that a JSON text contains.

    Args:
        text: A JSON object with `currency` and `prices`.

    Raises:
        InvalidPrices: The text is not JSON, or a member is missing, unknown or not valid.
    """
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidPrices(f"must be JSON: {error}") from None
    if not isinstance(document, dict) or set(document) != {"currency", "prices"}:
        raise InvalidPrices('must be a JSON object with the members "currency" and "prices"')
    currency, entries = document["currency"], document["prices"]
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        raise InvalidPrices("currency: must be a word of up to 8 characters")
    if not isinstance(entries, list) or not 1 <= len(entries) <= _MAX_PRICES:
        raise InvalidPrices(f"prices: must be a list of 1 to {_MAX_PRICES} objects")
    return PriceTable(currency, tuple(_parse(f"prices[{index}]", entry) for index, entry in enumerate(entries)))


def _parse(path: str, entry: object) -> Price:
    if not isinstance(entry, dict):
        raise InvalidPrices(f"{path}: must be an object")
    if unknown := sorted(set(entry) - {*_AMOUNTS, *_CONDITIONS, _SPOT}):
        raise InvalidPrices(f"{path}.{unknown[0]}: is not a member of a price")
    cores, memory = (_parse_amount(f"{path}.{name}", entry.get(name)) for name in _AMOUNTS)
    selector = entry.get("nodeSelector", {})
    if not isinstance(selector, Mapping) or not all(isinstance(value, str) for value in selector.values()):
        raise InvalidPrices(f"{path}.nodeSelector: must be an object of texts")
    is_spot = entry.get(_SPOT, any(label in SPOT_LABELS.values() for label in selector.items()))
    if not isinstance(is_spot, bool):
        raise InvalidPrices(f"{path}.{_SPOT}: must be true or false")
    node = _parse_pattern(f"{path}.node", entry.get("node"))
    return Price(cores, memory, frozenset(selector.items()), node, is_spot)


def _parse_amount(path: str, value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST:
        raise InvalidPrices(f"{path}: must be a number that is not negative")
    return Decimal(str(value))


def _parse_pattern(path: str, value: object) -> re.Pattern[str] | None:
    if value is None:
        return None
    # More stars would take long for each name.
    if not isinstance(value, str) or not value or value.count("*") > _MAX_STARS:
        raise InvalidPrices(f"{path}: must be the name of a node, with up to {_MAX_STARS} stars for any characters")
    return re.compile(".*".join(map(re.escape, value.split("*"))))
