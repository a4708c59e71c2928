"""The house rules of DESIGN.md, read off the source: who may import whom, and what no file may contain."""

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from gossamer.live.running.driver import Driver
from gossamer.live.running.performers import Performers
from house import (
    FILES,
    FURTHER,
    FURTHER_STANDARD,
    NUMPY_IN_THINK,
    PACKAGE,
    PACKAGES,
    ROOMS,
    STANDARD_IN_THINK,
    THINK,
    TWICE,
    WIRED_LATER,
    Rule,
    assigned,
    does_nothing_by_default,
    imports,
    may,
    missing_types,
    names_meant_twice,
    optional_wires,
    room,
    strange_packages,
    strange_protocols,
    strange_rooms,
    strange_thoughts,
    tree,
    weight_of_a_neighbour,
    wired_from_outside,
    wires,
)

# Words that do not belong in the source.
MACHINE_PATHS = r"(?<![\w.<>}/])/(?:work|root|home|tmp|mnt|Users)\b"
REGISTRIES = r"pypi\.|pythonhosted|artifactory|nexus|devpi|index-url|maven\.org|conda\.|docker\.io|ghcr\.io"
UNFINISHED = r"\b(?:TODO|FIXME|XXX|HACK)\b"
EMPTY_NAMES = ("util", "utils", "helper", "helpers", "manager", "managers", "base", "common", "misc")
LINES_MAX = 350

TEXTS = {
    path.relative_to(PACKAGE).as_posix(): path
    for path in sorted(PACKAGE.rglob("*"))
    if path.suffix in (".py", ".toml", ".html", ".css", ".js", ".md", ".json")
}


def nothing(complaints: Iterable[str]) -> None:
    found = list(complaints)
    assert not found, "\n" + "\n".join(found)


def test_every_room_is_one_that_the_design_names() -> None:
    nothing(file for file in FILES if room(file) not in ROOMS)


@pytest.mark.parametrize(
    "rule",
    [strange_rooms, strange_protocols, strange_thoughts, strange_packages, weight_of_a_neighbour, missing_types],
    ids=[
        "a room imports only from the floors below",
        "protocols do not know each other",
        "THINK knows neither clock nor socket nor chance",
        "packages stay in their rooms",
        "a light node pulls in no NumPy through a neighbour",
        "every public function says its types",
    ],
)
def test_every_file_keeps_the_rule_that(rule: Rule) -> None:
    nothing(complaint for file in FILES for complaint in rule(file, tree(file)))


@pytest.mark.parametrize(
    ("file", "rule", "source"),
    [
        ("core/stack.py", strange_rooms, "from gossamer.parts.seen import Seen"),
        ("parts/seen.py", strange_rooms, "def f():\n    import gossamer.protocols.camcast.rules"),
        ("sim/world.py", strange_rooms, "from gossamer.fast import engine"),
        ("fast/engine.py", strange_rooms, "from gossamer.wire import codec"),
        ("pipeline/session.py", strange_rooms, "from gossamer.web.report import render"),
        ("lab/figures.py", strange_rooms, "from ..pipeline import session"),
        ("protocols/camcast/layer.py", strange_protocols, "from gossamer.protocols.search.layer import Search"),
        ("protocols/camcast/layer.py", strange_protocols, "from ..search import layer"),
        ("protocols/camcast/layer.py", strange_protocols, "from gossamer.protocols import CATALOGUE"),
        ("core/stack.py", strange_thoughts, "def f():\n    from time import monotonic"),
        ("core/stack.py", strange_thoughts, "import os.path"),
        ("core/stack.py", strange_thoughts, "import sqlite3"),
        ("core/stack.py", strange_thoughts, "from urllib.request import urlopen"),
        ("parts/seen.py", strange_thoughts, "import http.client"),
        ("parts/seen.py", strange_thoughts, "import glob"),
        ("protocols/camcast/layer.py", strange_thoughts, "from queue import Queue"),
        ("protocols/camcast/layer.py", strange_thoughts, "from importlib import import_module"),
        ("protocols/camcast/layer.py", strange_thoughts, "def f():\n    return open('x').read()"),
        ("core/stack.py", strange_thoughts, "clock = __import__('time')"),
        ("core/stack.py", strange_packages, "import numpy"),
        ("protocols/camcast/layer.py", strange_packages, "import numpy as np"),
        ("lab/figures.py", strange_packages, "if False:\n    import pyspark.sql"),
        ("sim/world.py", strange_packages, "from numba import njit"),
        ("live/reading/inbox.py", strange_packages, "import pandas"),
        ("live/reading/inbox.py", strange_packages, "import pyarrow.parquet"),
        ("live/watching/metrics.py", strange_packages, "from jinja2 import Environment"),
        ("live/reading/inbox.py", strange_packages, "import requests"),
        ("protocols/camcast/layer.py", strange_protocols, "from gossamer.protocols.camcast.node import camcast_node"),
        ("protocols/camcast/layer.py", strange_protocols, "from . import node"),
        ("protocols/hpmcast/node.py", strange_protocols, "from gossamer.protocols.recovery.kernel import run"),
        ("protocols/hpmcast/node.py", strange_protocols, "from gossamer.protocols.recovery.experiment import setting"),
        ("protocols/dispatch/node.py", strange_protocols, "def f():\n    import gossamer.protocols.flood.kernel"),
        ("protocols/camcast/layer.py", weight_of_a_neighbour, "from gossamer.protocols.camcast import kernel"),
        ("live/node.py", weight_of_a_neighbour, "from gossamer.protocols.recovery.kernel.arrays import prepare"),
        ("core/stack.py", missing_types, "def f(x) -> int: ..."),
        ("core/stack.py", missing_types, "class C:\n    def f(self): ..."),
        ("live/reading/inbox.py", missing_types, "async def f(x) -> int: ..."),
        ("live/reading/inbox.py", missing_types, "class C:\n    async def f(self): ..."),
    ],
)
def test_a_rule_notices_who_breaks_it(file: str, rule: Rule, source: str) -> None:
    assert list(rule(file, ast.parse(source)))


def test_a_node_may_be_put_together_from_layers_of_other_protocols_and_their_nodes() -> None:
    allowed = (
        "from gossamer.protocols.scamp.layer import Scamp\nfrom gossamer.protocols.recovery.node import recovering"
    )
    assert not list(strange_protocols("protocols/camcast/node.py", ast.parse(allowed)))


def test_no_two_classes_of_think_have_the_same_name_but_for_those_with_a_reason() -> None:
    found = names_meant_twice({file: tree(file) for file in FILES})
    nothing(f"{name} is a class of {', '.join(files)}" for name, files in found.items() if name not in TWICE)
    nothing(f"{name} is no longer there twice" for name in TWICE if name not in found)


def test_a_name_given_twice_is_noticed_and_one_of_another_floor_is_not() -> None:
    said, other = ast.parse("class Leave: ..."), ast.parse("class Stay: ...")
    sources = {"core/machine.py": said, "protocols/spidercast/messages.py": said, "live/node.py": other}
    assert names_meant_twice(sources) == {"Leave": ["core/machine.py", "protocols/spidercast/messages.py"]}
    assert not names_meant_twice({"core/machine.py": other, "live/node.py": other})


def test_nothing_is_allowed_that_nobody_needs() -> None:
    used = {(module.split(".")[0], file) for file in FILES for module, _ in imports(file, tree(file))}
    nothing(f"room {each!r}" for each in ROOMS if not any(room(file) == each for file in FILES))
    nothing(file for file in (*FURTHER, *FURTHER_STANDARD) if file not in FILES)
    nothing(place for place in NUMPY_IN_THINK if not any(may(file, (place,)) for file in FILES))
    nothing(
        f"{package} in {place}"
        for package, places in PACKAGES.items()
        for place in places
        if place not in NUMPY_IN_THINK and not any(top == package and may(file, (place,)) for top, file in used)
    )
    nothing(
        module for module in STANDARD_IN_THINK if not any(top == module and room(file) in THINK for top, file in used)
    )


@pytest.mark.parametrize("unwanted", [MACHINE_PATHS, REGISTRIES, UNFINISHED])
def test_nothing_in_the_source_points_at_one_machine_or_is_left_for_later(unwanted: str) -> None:
    lines = [(f"{file}:{number}", line) for file, path in TEXTS.items()
             for number, line in enumerate(path.read_text().splitlines(), 1)]  # fmt: skip
    nothing(f"{where} {line.strip()[:80]}" for where, line in lines if re.search(unwanted, line))


def test_every_folder_with_modules_is_a_package() -> None:
    folders = dict.fromkeys(
        folder for path in FILES.values() for folder in path.parents if PACKAGE.parent in folder.parents
    )
    nothing(
        f"{folder.relative_to(PACKAGE.parent)} has no __init__.py"
        for folder in folders
        if not (folder / "__init__.py").exists()
    )


def test_every_file_is_named_after_what_it_holds() -> None:
    nothing(file for file in FILES if any(name in EMPTY_NAMES for name in file.removesuffix(".py").split("/")))


def test_every_file_opens_with_the_idea_it_holds() -> None:
    nothing(file for file in FILES if FILES[file].read_text().strip() and not ast.get_docstring(tree(file)))


def test_every_file_fits_a_sitting() -> None:
    lengths = {file: len(path.read_text().splitlines()) for file, path in FILES.items()}
    nothing(f"{file} has {length} lines: two jobs?" for file, length in lengths.items() if length > LINES_MAX)


# A set of text comes out in another order in every process, and so does hash(): a run would not repeat.

ORDERING = ("list", "tuple", "iter", "enumerate", "map", "filter", "zip", "reversed", "next")


def is_set(node: ast.AST | None, names: frozenset[str] = frozenset()) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.BinOp(op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor()):
            return is_set(node.left, names) or is_set(node.right, names)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in names
    return False


def names_of_sets(source: ast.AST) -> frozenset[str]:
    """Variables and attributes that hold a set somewhere in the file."""
    named: list[str] = []
    for node in ast.walk(source):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        said = isinstance(node, ast.AnnAssign) and re.match(r"(frozen)?set\b", ast.unparse(node.annotation))
        if said or is_set(getattr(node, "value", None)):
            named += [getattr(each, "id", None) or getattr(each, "attr", "") for each in targets]
    return frozenset(named)


def unordered(source: ast.AST) -> Iterator[int]:
    """Lines on which the order of a set, or hash(), could decide something."""
    names = names_of_sets(source)
    for node in ast.walk(source):
        match node:
            case ast.For() | ast.comprehension() if is_set(node.iter, names):
                yield node.iter.lineno
            case ast.Call(func=ast.Name(id="hash")):
                yield node.lineno
            case ast.Call(func=ast.Name(id=name)) if name in ORDERING and any(is_set(a, names) for a in node.args):
                yield node.lineno
            case ast.Starred() if is_set(node.value, names):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="fromkeys" | "join" | "extend")) if is_set(node.args[0], names):
                yield node.lineno


def test_nothing_in_think_depends_on_the_order_of_a_set_or_on_hash() -> None:
    nothing(f"{file}:{line}" for file in FILES if room(file) in THINK for line in unordered(tree(file)))


@pytest.mark.parametrize(
    "source",
    [
        "for x in {1, 2}: pass",
        "[x for x in set(y)]",
        "{x: 1 for x in {z for z in y}}",
        "list({1, 2})",
        "[*set(y)]",
        "a = {1, 2}\nfor x in a: pass",
        "self.a: set[int] = made()\ntuple(self.a)",
        "for x in set(a) - set(b): pass",
        "dict.fromkeys(set(a))",
        "hash('text')",
    ],
)
def test_the_rule_notices_every_way_to_walk_over_a_set(source: str) -> None:
    assert list(unordered(ast.parse(source)))


@pytest.mark.parametrize("source", ["for x in sorted({1, 2}): pass", "a = {1}\nb = x in a", "a = {1: 2}\nlist(a)"])
def test_the_rule_lets_sorted_sets_and_questions_of_membership_pass(source: str) -> None:
    assert not list(unordered(ast.parse(source)))


# Whom a part of the live node calls it is given when it is built.

LIVE = {file: tree(file) for file in FILES if room(file) == "live"}
DRIVER = """
class Board:
    def say(self): ...
class Limits(Struct):
    size: int
class Driver:
    told: Callable[[int], None]
    def __init__(self, board: "Board | None", limits: Limits) -> None:
        self.board, self.limits, self.size = board, limits, 0
"""


def test_no_part_of_the_live_node_is_wired_after_it_was_built() -> None:
    known = wires(LIVE.values())
    nothing(complaint for file, source in LIVE.items() for complaint in wired_from_outside(file, source, known))
    outside = {each.attr for source in LIVE.values() for each in assigned(source) if ast.unparse(each.value) != "self"}
    nothing(f"{name} need not be allowed" for name in WIRED_LATER if name not in outside or name not in known)


def test_no_part_of_the_live_node_can_be_built_without_one_of_its_wires() -> None:
    known = wires(LIVE.values())
    nothing(complaint for file, source in LIVE.items() for complaint in optional_wires(file, source, known))
    nothing(complaint for file, source in LIVE.items() for complaint in does_nothing_by_default(file, source))


@pytest.mark.parametrize(
    "source",
    [
        "driver.board = board",
        "self.driver.board = self.office.board = board",
        "driver.told, driver.size = f, 1",
        "station.driver.told = lambda event: None",
    ],
)
def test_a_wire_set_from_outside_is_noticed(source: str) -> None:
    assert list(wired_from_outside("live/x.py", ast.parse(source), wires([ast.parse(DRIVER)])))


@pytest.mark.parametrize("source", ["self.board = board", "driver.size = 1", "driver.limits = Limits(1)"])
def test_what_an_object_sets_itself_and_numbers_and_settings_are_no_wires_set_from_outside(source: str) -> None:
    assert not list(wired_from_outside("live/x.py", ast.parse(source), wires([ast.parse(DRIVER)])))


@pytest.mark.parametrize("source", ["self.told = lambda n: None", "self.told: Callable[[int], None] = lambda n: None"])
def test_a_callback_that_does_nothing_is_noticed(source: str) -> None:
    assert list(does_nothing_by_default("live/x.py", ast.parse(source)))


@pytest.mark.parametrize("given", ["told: Callable[[int], None] | None = None", "*, board: Board = Board()"])
def test_a_wire_that_may_be_left_out_is_noticed(given: str) -> None:
    source = ast.parse(f"class Office:\n    def __init__(self, size: int = 1, {given}) -> None: ...")
    assert list(optional_wires("live/x.py", source, wires([ast.parse(DRIVER)])))


def test_a_node_whose_driver_lacks_somebody_to_perform_its_effects_cannot_be_built() -> None:
    with pytest.raises(TypeError, match="retrieval"):
        Performers(None, None, None)  # type: ignore[call-arg, arg-type]
    with pytest.raises(TypeError, match="performers"):
        Driver(1, None, None, None, {}, None, None, None, None, None, None)  # type: ignore[call-arg, arg-type]
