"""The house rules of DESIGN.md, read off the source: who may import whom, and what no file may contain."""

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

import gossamer.core.topics

PACKAGE = Path(gossamer.core.topics.__file__).parents[1]

# Four floors: think → run → study → show. Each room may import itself and the rooms named here.
# "" is gossamer/__init__.py: the public API, and the version that stands in every outcome.
THINK = ("core", "parts", "protocols")
RUN = (*THINK, "wire", "sim", "fast", "experiments", "")
ROOMS: dict[str, tuple[str, ...]] = {
    "core": (),
    "parts": ("core",),
    "protocols": ("core", "parts"),
    "wire": THINK,
    "live": (*THINK, "wire"),
    "sim": (*THINK, "wire"),
    "fast": THINK,
    "experiments": (),
    "": (*THINK, "wire", "live"),
    "lab": RUN,
    "pipeline": (*RUN, "lab"),
    "planner": (*RUN, "lab", "pipeline"),
    "web": (*RUN, "lab", "pipeline", "planner", "live"),
    "cli": (*RUN, "lab", "pipeline", "planner", "live", "web"),
}
FURTHER = {"pipeline/source.py": ("live",), "__main__.py": ("cli",)}  # files that may import more than their room
SEVERAL_PROTOCOLS = ("protocols/__init__.py", "protocols/assemble.py")  # others know their own

# THINK uses the standard library and msgspec, and nothing of the first that acts, waits, or differs from run to run.
NOT_IN_THINK = (
    *("asyncio", "socket", "ssl", "selectors", "threading", "multiprocessing", "concurrent", "subprocess", "signal"),
    *("time", "datetime", "random", "secrets", "uuid", "os", "io", "pathlib", "tempfile", "shutil", "logging"),
)
PACKAGES_IN_THINK = {"": ("msgspec",), "core/filters/grammar.py": ("lark",), "core/filters/meaning.py": ("lark",)}

# Heavy packages, and the rooms, file names or files that may import them.
STUDIED = tuple(
    f"protocols/{name}/{part}" for name in ("recovery", "spidercast", "hpmcast") for part in ("kernel", "experiment")
)
NUMPY_IN_THINK = (
    "kernel.py",
    "theory.py",
    "comparisons.py",
    "parts/infection.py",
    *STUDIED,
)
HEAVY = {
    "numpy": (*NUMPY_IN_THINK, "fast", "sim", "lab", "pipeline", "planner"),
    "numba": ("fast",),
    "pyspark": ("pipeline",),
    "matplotlib": ("lab/figures.py",),
}

# Words that do not belong in the source.
MACHINE_PATHS = r"(?<![\w.<>}/])/(?:work|root|home|tmp|mnt|Users)\b"
REGISTRIES = r"pypi\.|pythonhosted|artifactory|nexus|devpi|index-url|maven\.org|conda\.|docker\.io|ghcr\.io"
UNFINISHED = r"\b(?:TODO|FIXME|XXX|HACK)\b"
EMPTY_NAMES = ("util", "utils", "helper", "helpers", "manager", "managers", "base", "common", "misc")
LINES_MAX = 350


FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}
TEXTS = {
    path.relative_to(PACKAGE).as_posix(): path
    for path in sorted(PACKAGE.rglob("*"))
    if path.suffix in (".py", ".toml", ".html", ".css", ".js", ".md", ".json")
}
Rule: TypeAlias = Callable[[str, ast.Module], Iterable[str]]


@cache
def tree(file: str) -> ast.Module:
    return ast.parse(FILES[file].read_text(), file)


def room(file: str) -> str:
    return file.rpartition("/")[0].split("/")[0]


def protocol(file: str) -> str | None:
    """The protocol a file belongs to, if it belongs to one."""
    parts = file.split("/")
    return parts[1] if parts[0] == "protocols" and len(parts) > 2 else None


def file_of(module: str) -> str | None:
    """The file of one of our modules."""
    inner = "/".join(module.split(".")[1:])
    return next((file for file in (f"{inner}.py", f"{inner}/__init__.py".lstrip("/")) if file in FILES), None)


def imports(file: str, source: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module imported, wherever in the file, in full, and on which line."""
    package = ["gossamer", *file.split("/")[:-1]]
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield (inner if module.split(".")[0] == "gossamer" and file_of(inner) else module), node.lineno


def ours(file: str, source: ast.AST) -> Iterator[tuple[str, int]]:
    """Our own files that a file imports."""
    for module, line in imports(file, source):
        if module.split(".")[0] == "gossamer" and (there := file_of(module)):
            yield there, line


def may(file: str, places: tuple[str, ...]) -> bool:
    """Whether a file is one of these, has one of these names, or lies in one of these rooms or folders."""
    return any(place in (file, file.rpartition("/")[2], room(file), file.rpartition("/")[0]) for place in places)


# Each rule is given a file and its source, and complains.


def strange_rooms(file: str, source: ast.AST) -> Iterator[str]:
    here = room(file)
    for there, line in ours(file, source):
        if room(there) not in (here, *ROOMS.get(here, ()), *FURTHER.get(file, ())):
            yield f"{file}:{line} imports {there}: {here or 'the package'} may not see {room(there) or 'the package'}"


def strange_protocols(file: str, source: ast.AST) -> Iterator[str]:
    for there, line in ours(file, source):
        stranger = protocol(there) != protocol(file) or there in SEVERAL_PROTOCOLS
        composing = file in SEVERAL_PROTOCOLS or file.endswith("/node.py")  # where a node's layers get their roles
        if room(file) == room(there) == "protocols" and stranger and not composing:
            yield f"{file}:{line} imports {there}: what two protocols share sinks into parts/"


def strange_thoughts(file: str, source: ast.AST) -> Iterator[str]:
    numpy = ("numpy",) if may(file, NUMPY_IN_THINK) else ()
    known = ("gossamer", *PACKAGES_IN_THINK[""], *PACKAGES_IN_THINK.get(file, ()), *numpy)
    for module, line in imports(file, source):
        top = module.split(".")[0]
        if room(file) in THINK and (top in NOT_IN_THINK or top not in (*known, *sys.stdlib_module_names)):
            yield f"{file}:{line} imports {module}: THINK may not"


def strange_weight(file: str, source: ast.AST) -> Iterator[str]:
    for module, line in imports(file, source):
        where = HEAVY.get(module.split(".")[0])
        if where is not None and not may(file, where):
            yield f"{file}:{line} imports {module}, which is for {', '.join(where)}"


def weight_of_a_neighbour(file: str, source: ast.AST) -> Iterator[str]:
    light = room(file) in (*THINK, "wire", "live") and not may(file, NUMPY_IN_THINK)
    for there, line in ours(file, source):
        if light and may(there, NUMPY_IN_THINK):
            yield f"{file}:{line} imports {there} and NumPy with it: name the module, import it on first use"


def missing_types(file: str, source: ast.Module) -> Iterator[str]:
    for name, node in public_functions(source.body):
        if bare := untyped(node):
            yield f"{file}:{node.lineno} {name} does not say the type of {', '.join(bare)}"


def public_functions(body: list[ast.stmt], inside: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and (not node.name.startswith("_") or node.name == "__init__"):
            yield inside + node.name, node


def untyped(node: ast.FunctionDef) -> list[str]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    bare = [each.arg for each in given if each and each.annotation is None and each.arg not in ("self", "cls")]
    return bare if node.returns else [*bare, "return"]


def nothing(complaints: Iterable[str]) -> None:
    found = list(complaints)
    assert not found, "\n" + "\n".join(found)


def test_every_room_is_one_that_the_design_names() -> None:
    nothing(file for file in FILES if room(file) not in ROOMS)


@pytest.mark.parametrize(
    "rule",
    [strange_rooms, strange_protocols, strange_thoughts, strange_weight, weight_of_a_neighbour, missing_types],
    ids=[
        "a room imports only from the floors below",
        "protocols do not know each other",
        "THINK knows neither clock nor socket nor chance",
        "heavy packages stay in their rooms",
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
        ("core/stack.py", strange_thoughts, "import numpy"),
        ("protocols/camcast/layer.py", strange_weight, "import numpy as np"),
        ("lab/figures.py", strange_weight, "if False:\n    import pyspark.sql"),
        ("sim/world.py", strange_weight, "from numba import njit"),
        ("protocols/camcast/layer.py", weight_of_a_neighbour, "from gossamer.protocols.camcast import kernel"),
        ("core/stack.py", missing_types, "def f(x) -> int: ..."),
        ("core/stack.py", missing_types, "class C:\n    def f(self): ..."),
    ],
)
def test_a_rule_notices_who_breaks_it(file: str, rule: Rule, source: str) -> None:
    assert list(rule(file, ast.parse(source)))


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
