"""The house rules of DESIGN.md, read off the source: who may import whom, and what no file may contain."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import gossamer.core.topics

PACKAGE = Path(gossamer.core.topics.__file__).parents[1]

# Four floors: think → run → study → show. Each room may import itself and the rooms named here.
THINK = ("core", "parts", "protocols")
ROOMS: dict[str, tuple[str, ...]] = {
    "core": (),
    "parts": ("core",),
    "protocols": ("core", "parts"),
    "wire": THINK,
    "live": (*THINK, "wire"),
    "sim": (*THINK, "wire"),
    "fast": THINK,
    "lab": (*THINK, "wire", "sim", "fast", "experiments"),
    "pipeline": (*THINK, "wire", "sim", "fast", "experiments", "lab"),
    "planner": (*THINK, "wire", "sim", "fast", "experiments", "lab", "pipeline"),
    "web": (*THINK, "wire", "sim", "fast", "experiments", "lab", "pipeline", "planner", "live"),
    "cli": (*THINK, "wire", "sim", "fast", "experiments", "lab", "pipeline", "planner", "live", "web", ""),
    "experiments": (),
    "": (*THINK, "wire", "live"),  # gossamer/__init__.py: the public API
}
FURTHER = {"pipeline/source.py": ("live",)}  # files that may import more than their room
SEVERAL_PROTOCOLS = ("protocols/__init__.py", "protocols/assemble.py")  # the others know only their own

# THINK uses the standard library and msgspec, and nothing of the first that acts, waits, or differs from run to run.
NOT_IN_THINK = ("asyncio socket ssl selectors time datetime random secrets uuid os pathlib io tempfile shutil subprocess "
                "threading multiprocessing concurrent signal logging sqlite3").split()  # fmt: skip
PACKAGES_IN_THINK = {"": ("msgspec",), "core/filters.py": ("lark",)}

# Heavy packages, and the rooms, file names or files that may import them.
NUMPY_IN_THINK = ("kernel.py", "theory.py", "comparisons.py", "parts/infection.py")
HEAVY = {
    "numpy": (*NUMPY_IN_THINK, "fast", "sim", "lab", "pipeline", "planner"),
    "numba": ("fast",),
    "pyspark": ("pipeline",),
    "matplotlib": ("lab/figures.py",),
}

# Words that do not belong in the source.
MACHINE_PATHS = r"(?<![\w.>}])/(?:work|root|home|tmp|mnt|Users)/\w"
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
THINKING = [file for file in FILES if file.split("/")[0] in THINK]


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


def imported(file: str, source: ast.AST) -> Iterator[tuple[str, int]]:
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


def imports(file: str) -> list[tuple[str, int]]:
    return list(imported(file, tree(file)))


def ours(file: str) -> Iterator[tuple[str, int]]:
    """Our own files that a file imports."""
    for module, line in imports(file):
        if module.split(".")[0] == "gossamer" and (there := file_of(module)):
            yield there, line


def complaints_about_rooms(file: str) -> Iterator[str]:
    here = room(file)
    for there, line in ours(file):
        if room(there) not in (here, *ROOMS.get(here, ()), *FURTHER.get(file, ())):
            yield f"{file}:{line} imports {there}: {here or 'the package'} may not see {room(there) or 'the package'}"


def complaints_about_protocols(file: str) -> Iterator[str]:
    for there, line in ours(file):
        stranger = protocol(there) != protocol(file) or there in SEVERAL_PROTOCOLS
        if room(file) == room(there) == "protocols" and file not in SEVERAL_PROTOCOLS and stranger:
            yield f"{file}:{line} imports {there}: what two protocols share sinks into parts/"


def complaints_about_thinking(file: str) -> Iterator[str]:
    numpy = ("numpy",) if allowed(file, NUMPY_IN_THINK) else ()
    known = ("gossamer", *PACKAGES_IN_THINK[""], *PACKAGES_IN_THINK.get(file, ()), *numpy)
    for module, line in imports(file):
        top = module.split(".")[0]
        if top in NOT_IN_THINK or (top not in known and top not in sys.stdlib_module_names):
            yield f"{file}:{line} imports {module}: THINK may not"


def complaints_about_weight(file: str) -> Iterator[str]:
    for module, line in imports(file):
        where = HEAVY.get(module.split(".")[0])
        if where is not None and not allowed(file, where):
            yield f"{file}:{line} imports {module}, which is for {', '.join(where)}"


def allowed(file: str, places: tuple[str, ...]) -> bool:
    return any(place in (file, room(file), file.rpartition("/")[2]) for place in places)


def nothing(complaints: Iterator[str]) -> None:
    found = list(complaints)
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize("file", FILES)
def test_a_room_imports_only_from_the_floors_below(file: str) -> None:
    assert room(file) in ROOMS, f"{file} is in a room DESIGN.md does not name"
    nothing(complaints_about_rooms(file))


@pytest.mark.parametrize("file", [file for file in FILES if room(file) == "protocols"])
def test_protocols_do_not_know_each_other(file: str) -> None:
    nothing(complaints_about_protocols(file))


@pytest.mark.parametrize("file", THINKING)
def test_think_uses_the_standard_library_and_msgspec_and_neither_clock_nor_socket_nor_chance(file: str) -> None:
    nothing(complaints_about_thinking(file))


@pytest.mark.parametrize("file", FILES)
def test_heavy_packages_stay_in_their_rooms(file: str) -> None:
    nothing(complaints_about_weight(file))


@pytest.mark.parametrize("file", [f for f in FILES if room(f) in (*THINK, "wire", "live") and f not in NUMPY_IN_THINK])
def test_a_light_node_does_not_pull_in_numpy_through_a_neighbour(file: str) -> None:
    if not allowed(file, NUMPY_IN_THINK):
        nothing(f"{file}:{line} imports {there}" for there, line in ours(file) if allowed(there, NUMPY_IN_THINK))


@pytest.mark.parametrize(
    ("file", "line", "judge"),
    [
        ("core/stack.py", "from gossamer.parts.seen import Seen", complaints_about_rooms),
        ("parts/seen.py", "def f():\n    import gossamer.protocols.camcast.rules", complaints_about_rooms),
        ("sim/world.py", "from gossamer.fast import engine", complaints_about_rooms),
        ("pipeline/session.py", "from gossamer.web.report import render", complaints_about_rooms),
        ("lab/figures.py", "from ..pipeline import session", complaints_about_rooms),
        ("protocols/camcast/layer.py", "from gossamer.protocols.search.layer import Search", complaints_about_protocols),
        ("protocols/camcast/layer.py", "from ..search import layer", complaints_about_protocols),
        ("protocols/camcast/layer.py", "from gossamer.protocols import CATALOGUE", complaints_about_protocols),
        ("core/stack.py", "def f():\n    from time import monotonic", complaints_about_thinking),
        ("core/stack.py", "import os.path", complaints_about_thinking),
        ("core/stack.py", "import numpy", complaints_about_thinking),
        ("protocols/camcast/layer.py", "import numpy as np", complaints_about_weight),
        ("lab/figures.py", "if False:\n    import pyspark.sql", complaints_about_weight),
        ("sim/world.py", "from numba import njit", complaints_about_weight),
    ],
)
def test_the_rules_notice_a_forbidden_import(
    file: str, line: str, judge: "object", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "tree", lambda _: ast.parse(line))
    assert list(judge(file))  # type: ignore[operator]


@pytest.mark.parametrize("file", TEXTS)
@pytest.mark.parametrize("unwanted", [MACHINE_PATHS, REGISTRIES, UNFINISHED])
def test_nothing_in_the_source_points_at_one_machine_or_is_left_for_later(file: str, unwanted: str) -> None:
    lines = enumerate(TEXTS[file].read_text().splitlines(), 1)
    nothing(f"{file}:{number} {line.strip()[:80]}" for number, line in lines if re.search(unwanted, line))


def test_every_folder_with_modules_is_a_package() -> None:
    folders = dict.fromkeys(path.parent for path in FILES.values())
    nothing(f"{folder} has no __init__.py" for folder in folders if not (folder / "__init__.py").exists())


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_named_after_what_it_holds_says_so_and_fits_a_sitting(file: str) -> None:
    names = file.removesuffix(".py").split("/")
    assert not any(name in EMPTY_NAMES for name in names), f"{file}: name the thing it holds"
    text = FILES[file].read_text()
    assert len(text.splitlines()) <= LINES_MAX, f"{file} holds two jobs: split it"
    assert not text.strip() or ast.get_docstring(tree(file)), f"{file} must open with the idea it holds"


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


@pytest.mark.parametrize("file", FILES)
def test_every_public_function_says_its_types(file: str) -> None:
    functions = public_functions(tree(file).body)
    nothing(f"{file}:{node.lineno} {name}: {bare}" for name, node in functions if (bare := untyped(node)))


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


@pytest.mark.parametrize("file", THINKING)
def test_nothing_in_think_depends_on_the_order_of_a_set_or_on_hash(file: str) -> None:
    nothing(f"{file}:{line}" for line in unordered(tree(file)))


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
