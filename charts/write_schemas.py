"""Write the schemas in an OpenAPI document of Kubernetes as `kubeconform` reads them: write_schemas.py FOLDER <FILE.

Unlike the published schemas of `kubeconform`, they include that of CustomResourceDefinition. Unknown fields are errors.
"""

import json
import sys
from pathlib import Path


def main() -> None:
    """Write a file with all definitions, and one for each kind."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    definitions = json.load(sys.stdin)["definitions"]
    for definition in definitions.values():
        if "properties" in definition:
            definition.setdefault("additionalProperties", False)
        if definition.get("format") == "int-or-string":
            definition["type"] = ["integer", "string"]
    (folder / "all.json").write_text(json.dumps({"definitions": definitions}), encoding="utf-8")
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            parts = [kind["kind"].lower(), kind["group"].partition(".")[0], kind["version"]]
            schema = {"$ref": f"all.json#/definitions/{name}"}
            (folder / f"{'-'.join(filter(None, parts))}.json").write_text(json.dumps(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
