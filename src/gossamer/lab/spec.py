"""Experiment files: how they are found and read, and what every one of them says whatever it is about."""

import math
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict

from gossamer.core.errors import Misuse, SpecError
from gossamer.core.reading import convert

RUNS_MAX = 10_000_000
GRID = ("sweep", "cases")
"Tables that say which points there are, not what holds at one; `lab.grid` reads them."


class Head(Struct, frozen=True, forbid_unknown_fields=True):
    """[experiment]"""

    name: str
    protocol: str
    engine: Literal["kernel", "machine", "world", "blocks"] = "kernel"
    """Arrays; machines in synchronous rounds on fixed tables; machines that find each other, under `[world]`; or blocks
    of processes, over as many tasks as there are."""
    runs: int = 100
    seed: int = 1
    about: str = ""


class FigureSpec(Struct, frozen=True, forbid_unknown_fields=True):
    """[[figures]]: a plot of the summary"""

    name: str
    title: str
    metric: str
    x: str = ""
    groups: tuple[str, ...] = ()
    by: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    caption: str = ""
    log_x: bool = False
    log_y: bool = False


def head_of(raw: Mapping[str, Any]) -> Head:
    """[experiment], which says by its protocol what kind of study this is."""
    if "experiment" not in raw:
        raise Misuse("the table [experiment] is missing")
    head = convert(raw["experiment"], Head, "experiment")
    if not 1 <= head.runs <= RUNS_MAX:
        raise Misuse(f"experiment.runs must be between 1 and {RUNS_MAX:,}, not {head.runs}")
    if not 0 <= head.seed < 2**63:
        raise Misuse(f"experiment.seed must be between 0 and 2^63 - 1, not {head.seed}")
    return head


def figures_of(raw: Mapping[str, Any]) -> tuple[FigureSpec, ...]:
    figures = raw.get("figures", [])
    if not isinstance(figures, list):
        raise Misuse("figures must be a list of tables: write [[figures]]")
    return tuple(convert(each, FigureSpec, "figures") for each in figures)


def only_tables(raw: Mapping[str, Any], known: Iterable[str]) -> None:
    """A table nobody knows is an error, never ignored."""
    names = (*known, *GRID)
    for name in raw:
        if name not in names:
            raise Misuse(f"there is no table [{name}]; a file has {', '.join(names)}")


def check_finite(name: str, each: Struct) -> None:
    """TOML has words for what is no number and for what has no end."""
    for key, value in asdict(each).items():
        if isinstance(value, float) and not math.isfinite(value):
            raise Misuse(f"{name}.{key} must be a number, not {value}")


@contextmanager
def placed(tables: Mapping[str, type[Struct]]) -> Iterator[None]:
    """A complaint about a field gets the table it stands in before it."""
    try:
        yield
    except Misuse as wrong:
        word = str(wrong).partition(" ")[0]
        where = next((f"{name}." for name, kind in tables.items() if word in kind.__struct_fields__), "")
        raise Misuse(f"{where}{wrong}") from None


def probability(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise Misuse(f"{name} must be between 0 and 1, not {value}")


def shipped() -> list[str]:
    """Names of the experiments that come with the package, like camcast/fig15."""
    root = files("gossamer") / "experiments"
    found = [
        f"{folder.name}/{each.name.removesuffix('.toml')}"
        for folder in root.iterdir()
        if folder.is_dir()
        for each in folder.iterdir()
        if each.name.endswith(".toml")
    ]
    return sorted(found)


Locate: TypeAlias = Callable[[str], str]
"From the name of a table, as a file says it, to where it is."


def located(raw: dict[str, Any], locate: Locate) -> dict[str, Any]:
    """The same, with the tables it names looked for beside the file."""
    tables = [raw.get("workload"), *(raw["cases"].values() if isinstance(raw.get("cases"), dict) else ())]
    for table, field in ((tables[0], "file"), *((each, "workload.file") for each in tables[1:])):
        if isinstance(table, dict) and isinstance(table.get(field), str):
            table[field] = locate(table[field])
    if isinstance(swept := raw.get("sweep"), dict) and isinstance(files := swept.get("workload.file"), list):
        swept["workload.file"] = [locate(each) if isinstance(each, str) else each for each in files]
    return raw


def _instead_of(name: str) -> str:
    """What to write for a name that is no file: all that are shipped would fill the screen."""
    known = shipped()
    if beside := [each for each in known if each.startswith(f"{name.split('/')[0]}/")]:
        return f"give a path, or one of {', '.join(beside)}"
    if near := get_close_matches(name, known, 1, 0.8):
        return f"did you mean {near[0]}?"
    return "give a path, or a name that `gossamer experiments` lists"


def read(name: str, locate: Locate | None = None) -> tuple[dict[str, Any], str]:
    """A file's raw TOML and what to call it: a path, or the name of a shipped experiment."""
    path = Path(name)
    if not path.suffix and (files("gossamer") / "experiments" / f"{name}.toml").is_file():
        text = (files("gossamer") / "experiments" / f"{name}.toml").read_bytes()
    else:
        try:
            text = path.read_bytes()
        except OSError as wrong:
            raise SpecError(f"cannot read {name} ({wrong.strerror or wrong}): {_instead_of(name)}") from None
    return parse(text, name, locate or (lambda table: str(path.parent.absolute() / table))), name


def parse(text: bytes, name: str, locate: Locate) -> dict[str, Any]:
    """What a file says, wherever it was found."""
    try:
        return located(tomllib.loads(text.decode()), locate)
    except UnicodeDecodeError:
        raise SpecError(f"{name} is not text: an experiment file is TOML") from None
    except tomllib.TOMLDecodeError as wrong:
        raise SpecError(f"{name} is not TOML: {wrong}") from None
