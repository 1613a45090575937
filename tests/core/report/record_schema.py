"""The JSON schema of the record of a run, from its page in the documentation."""

import json
import re
from pathlib import Path

from jsonschema import Draft202012Validator

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "run-record.md"
(_TEXT,) = re.findall(r"^```json\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
SCHEMA = json.loads(_TEXT)
VALIDATOR = Draft202012Validator(SCHEMA)
