"""What stops a driver from being built."""


class DriverBuildError(Exception):
    """The driver's resources cannot be built from what the user gave.

    `field` is the configuration key or the path in the resource that is at fault; `sentence` says what
    is wrong and what to do. Never retried: only an edit of that field helps.
    """

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(f"{field}: {sentence}")
        self.field = field
        self.sentence = sentence
