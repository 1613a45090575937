"""What counts as the same word."""


def normalized(word: str) -> str:
    return word.strip(".,!").lower()
