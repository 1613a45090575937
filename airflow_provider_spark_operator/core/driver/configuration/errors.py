"""The error of the driver build."""

from ...kubernetes.json_object import InvalidResource, Problem


class DriverBuildError(InvalidResource):
    """The resources of the driver cannot be built. A retry does not help: the user must edit the field.

    Attributes:
        field: The invalid configuration key or path in the resource.
        sentence: The problem and what to do about it.
    """

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__([Problem(field, sentence)])
        self.field = field
        self.sentence = sentence
