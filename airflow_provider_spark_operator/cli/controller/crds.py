"""`spark-operator crds`: print the CustomResourceDefinitions."""

from typing import Annotated

from ...crds import build_custom_resource_definitions
from ..base.errors import CommandError, ExitCode
from ..options.declaration import Parameter
from ..options.options import DocumentFormat, DocumentOutput, require_text
from ..output.output import print_documents


def run(
    kind: Annotated[
        str | None,
        Parameter(
            "--kind K",
            "print only this kind, for example SparkApplication (default: all)",
            complete=lambda *_: [each["spec"]["names"]["kind"] for each in build_custom_resource_definitions()],
            check=require_text,
        ),
    ] = None,
    output: DocumentOutput = DocumentFormat.YAML,
) -> ExitCode:
    """Print the CustomResourceDefinitions.

    Install them before you start the controller or create an application.

    Examples:
        # Install the definitions
        spark-operator crds | kubectl apply --server-side -f -

        # Print one definition as JSON
        spark-operator crds --kind SparkCluster -o json
    """
    definitions = build_custom_resource_definitions()
    if kind:
        kinds = {str(definition["spec"]["names"]["kind"]): definition for definition in definitions}
        chosen = {name.lower(): definition for name, definition in kinds.items()}.get(kind.lower())
        if chosen is None:
            raise CommandError(f"--kind {kind}: unknown kind; must be one of {', '.join(kinds)}", ExitCode.INVALID)
        definitions = [chosen]
    print_documents(definitions, output)
    return ExitCode.SUCCESS
