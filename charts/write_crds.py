"""The generator of the chart's CRDs. Run it from the repository's root after a change of the models."""

from pathlib import Path

import yaml

from airflow_provider_spark_operator.crds import build_custom_resource_definitions

FOLDER = Path(__file__).parent / "spark-operator" / "files" / "crds"


def build_files() -> dict[str, str]:
    """Return the content of each file of the folder, by name."""
    return {
        f"{definition['spec']['names']['plural']}.yaml": yaml.safe_dump(definition, sort_keys=False)
        for definition in build_custom_resource_definitions()
    }


if __name__ == "__main__":
    for name, content in build_files().items():
        (FOLDER / name).write_text(content, encoding="utf-8")
