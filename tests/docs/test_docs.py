"""The pages keep their word: examples run, commands parse, names exist, tables match the code, the site builds.

A comment above a block says what it is: `file: NAME` (part of the page's example folder), `quote: PATH` (verbatim from
the source), `no-run: WHY`, `rounds:` and `summary:` (numbers a run must give again), `errors` (a table of sentences).
"""

import ast
import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple, get_args

import click
import pytest
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from gossamer.cli import main
from gossamer.core import draws
from gossamer.core.errors import GossamerError
from gossamer.core.machine import Effect, Given
from gossamer.lab import spec
from gossamer.lab.book import Line
from gossamer.lab.claims import Claim
from gossamer.lab.grid import points, put
from gossamer.lab.rows import Measure, Outcome
from gossamer.lab.studies.communities import tables as communities
from gossamer.lab.studies.communities.story import tell
from gossamer.lab.studies.comparison import metrics as of_comparisons
from gossamer.lab.studies.comparison import tables as comparisons
from gossamer.lab.studies.epidemic import tables as recovery
from gossamer.lab.studies.hierarchy import metrics as of_hierarchies
from gossamer.lab.studies.hierarchy import tables as hierarchies
from gossamer.lab.studies.overlay import metrics as of_overlays
from gossamer.lab.studies.overlay import tables as overlays
from gossamer.lab.trial import run_trials
from gossamer.protocols import CATALOGUE, Protocol
from gossamer.sim import compared, conditions, hpmcast_conditions
from gossamer.sim.network import Latency

REPO = Path(__file__).parents[2]
SOURCE = REPO / "src" / "gossamer"
PAGES = {path.relative_to(REPO / "docs").as_posix(): path for path in sorted((REPO / "docs").rglob("*.md"))}
LANGUAGES = {"sh", "text", "toml", "python"}


class Block(NamedTuple):
    page: str
    line: int
    language: str
    marker: str
    text: str

    @property
    def where(self) -> str:
        return f"{self.page}:{self.line}"

    def told(self, word: str) -> str | None:
        """What the comment above says after this word."""
        said = re.fullmatch(rf"{word}(?:: *(.*))?", self.marker)
        return None if said is None else said[1] or ""


def blocks_of(page: str) -> Iterator[Block]:
    lines = PAGES[page].read_text().splitlines()
    at = 0
    while at < len(lines):
        if lines[at].startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i] == "```")
            above = re.fullmatch(r"<!-- (.*) -->", lines[at - 1])
            text = "".join(f"{line}\n" for line in lines[at + 1 : end])
            yield Block(page, at + 1, lines[at][3:], above[1] if above else "", text)
            at = end
        at += 1


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PYTHON = [block for block in BLOCKS if block.language == "python"]
FILES = {(block.page, name): block.text for block in BLOCKS if (name := block.told("file"))}


def prose(page: str) -> str:
    """A page without its blocks."""
    return re.sub(r"^```.*?^```$", "", PAGES[page].read_text(), flags=re.MULTILINE | re.DOTALL)


def codes(text: str) -> list[str]:
    """Everything between backticks."""
    return [double.strip() or single for double, single in re.findall(r"``(.+?)``|`([^`\n]+)`", text)]


class Table(NamedTuple):
    page: str
    heading: str
    columns: list[str]
    rows: list[list[str]]


def tables_of(page: str) -> Iterator[Table]:
    heading, lines = "", prose(page).splitlines()
    for at, line in enumerate(lines):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if re.fullmatch(r"\|(-+\|)+", line):
            rows = []
            for row in lines[at + 1 :]:
                if not row.startswith("|"):
                    break
                rows.append(cells(row))
            yield Table(page, heading, cells(lines[at - 1]), rows)


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip()[1:-1].split("|")]


TABLES = [table for page in PAGES for table in tables_of(page)]


def by_where(block: Block) -> str:
    return block.where


# Blocks


def test_every_block_is_in_a_language_that_is_known() -> None:
    assert [block.where for block in BLOCKS if block.language not in LANGUAGES] == []


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "toml"], ids=by_where)
def test_every_experiment_is_one(block: Block) -> None:
    raw = tomllib.loads(block.text)
    if "experiment" in raw and (block.page, f"{raw['experiment']['protocol']}/__init__.py") not in FILES:
        assert points(raw, block.where)


@pytest.mark.parametrize("block", [b for b in PYTHON if b.told("quote")], ids=by_where)
def test_every_quotation_is_verbatim(block: Block) -> None:
    assert block.text in (SOURCE / str(block.told("quote"))).read_text()


@pytest.mark.parametrize("page", sorted({block.page for block in PYTHON}))
def test_every_example_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for (where, name), text in FILES.items():
        if where == page and name.endswith(".toml"):
            Path(name).write_text(text)
    names: dict[str, Any] = {"__name__": "page"}
    for block in (block for block in PYTHON if block.page == page):
        code = compile("\n" * block.line + block.text, page, "exec")
        if not block.marker:
            exec(code, names)


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.told("rounds")], ids=by_where)
def test_a_story_told_is_what_the_run_does(block: Block) -> None:
    name, *settings = str(block.told("rounds")).split()
    raw, source = spec.read(name)
    for field, _, value in (each.partition("=") for each in settings):
        raw["sweep"].pop(field)
        put(raw, field, tomllib.loads(f"value = {value}")["value"], source)
    story = tell(points(raw, source)[0], 0, source)
    head, *rows = [line.split() for line in block.text.splitlines()]
    assert head == ["round", *story.groups]
    shown = [[str(number), *(str(count or "·") for count in heard)] for number, heard in enumerate(story.rounds)]
    assert rows == shown


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.told("summary")], ids=by_where)
def test_a_summary_shown_is_what_the_runs_give(block: Block) -> None:
    file = str(block.told("summary"))
    head, row = block.text.splitlines()
    assert head == ",".join(Line.__struct_fields__)
    point, group, metric, mean = re.fullmatch(r'"(.*)",([^,]*),([^,]*),([^,]*),.*', row).groups()  # type: ignore[union-attr]
    assert metric == "reception"
    (made,) = (
        each
        for each in points(tomllib.loads(FILES[block.page, file]), file)
        if f'"{each.name}"' == f'"{point.replace(chr(34) * 2, chr(34))}"'
    )
    ran = [each for each in run_trials(made, range(made.spec.experiment.runs), file) if each.group == group]
    assert float(mean) == pytest.approx(sum(each.reached / each.live for each in ran) / len(ran))


def test_the_example_package_is_found_and_its_machine_and_kernel_agree(tmp_path: Path) -> None:
    page = "your-own-protocol.md"
    for (where, name), text in FILES.items():
        if where == page:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
    (check,) = (block.text for block in PYTHON if block.page == page and block.marker == "no-run: needs the package")
    (tmp_path / "check.py").write_text(check)
    project = tomllib.loads(FILES[page, "pyproject.toml"])["project"]
    info = tmp_path / f"{project['name']}-{project['version']}.dist-info"  # as pip leaves it
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    entries = project["entry-points"]["gossamer.protocols"].items()
    (info / "entry_points.txt").write_text("\n".join(["[gossamer.protocols]", *(f"{k} = {v}" for k, v in entries)]))
    ran = subprocess.run([sys.executable, "check.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.stdout == "machine and kernel agree\n", ran.stderr


# Commands


def commands() -> Iterator[tuple[str, str]]:
    """Every command a page shows, in a block or between backticks; what has a gap is no command."""
    for block in BLOCKS:
        if block.language == "sh":
            yield from ((block.where, line) for line in block.text.splitlines() if line.strip())
    for page in PAGES:
        shown = (code for code in codes(prose(page)) if re.match(r"(gossamer|make) [a-z]", code))
        yield from ((page, code) for code in shown if not re.search("[…<]", code))


COMMANDS = [(where, line.removeprefix(".venv/bin/")) for where, line in commands()]


@pytest.mark.parametrize(("where", "line"), [each for each in COMMANDS if each[1].startswith("gossamer ")])
def test_every_command_parses(where: str, line: str) -> None:
    _, *args = shlex.split(line, comments=True)
    if args[0].startswith("-"):
        assert args == ["--help"]
        return
    command = main.get_command(click.Context(main), args[0])  # type: ignore[attr-defined]
    assert command is not None, f"{where}: there is no {args[0]}"
    if not args[1:]:
        return  # a command spoken of, not typed
    context = command.make_context(args[0], args[1:])
    experiment = context.params.get("spec")
    assert experiment is None or experiment.endswith(".toml") or experiment in spec.shipped(), where
    paper = context.params.get("name")
    assert paper in (None, "all", *importlib.import_module("gossamer.lab.papers").NAMES), where


def test_every_target_of_make_is_there() -> None:
    makefile = (REPO / "Makefile").read_text()
    for where, line in COMMANDS:
        if line.startswith("make "):
            assert re.search(rf"^{shlex.split(line)[1]}:", makefile, re.MULTILINE), f"{where}: {line}"


# Names

ROOMS = "core|parts|protocols|wire|live|sim|fast|lab|pipeline|web|cli"


def resolve(dotted: str) -> Any:
    """What a dotted name below `gossamer.` stands for."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(["gossamer", *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        home = found.__name__
        for part in parts[cut:]:
            found = getattr(found, part)
            if part == parts[cut] and isinstance(found, type | FunctionType):
                assert found.__module__ == home, f"{dotted} is at home in {found.__module__}"
        return found
    raise AssertionError(f"there is no gossamer.{dotted}")


def our_names(text: str) -> list[str]:
    named = [code.removeprefix("gossamer.") for code in codes(text)]
    named = [re.sub(r"^(theory|comparisons)(?=\.)", r"protocols.camcast.\1", each) for each in named]
    return [each for each in named if re.fullmatch(rf"({ROOMS})(\.\w+)+", each) and not each.endswith(".py")]


def named_tests(text: str) -> list[str]:
    return [code for code in codes(text) if code.startswith("tests/")]


@cache
def functions_in(file: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse((REPO / file).read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES)
def test_every_function_and_every_test_named_exists(page: str) -> None:
    for name in our_names(prose(page)):
        resolve(name)
    for named in named_tests(prose(page)):
        file, _, function = named.partition("::")
        assert (REPO / file).is_file(), named
        assert not function or function in functions_in(file), named


@pytest.mark.parametrize(
    "table", [t for t in TABLES if "Our function" in t.columns], ids=lambda t: f"{t.page} {t.heading}"
)
def test_every_line_of_a_paper_has_its_function_and_its_test(table: Table) -> None:
    for row in table.rows:
        said = dict(zip(table.columns, row, strict=True))
        assert our_names(said["Our function"]) or said["Our function"] == "all of these together", row
        assert named_tests(said["Test"]), row


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_page(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]*)[^)]*\)", prose(page)):
        assert not re.match(r"\w+:", target), f"{page} leads outside: {target}"
        assert (PAGES[page].parent / target).exists(), f"{page}: {target}"


@pytest.mark.parametrize("page", PAGES)
def test_no_page_points_at_one_machine_or_is_left_for_later(page: str) -> None:
    text = PAGES[page].read_text()
    assert not re.search(r"(?<![\w.<>}/])/(?:work|root|home|tmp|mnt|Users)\b", text)
    assert not re.search(r"pypi\.|pythonhosted|index-url|\bTODO\b|\bFIXME\b", text)


# Tables that repeat the code


def rows_about(page: str, heading: str | None = None, first: str = "Field") -> dict[str, dict[str, str]]:
    """Rows by the names in their first cell, below one heading or on the whole page."""
    found: dict[str, dict[str, str]] = {}
    for table in TABLES:
        if table.page == page and table.columns[0] == first and heading in (None, table.heading):
            for row in table.rows:
                for name in codes(row[0]):
                    found[name] = dict(zip(table.columns, row, strict=True))
    return found


def value_told(cell: str) -> Any:
    """The default a table states; ... where it says so in words."""
    text = cell.strip("`")
    if text == "none":
        return None
    if seconds := re.fullmatch(r"([\d.]+) s", text):
        return round(float(seconds[1]) * 1_000_000)
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return ...


@pytest.mark.parametrize("protocol", CATALOGUE.values(), ids=lambda protocol: protocol.name)
def test_every_parameter_is_on_its_protocols_page(protocol: Protocol) -> None:
    page = f"protocols/{protocol.name}.md"
    told = rows_about(page, "Parameters")
    assert sorted(told) == sorted(protocol.params.__struct_fields__)
    defaults = protocol.params()
    for name, row in told.items():
        assert value_told(row["Default"]) == getattr(defaults, name), name
    presets = rows_about(page, first="Preset")
    assert sorted(presets) == sorted(protocol.presets)


STRUCTS: list[tuple[str, list[type[Struct]]]] = [
    ("`[experiment]`", [spec.Head]),
    ("`[topics]`", [communities.TopicSpec]),
    ("`[publish]`", [communities.PublishSpec]),
    ("`[network]`", [communities.NetworkSpec]),
    ("`[faults]`", [communities.FaultsSpec]),
    ("`[blocks]`", [communities.BlocksSpec]),
    ("`[[figures]]`", [spec.FigureSpec]),
    ("`[network]` of dispatchers", [recovery.NetworkSpec]),
    ("`[workload]`", [recovery.WorkloadSpec]),
    ("`[recovery]`", [recovery.RecoverySpec]),
    ("`[time]`", [recovery.TimeSpec]),
    ("`[workload]` of an overlay", [overlays.WorkloadSpec]),
    ("`[params]` of an overlay", [overlays.ParamsSpec]),
    ("`[churn]`", [overlays.ChurnSpec]),
    ("`[measure]`", [overlays.MeasureSpec]),
    ("`[hierarchy]`", [hierarchies.HierarchySpec]),
    ("`[workload]` of a hierarchy", [hierarchies.WorkloadSpec]),
    ("`[network]` of a hierarchy", [hierarchies.NetworkSpec]),
    ("`[world]` of a hierarchy", [hpmcast_conditions.LivingConditions]),
    ("`[design]`", [compared.ComparedDesign]),
    ("`[workload]` of a comparison", [compared.Workload]),
    ("`[network]` of a comparison", [compared.NetworkConditions]),
]
IN_WORLD = [conditions.Conditions, Latency, conditions.Bursts, conditions.Churn, conditions.Crash, conditions.Partition]


@pytest.mark.parametrize(("heading", "structs"), STRUCTS, ids=[heading for heading, _ in STRUCTS])
def test_every_field_of_a_table_of_the_file_is_explained(heading: str, structs: list[type[Struct]]) -> None:
    told = rows_about("experiment-file.md", heading)
    for struct in structs:
        assert sorted(told) == sorted(struct.__struct_fields__)
        for field in fields(struct):
            states_the_default(field, told[field.name])


def test_every_field_of_a_world_is_explained() -> None:
    explained = [t for t in TABLES if t.page == "experiment-file.md" and t.heading == "`[world]`"]
    assert len(explained) == len(IN_WORLD)
    for table, struct in zip(explained, IN_WORLD, strict=True):
        told = {row[0].strip("`"): dict(zip(table.columns, row, strict=True)) for row in table.rows}
        assert list(told) == list(struct.__struct_fields__)
        for field in fields(struct):
            states_the_default(field, told[field.name])


def states_the_default(field: Any, row: dict[str, str]) -> None:
    stated = value_told(row["Default"]) if row["Default"].count("`") == 2 and row["Default"].startswith("`") else ...
    required = field.default is NODEFAULT and field.default_factory is NODEFAULT
    assert (row["Default"] == "required") == required, field.name
    if stated is not ...:
        default = field.default if field.default is not NODEFAULT else field.default_factory()
        assert stated == (list(default) if isinstance(default, tuple) else default), field.name


def test_every_table_of_the_file_has_a_heading() -> None:
    headings = re.findall(r"^### `\[+(\w+)\]+`$", PAGES["experiment-file.md"].read_text(), re.MULTILINE)
    studies = (
        communities.Communities,
        recovery.Epidemic,
        overlays.Overlays,
        hierarchies.Hierarchies,
        comparisons.Comparisons,
    )
    assert sorted(headings) == sorted({*spec.GRID, *(field for study in studies for field in study.__struct_fields__)})


def test_every_column_of_the_outcomes_and_of_the_summary_is_explained() -> None:
    columns = rows_about("experiment-file.md", "`outcomes/`", first="Column")
    assert list(columns) == list(Outcome.__struct_fields__)
    columns = rows_about("experiment-file.md", "`outcomes/` of recovery", first="Column")
    assert list(columns) == list(Measure.__struct_fields__)
    assert list(rows_about("experiment-file.md", "`summary.csv`", first="Column")) == list(Line.__struct_fields__)
    assert list(rows_about("reproduce.md", "`claims.json`")) == list(Claim.__struct_fields__)


def test_every_metric_is_defined() -> None:
    measured = ast.parse((SOURCE / "pipeline" / "summary.py").read_text())
    named: dict[str, set[str]] = {}
    for node in ast.walk(measured):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("measures_"):
            keys = [key for each in ast.walk(node) if isinstance(each, ast.Dict) for key in each.keys]
            listed = [
                e
                for each in ast.walk(node)
                if isinstance(each, ast.DictComp)
                for e in ast.walk(each.generators[0].iter)
            ]
            constants = [each.value for each in [*keys, *listed] if isinstance(each, ast.Constant)]
            named[node.name] = {str(each) for each in constants}
    by_community, overall, found, linked, reached, lived, taken = (
        t for t in TABLES if t.page == "experiment-file.md" and t.columns[0] == "Metric"
    )
    assert {row[0].strip("`") for row in by_community.rows} == named["measures_by_community"]
    assert {row[0].strip("`") for row in overall.rows} == named["measures_overall"]
    assert [row[0].strip("`") for row in found.rows] == [*recovery.METRICS]
    *single, counted = [codes(row[0]) for row in linked.rows]
    assert [name for (name,) in single] == [name for name in of_overlays.METRICS if name not in of_overlays.BY_DEGREE]
    assert counted == [of_overlays.BY_DEGREE[0], of_overlays.BY_DEGREE[-1]]
    *single, sent, load = [codes(row[0]) for row in reached.rows]
    by_level = [f"{what}_level_{level}" for what in ("sent", "load") for level in (1, of_hierarchies.LEVELS_SHOWN)]
    assert [*sent, *load] == by_level
    of_rounds = [name for name in of_hierarchies.METRICS if name not in of_hierarchies.OF_WORLDS]
    assert [name for (name,) in single] == [name for name in of_rounds if "_level_" not in name]
    of_worlds = [codes(row[0]) for row in lived.rows]
    assert [first for (first, *_) in of_worlds] == [
        name for name in of_hierarchies.OF_WORLDS if not re.search(r"_[2-8]$", name)
    ]
    assert all(more == [f"{first[:-1]}8"] for (first, *more) in of_worlds if first.endswith("_1"))
    of_designs = [codes(row[0]) for row in taken.rows]
    assert [first for (first, *_) in of_designs] == [
        name for name in of_comparisons.METRICS if "_level_" not in name or name.endswith("_level_1")
    ]
    assert [more for (_, *more) in of_designs if more] == [["load_level_4"], ["held_level_4"]]


def test_every_error_shown_is_what_the_file_would_be_told() -> None:
    page = "experiment-file.md"
    blocks = [tomllib.loads(b.text) for b in BLOCKS if b.page == page and b.language == "toml"]
    examples = [
        next(raw for raw in blocks if "topics" in raw),
        *(
            next(raw for raw in blocks if raw.get("experiment", {}).get("protocol") == protocol)
            for protocol in ("recovery", "spidercast", "hpmcast")
        ),
    ]
    tables = [t for t in TABLES if t.page == page and t.columns == ["You write", "You read"]]
    for whole, table in zip(examples, tables, strict=True):
        for wrong, sentence in table.rows:
            field, _, value = codes(wrong)[0].partition(" = ")
            raw = deepcopy(whole)
            raw["sweep"].pop(field, None)
            put(raw, field, tomllib.loads(f"value = {value}")["value"], page)
            with pytest.raises(GossamerError) as told:
                points(raw, page)
            assert str(told.value).endswith(f": {codes(sentence)[0]}"), wrong


def test_the_formulas_of_draws_have_the_constants_of_the_code() -> None:
    text = next(b.text for b in BLOCKS if b.page == "simulator.md" and "MIX_A" in b.text)
    stated = {name: int(value, 16) for name, value in re.findall(r"(\w+) += 0x([0-9A-F]+)", text)}
    assert stated == {name: getattr(draws, name) for name in ("GOLD", "SALT", "MIX_A", "MIX_B")}


@pytest.mark.parametrize(("union", "column"), [(Given, "Given"), (Effect, "Effect")])
def test_every_given_and_every_effect_is_listed(union: Any, column: str) -> None:
    (table,) = (t for t in TABLES if t.page == "simulator.md" and t.columns[0] == column)
    named = {code.partition("(")[0] for row in table.rows for code in codes(row[0])}
    assert named == {each.__name__ for each in get_args(union)}


def test_every_claim_ruled_on_is_one_that_is_made() -> None:
    made = "".join(path.read_text() for path in (SOURCE / "lab" / "papers").glob("*.py"))
    tables = [t for t in TABLES if t.page == "reproduce.md" and t.heading == "The rules"]
    named = [code for table in tables for row in table.rows for code in codes(row[0]) if code != "id"]
    for name in named:
        assert f'"{name.removesuffix("…")}' in made, name
    for made_by in [*(SOURCE / "lab" / "papers").glob("epidemic*.py"), *(SOURCE / "lab" / "papers").glob("spider*.py")]:
        assert set(re.findall(r'^        id="([\w-]+)"', made_by.read_text(), re.MULTILINE)) <= set(named), made_by.name


# The site


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    ran = subprocess.run(build, cwd=REPO, capture_output=True, text=True, timeout=120)
    warnings = [line for line in ran.stderr.splitlines() if not line.startswith("INFO")]  # --quiet would hide them
    assert (ran.returncode, ran.stdout, warnings) == (0, "", [])
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(r"<(?:link|script|img)[^>]*?(?:href|src)=\"(\w+:[^\"]*)\"", page.read_text())
        assert loaded == [], page.name
