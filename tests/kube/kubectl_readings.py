"""Recorded readings of kubectl: texts in YAML, with the JSON that kubectl sends to the API server."""

import json
from pathlib import Path
from typing import Any, Final

# tests/contract/test_yaml.py sends them to a real API server, which reads YAML with the library of kubectl.
_RECORDED: Final = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
READINGS: Final[list[tuple[str, Any]]] = [(text, reading) for text, reading in _RECORDED["readings"]]
REFUSALS: Final[list[str]] = _RECORDED["refusals"]
