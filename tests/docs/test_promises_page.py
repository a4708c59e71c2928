"""Every promise names the test that kills it, and no test of a promise is left out."""

import ast
from pathlib import Path

from docs.test_docs import TABLES, named_tests

FOLDER = Path(__file__).parents[1] / "promises"
PROMISES = [dict(zip(t.columns, row, strict=True)) for t in TABLES if t.page == "promises.md" for row in t.rows]


def test_every_promise_says_what_breaks_it_what_it_costs_and_which_test_kills_it() -> None:
    assert len(PROMISES) > 40
    for promise in PROMISES:
        assert all(promise.values()), promise
        assert named_tests(promise["Test"]), promise


def test_every_test_of_a_promise_is_on_the_page() -> None:
    named = {test.partition("::")[2] for promise in PROMISES for test in named_tests(promise["Test"])}
    written = {
        node.name
        for path in FOLDER.glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    assert written <= named, written - named
