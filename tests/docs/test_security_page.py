"""The page on security has the numbers of the code: every limit, every reason for a refusal, commands that work.

A number of `live/` or `wire/` that is on no table and not among `NO_LIMITS` fails here: say what it bounds, or say here
why it bounds nothing.
"""

import ast
import importlib
import inspect
import math
import re
import shlex
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec import Meta

from docs.test_docs import BLOCKS, SOURCE, TABLES, codes
from gossamer.cli import main
from gossamer.live.config.config import Config
from gossamer.live.watching.metrics import REFUSALS

PAGE = "security.md"
LIMITS = [row for table in TABLES if table.page == PAGE and table.columns[0] == "Limit" for row in table.rows]
REASONS = [
    codes(row[0])[0] for table in TABLES if table.page == PAGE and table.columns[0] == "Reason" for row in table.rows
]
UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "s": 1, "ms": 0.001, "/s": 1, "days": 1}
CONFIG = Config(name="a")

BOUNDS = re.compile(r".*(_MAX|_PER_S|_BURST)")
"How numbers of a protocol are called that bound what others can do; it has many others."
NO_LIMITS = {
    "live.running.station.BEAT_S": "how often a node looks at its clock",
    "live.running.former_life.CONTACTS_MAX": "peers of a former life to begin with",
    "live.clients.log_reader.ITEMS": "how many events a client asks for in a page",
    "live.clients.reader.TAKEN_EVERY": "how often a client says how far it has read",
    "live.reading.durable.FEW": "when the next page is asked for",
    "live.reading.durable.MOVED": "how far a position moves before the disk is told",
    "live.reading.durables.LOOK_S": "how often subscriptions that nobody reads are looked at",
    "live.reading.durables.NOTED_US": "how often their idle time is written down",
    "live.reading.durables.WARNED": "when the log warns of them",
    "live.reading.feed.AGAIN_S": "when a disk that refused is asked again",
    "live.spool.held.PAGE_BYTES": "what a row is taken to cost",
    "live.spool.held.ROW_BYTES": "what a row is taken to cost",
    "live.links.control.NUMBERS": "what fits a number",
    "live.config.tables.EVENT_BYTES_MAX": "the default of limits.event_bytes_max, and wire.sealed's",
    "live.config.tables.FRAME_BYTES_MIN": "a bound of a setting",
    "live.config.place.LEVELS_MAX": "a bound of a setting",
    "live.config.place.RADIX_MAX": "a bound of a setting",
    "live.publishing.handover.UNWANTED_TRIES": "how often an event that nobody wants is offered",
    "live.keys.folder.SECRET_BYTES": "the length of a secret",
    "live.keys.signing.SHORT": "the length of a key's short form",
    "live.clients.costs.LISTED": "what a request is taken to cost",
    "live.clients.costs.LETTER": "what a request is taken to cost",
    "live.reading.log_reading.TOLD_AT_ONCE": "runs of a former life told in one step",
    "live.spool.courier.LINGER_S": "how long events to be kept wait for one another",
    "live.spool.jobs.ROW_BYTES": "what a row is taken to cost",
    "live.spool.packs.NEAR": "packs looked at for an event",
    "live.spool.rows.ROWS_MAX": "rows of one statement",
    "live.spool.schema.VERSION": "a version",
    "live.spool.schema.WAL_PAGES": "when the log is copied into the file",
    "live.publishing.counting.HEAD_ROOM": "which events are measured before their turn",
    "live.publishing.counting.LETTER_BYTES": "the same",
    "live.spool.lifetime.NOTED_EVERY_US": "how exactly the time lived through is kept",
    "live.spool.store.AHEAD": "places reserved ahead",
    "protocols.catchup.params.ASK_MAX": "a bound of a setting",
    "protocols.catchup.params.PER_S_MAX": "a bound of a setting",
    "protocols.catchup.params.TIME_US_MAX": "a bound of a setting",
    "protocols.dispatch.telling.STREAM_MAX": "what fits a number",
    "protocols.flood.params.REMEMBERED_MAX": "a bound of a setting",
    "protocols.flood.params.TIME_US_MAX": "a bound of a setting",
    "protocols.hpmcast.messages.AGE_MS_MAX": "what fits a number; upkeep.forget_us is what counts",
    "protocols.hpmcast.params.COUNT_MAX": "a bound of a setting",
    "protocols.hpmcast.params.DELEGATES_MAX": "a bound of a setting",
    "protocols.hpmcast.params.FANOUT_MAX": "a bound of a setting",
    "protocols.hpmcast.params.RELIABILITY_MAX": "a bound of a setting",
    "protocols.hpmcast.params.SHARE_MAX": "a bound of a setting",
    "protocols.hpmcast.params.STEP_US_MAX": "a bound of a setting",
    "protocols.hpmcast.experiment.setting.ATTEMPTS_MAX": "a bound of experiments",
    "protocols.hpmcast.experiment.setting.LEVELS_MAX": "a bound of experiments",
    "protocols.hpmcast.experiment.setting.PARTICIPANTS_MAX": "a bound of experiments",
    "protocols.hpmcast.experiment.setting.PLACES_MAX": "a bound of experiments",
    "protocols.hpmcast.upkeep.FANOUT_MAX": "a bound of a setting",
    "protocols.hpmcast.upkeep.SIZE_MAX": "a bound of a setting",
    "protocols.interests.entries.LIFE_MAX": "what fits a number",
    "protocols.interests.messages.AGE_MS_MAX": "what fits a number; interests.forget_us is what counts",
    "protocols.recovery.kernel.columns.ASKED_MAX": "a column of counts",
    "protocols.recovery.kernel.columns.LOST_MAX": "a column of settings",
    "protocols.recovery.kernel.columns.SERVED_MAX": "a column of counts",
    "protocols.recovery.kernel.gossiping.CARRIERS_MAX": "protocols.dispatch.layer.ROUTE_MAX, in experiments",
    "protocols.recovery.params.CACHE_MAX": "a bound of a setting",
    "protocols.recovery.params.TIME_US_MAX": "a bound of a setting",
    "protocols.recovery.experiment.setting.DEGREE_MAX": "a bound of experiments",
    "protocols.recovery.experiment.setting.DISPATCHERS_MAX": "a bound of experiments",
    "protocols.recovery.experiment.setting.PER_EVENT_MAX": "a bound of experiments",
    "protocols.scamp.messages.LEASE_US_MAX": "what fits a number; scamp.lease_us is what counts",
    "protocols.spidercast.experiment.churn.ROUNDS_MAX": "a bound of experiments",
    "protocols.spidercast.kernel.columns.LISTED_MAX": "a column of settings",
    "protocols.spidercast.params.COVERAGE_MAX": "a bound of a setting",
    "protocols.spidercast.params.MARGIN_MAX": "a bound of a setting",
    "protocols.spidercast.params.QUARANTINE_MAX": "a bound of a setting",
    "protocols.spidercast.params.TIME_US_MAX": "a bound of a setting",
    "protocols.spidercast.experiment.setting.NODES_MAX": "a bound of experiments",
    "protocols.spidercast.experiment.setting.ROUNDS_MAX": "a bound of experiments",
    "protocols.spidercast.experiment.workload.TOPICS_MAX": "a bound of experiments",
    "wire.frame.VERSION": "a version",
    "wire.frame.OLDEST": "a version",
    "wire.frame.HELLO": "a kind of frame",
    "wire.frame.BATCH": "a kind of frame",
    "wire.frame.PART": "a kind of frame",
    "wire.journal.VERSION": "a version",
    "wire.journal.DIGEST_BYTES": "the length of a digest",
    "wire.pack.FRAMING": "what encoding adds to wire.pack.PACK_BYTES_MAX",
    "wire.pack.OPENED": "packs kept taken apart for a moment",
    "wire.proof.PACK": "a spot in a tree",
    "wire.proof.ROOT": "a spot in a tree",
    "live.keys.auditing.NONCE": "what the cipher takes",
    "wire.values.LENGTH": "how attributes are written",
    "wire.segment.HOPELESS": "damaged records in a row, after which nobody knows where the next begins",
}


def told(cell: str) -> float:
    """`16 KiB` as a number."""
    number, unit = re.fullmatch(r"([\d,.]+) ?(\S*)", cell).groups()  # type: ignore[union-attr]
    return float(number.replace(",", "")) * UNITS[unit]


def held(name: str) -> Any:
    """What the code says: a setting's default, a constant, a parameter's default, the bound of a field or of a type."""
    table, _, field = name.partition(".")
    if table in Config.__struct_fields__:
        return getattr(getattr(CONFIG, table), field)
    if parameter := re.fullmatch(r"(.+)\((\w+)\)", name):
        return inspect.signature(found(parameter[1])).parameters[parameter[2]].default
    owner, _, last = name.rpartition(".")
    value = found(name)
    if inspect.isclass(found(owner)):
        value = typing.get_type_hints(found(owner), include_extras=True)[last]
    return value if isinstance(value, int | float) else longest(value)


def found(dotted: str) -> Any:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(["gossamer", *parts[:cut]]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return value
    raise AssertionError(f"there is no gossamer.{dotted}")


def longest(hint: Any) -> int:
    """The bound of an annotated type."""
    metas = [meta for each in (hint, *typing.get_args(hint)) for meta in getattr(each, "__metadata__", ())]
    return next(meta.max_length for meta in metas if isinstance(meta, Meta) and meta.max_length is not None)


@pytest.mark.parametrize("row", LIMITS, ids=lambda row: codes(row[3])[0])
def test_every_number_is_the_code_s(row: list[str]) -> None:
    (name,) = codes(row[3])
    value = held(name)
    scale = 1e6 if name.lower().endswith(("_us", "_us_max")) else 1
    assert math.isclose(told(row[1]) * scale, value), f"{name} is {value}"


def numbers(room: str) -> Iterator[str]:
    """Every number that has a name of its own in a room's files."""
    for path in sorted((SOURCE / room).rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign):
                names = [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
                yield from (
                    f"{module}.{name}" for name in names if name.isupper() and is_number(found(f"{module}.{name}"))
                )


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def test_every_limit_of_the_live_node_is_on_the_page() -> None:
    there = {*numbers("live"), *numbers("wire"), *filter(BOUNDS.fullmatch, numbers("protocols"))}
    listed = {codes(row[3])[0] for row in LIMITS}
    assert sorted(there - listed - NO_LIMITS.keys()) == []
    assert sorted(NO_LIMITS.keys() - there) == []


def test_every_setting_that_bounds_something_is_on_the_page() -> None:
    settings = [
        f"{table}.{field}" for table in ("limits", "timeouts") for field in getattr(CONFIG, table).__struct_fields__
    ]
    listed = {codes(row[3])[0] for row in LIMITS}
    assert [each for each in settings if each not in listed] == []


# Refusals


def reasons_of(path: Path) -> Iterator[str]:
    """The texts a file gives as reasons to whoever counts refusals."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ("refuse", "strike", "decline", "turned_away") and node.args:
                yield from texts(node.args[0])
            elif node.func.attr == "blame":
                yield from texts(node.args[1])
            elif node.func.attr == "note" and [*texts(node.args[0])] == ["reject"]:
                yield from (text for each in node.keywords if each.arg == "detail" for text in texts(each.value))
            elif node.func.attr == "call_later" and len(node.args) > 2 and "refuse" in ast.unparse(node.args[1]):
                yield from texts(node.args[2])


def texts(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from (*texts(node.body), *texts(node.orelse))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def test_every_reason_for_a_refusal_is_explained_and_no_other() -> None:
    rooms = [path for room in ("live", "core", "protocols") for path in (SOURCE / room).rglob("*.py")]
    said = {reason for path in rooms for reason in reasons_of(path)}
    assert sorted(REASONS) == sorted(said | {*REFUSALS})


# Commands


def test_the_commands_of_the_page_work_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = [block for block in BLOCKS if block.page == PAGE and block.language == "sh" and not block.marker]
    lines = [line for block in shown for line in block.text.splitlines() if line]
    assert len(lines) > 5
    for line in lines:
        ran = CliRunner().invoke(main, shlex.split(line)[1:])
        assert ran.exit_code == 0, f"{line}: {ran.output}"
