"""What a layer calls it is given when it is built: nothing is hung on it afterwards, and nothing can be forgotten."""

import ast
from pathlib import Path

import pytest

import gossamer.protocols

FOLDERS = [Path(gossamer.protocols.__file__).parent / name for name in ("spidercast", "interests")]


@pytest.mark.parametrize(
    "file", [file for folder in FOLDERS for file in folder.glob("*.py")], ids=lambda file: file.stem
)
def test_no_part_is_changed_by_whoever_builds_it(file: Path) -> None:
    built = [
        node
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef) and function.name == "__init__"
        for node in ast.walk(function)
    ]
    targets = [target for node in built if isinstance(node, ast.Assign) for target in node.targets]
    afterwards = [
        ast.unparse(target)
        for target in targets
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) != "self"
    ]
    assert afterwards == []
    assert not [
        ast.unparse(node) for node in built if isinstance(node, ast.Lambda) and "None" in ast.unparse(node.body)
    ]
