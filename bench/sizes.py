"""Measure the sizes of the code: `python bench/sizes.py` prints them with their limits.

Lines of code are those without docstrings, comments, blank lines and imports, so that cutting explanations
gains nothing. A folder with too many modules is an error. The other limits are printed: a change that exceeds one says
why.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

PACKAGE: Final = Path("airflow_provider_spark_operator")
LOCAL: Final = Path("packages/local-kubernetes")
MODULES: Final = 24
FILE: Final = 400
FUNCTION: Final = 40
_BLANK: Final = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Group(NamedTuple):
    """Folders that are counted together.

    Attributes:
        name: The name in the output.
        folders: The folders.
        code: The limit of lines of code.
        imports: The limit of lines of imports; None if there is none.
    """

    name: str
    folders: tuple[Path, ...]
    code: int
    imports: int | None = None


GROUPS: Final = (
    Group("package", (PACKAGE,), 31_000, 4_500),
    Group("local-kubernetes", (LOCAL / "local_kubernetes",), 8_500),
    Group("tests", (Path("tests"), LOCAL / "tests"), 53_000),
)


class Size(NamedTuple):
    """The numbers of lines of one file.

    Attributes:
        code: Lines without docstrings, comments, blank lines and imports.
        imports: Lines of imports.
        functions: The functions above the limit, each with its lines without signature, docstring and blank lines.
    """

    code: int
    imports: int
    functions: tuple[tuple[str, int], ...]


def measure(text: str) -> Size:
    """Measure the source of one file."""
    tree = ast.parse(text)
    imports = _list_lines(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    docstrings = _list_lines(_find_docstrings(tree))
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _BLANK
        for line in range(token.start[0], token.end[0] + 1)
    }
    code = lines - imports - docstrings
    functions = [node for node in ast.walk(tree) if isinstance(node, _Function)]
    lengths = [(node.name, len(code & _list_lines(node.body))) for node in functions]
    return Size(len(code), len(imports), tuple(each for each in lengths if each[1] > FUNCTION))


def _list_lines(nodes: Iterable[ast.stmt]) -> set[int]:
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def _find_docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the texts that are statements: docstrings of modules, classes, functions and constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def main() -> int:
    """Print the sizes. Return 1 if a folder of a package has too many modules."""
    long: list[str] = []
    folders: Counter[Path] = Counter()
    for group in GROUPS:
        files = sorted(path for folder in group.folders for path in folder.rglob("*.py"))
        sizes = {path: measure(path.read_text(encoding="utf-8")) for path in files}
        code, imports = sum(each.code for each in sizes.values()), sum(each.imports for each in sizes.values())
        suffix = f" (limit {group.imports:,})" if group.imports else ""
        print(f"{group.name}: {code:,} lines of code (limit {group.code:,}), {imports:,} of imports{suffix}")
        if group.name != "tests":
            folders += Counter(path.parent for path in files)
            long += [f"{path}: {count} lines" for path in files if (count := _count(path)) > FILE]
            long += [f"{path}: {name}: {count} lines" for path in files for name, count in sizes[path].functions]
    print(f"above {FILE} lines in a file or {FUNCTION} in a function:", *long or ["none"], sep="\n  ")
    crowded = [f"{path}: {count} modules" for path, count in sorted(folders.items()) if count > MODULES]
    print(f"above {MODULES} modules in a folder, __init__ included:", *crowded or ["none"], sep="\n  ")
    return 1 if crowded else 0


def _count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


if __name__ == "__main__":
    sys.exit(main())
