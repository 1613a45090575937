"""Write the chart's CustomResourceDefinitions; run it from the repository's root after a change of the models."""

from pathlib import Path

import yaml

from airflow_provider_spark_operator.crds import custom_resource_definitions

FOLDER = Path(__file__).parent / "spark-operator" / "files" / "crds"


def written() -> dict[str, str]:
    """What the folder has to hold: names of files and their content."""
    return {
        f"{definition['spec']['names']['plural']}.yaml": yaml.safe_dump(definition, sort_keys=False)
        for definition in custom_resource_definitions()
    }


if __name__ == "__main__":
    for name, content in written().items():
        (FOLDER / name).write_text(content, encoding="utf-8")
