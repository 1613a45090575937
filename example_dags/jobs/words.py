"""The rule by which two words count as the same word."""


def normalize(word: str) -> str:
    return word.strip(".,!").lower()
