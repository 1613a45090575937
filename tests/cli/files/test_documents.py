import io
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.files.documents import LARGEST_INPUT, DocumentError, read_documents, read_text


def write(folder: Path, content: str | bytes) -> str:
    path = folder / "file.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def test_every_document_has_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "# first\na: 1\n---\n---\n- 2\n")
    assert [(found.line, found.content) for found in read_documents(path)] == [(2, {"a": 1}), (5, [2])]


def test_documents_before_an_error_are_yielded_first(tmp_path: Path) -> None:
    documents = read_documents(write(tmp_path, "a: 1\n---\nb: [\n"))
    assert next(documents).content == {"a": 1}
    with pytest.raises(DocumentError, match=r"file\.yaml: not YAML: .*\(line 4, column 1\)$"):
        next(documents)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        pytest.param("", "contains no document", id="empty"),
        pytest.param("# nothing\n---\n", "contains no document", id="only a comment"),
        pytest.param(b"\xff\xfe\x00", "cannot be read: not UTF-8 text (byte 0)", id="binary"),
        pytest.param("a: 1\n\tb: 2", "not YAML: ", id="tab"),
        pytest.param("[" * 1200, "not usable: more than 100 levels of nesting (line 1", id="nesting"),
        pytest.param("a: &a [*a]", "not usable: a value that contains itself (line 1", id="itself"),
        pytest.param("a: \x00", "not YAML: unacceptable character", id="control character"),
    ],
)
def test_invalid_input_raises_one_sentence(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DocumentError) as caught:
        list(read_documents(path))
    assert str(caught.value).startswith(f"{path}: {sentence}")
    assert "\n" not in str(caught.value)


def test_input_above_16_mib_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, b"#" * (LARGEST_INPUT + 1))
    with pytest.raises(DocumentError, match=r"file\.yaml: cannot be read: larger than 16 MiB; split it"):
        list(read_documents(path))
    with Path("/dev/zero").open("rb") as endless:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(endless))
        with pytest.raises(DocumentError, match="standard input: cannot be read: larger than 16 MiB"):
            list(read_documents("-"))


def test_input_of_16_mib_is_accepted(tmp_path: Path) -> None:
    assert len(read_text(write(tmp_path, b"#" * LARGEST_INPUT))) == LARGEST_INPUT


def test_missing_file_is_named(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.touch()
    with pytest.raises(
        DocumentError, match=r"job\.py: is a program, not a manifest\. .*submit \S+/job\.py --dry-run`$"
    ):
        list(read_documents(str(program)))
    with pytest.raises(DocumentError, match=r"none\.yaml: cannot be read: no such file or directory$"):
        list(read_documents(str(tmp_path / "none.yaml")))
