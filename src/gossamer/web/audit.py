"""The report of an audit, from its files: the verdict in words, what went wrong by name, and how the run went."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer import __version__
from gossamer.lab import figures
from gossamer.lab.figures import Figure
from gossamer.pipeline.audit_verdict import Verdict
from gossamer.pipeline.results import count_rows, read_table
from gossamer.web import report
from gossamer.web.audit_figures import OF_RECOVERY, draw_figures
from gossamer.web.report import Section, Table

FACTS = ("events", "expected", "delivered", "missing", "in_doubt", "parasites", "duplicates", "nodes", "silenced")
PROMISE = {"holds": "holds", "broken": "does not hold", "nothing to judge": "nothing to judge"}
SHOWN_MAX = 100
"Rows of a table on the page; the files have all."

TOPIC_COLUMNS = (
    "topic events expected delivered missing in_doubt parasites duplicates p50_ms p99_ms max_ms hops_mean messages"
)
COMMUNITY_COLUMNS = "community members expected delivered missing in_doubt copies efficiency"
NODE_COLUMNS = (
    "name lives silenced published expected delivered missing duplicates hops_mean hops_max parasites refused lost_rows"
)
RECOVERY_COLUMNS = "topic gaps lost recovered came_late unfilled p50_ms p99_ms max_ms"
MISSING_COLUMNS = "event topic name promised seen_how seen_at seen_after_us seen_hops had members"
PARASITE_COLUMNS = "event topic name declared found stray copies bytes via"


def sentence(verdict: Verdict) -> str:
    """The verdict in words."""
    if verdict.result == "nothing to judge":
        return f"There is nothing to judge: {why_nothing(verdict)}."
    if verdict.holds:
        events = f"{verdict.events:,} event{'' if verdict.events == 1 else 's'}"
        kept = f"All {verdict.expected:,} expected deliveries of {events} were made"
        if verdict.missing:
            kept = (
                f"All promised deliveries were made ({verdict.delivered:,} of {verdict.expected:,} expected ones; "
                f"the publishers of the others were killed{before_anyone(verdict)})"
            )
        carried = " but those who carry for others" if verdict.relays else ""
        return f"The promise holds. {kept}, nobody{carried} got an event unasked, and nobody got one twice."
    return broken_sentence(verdict.broken, verdict.parasites, verdict.duplicates)


def broken_sentence(broken: int, parasites: int, duplicates: int) -> str:
    wrong = [
        (broken, "promised delivery is missing", "promised deliveries are missing"),
        (parasites, "event came to a node that did not want it", "events came to nodes that did not want them"),
        (duplicates, "delivery was made twice", "deliveries were made twice"),
    ]
    said = [f"{count:,} {one if count == 1 else many}" for count, one, many in wrong if count]
    return f"The promise does not hold: {', '.join(said)}."


def why_nothing(verdict: Verdict) -> str:
    if not verdict.nodes:
        return f"none of the {verdict.skipped:,} files could be read, and skipped.csv says why of each"
    if not verdict.events:
        return "no event was published"
    if verdict.in_doubt:
        return f"no delivery is sure to be owed, all {verdict.in_doubt:,} are in doubt"
    return f"nobody subscribed to any of the {verdict.events:,} events"


def doubts(verdict: Verdict) -> list[str]:
    """Why filters could not be judged, a sentence each."""
    told = [
        (verdict.locked, "The attributes of {} are sealed to a key that was not given: --key FILE opens them."),
        (verdict.damaged, "The attributes of {} do not open, or are none: their rows were changed since."),
        (verdict.untold, "The attributes of {} stand in no trace: its publisher was killed, or trace.values is off."),
    ]
    said = [text.format(f"{count:,} event{'' if count == 1 else 's'}") for count, text in told if count]
    if verdict.odd_filters:
        count = verdict.odd_filters
        said.append(f"{count:,} filter{' is' if count == 1 else 's are'} none to this version of gossamer.")
    if said:
        said.append(f"{verdict.unmatched:,} of those in doubt are so because nobody can tell whether a filter matches.")
    return said


def before_anyone(verdict: Verdict) -> str:
    if not verdict.missing_unheard:
        return ""
    all_of_them = verdict.missing_unheard == verdict.missing
    return f", {'' if all_of_them else f'for {verdict.missing_unheard:,} of them '}before anybody else had the event"


def write_report(
    out: Path, verdict: Verdict, command: str, title: str = "Gossamer: audit", before: Sequence[Section] = ()
) -> Path:
    """report.html and its figures, beside the tables that `audit_folder` wrote; with sections to begin with."""
    drawn = draw_figures(out)
    for figure in drawn:
        figures.save(figure, out / "figures")
    facts = [
        ("promise", PROMISE[verdict.result]),
        *((name.replace("_", " "), getattr(verdict, name)) for name in FACTS),
        ("clocks", verdict.clocks),
        ("version", __version__),
        ("command", command),
    ]
    sections = [
        *before,
        *troubles(out, verdict),
        Section("How it went", course(verdict), figures=[each for each in drawn if each.name not in OF_RECOVERY]),
        *lost_and_found(out, verdict, [each for each in drawn if each.name in OF_RECOVERY]),
        *overviews(out, verdict),
    ]
    return report.write(out / "report.html", title, sentence(verdict), facts, sections)


def troubles(out: Path, verdict: Verdict) -> list[Section]:
    """What went wrong, by name; what did not has no section."""
    told = [
        ("missing", "Missing deliveries", verdict.missing, MISSING_COLUMNS,
         "Expected, and never delivered. Beside each: where its event was last seen, how long after its publication, "
         "and how many of the node's community have it."),
        ("parasites", "Events that nobody asked for", verdict.parasites + verdict.strays, PARASITE_COLUMNS,
         "`declared` by the node itself, or `found` by its subscriptions; a `stray` was on its way as the node came or "
         "went, and is not held against anybody."),
        ("duplicates", "Delivered twice", verdict.duplicates, "event topic name times redelivered",
         "Without being marked as repeated."),
        ("skipped", "Files not read, or not to the end", verdict.skipped + verdict.torn, "file why",
         "A node that is killed leaves a torn segment; all before the tear was read."),
    ]  # fmt: skip
    return [
        Section(title, text, table=shown(read_table(out, name, SHOWN_MAX), columns, f"{name}.parquet", count))
        for name, title, count, columns, text in told
        if count
    ]


def course(verdict: Verdict) -> str:
    lines = [f"{verdict.lives:,} lives of {verdict.nodes:,} nodes, {verdict.silenced:,} of them ended without a stop."]
    if verdict.efficiency is not None:
        lines.append(f"{verdict.efficiency:.1%} of the copies that arrived were the first of their event there.")
    if verdict.negative_latencies:
        lines.append(f"{verdict.negative_latencies:,} deliveries are dated before their publication: clocks differ.")
    lines += doubts(verdict)
    if verdict.lost_rows:
        lines.append(f"{verdict.lost_rows:,} rows of the traces are lost: what is missing may be among them.")
    return " ".join(lines)


def lost_and_found(out: Path, verdict: Verdict, drawn: Sequence[Figure]) -> list[Section]:
    """What nodes noticed to be missing, and what became of it; nothing where nothing was noticed."""
    rows = [in_milliseconds(row, "after_us") for row in read_table(out, "recovery", SHOWN_MAX)]
    if not rows:
        return []
    text = (
        f"Nodes noticed {verdict.gaps:,} gaps in publishers' events. {verdict.recovered:,} events came by recovery, "
        f"{verdict.came_late:,} late by themselves, and {verdict.unfilled:,} never. Milliseconds count from noticing."
    )
    columns = f"run {RECOVERY_COLUMNS}" if verdict.runs > 1 else RECOVERY_COLUMNS
    return [
        Section(
            "Lost and found again",
            text,
            table=shown(rows, columns, "recovery.parquet", count_rows(out, "recovery")),
            figures=list(drawn),
        )
    ]


def overviews(out: Path, verdict: Verdict) -> list[Section]:
    tables = [
        ("per_topic", "By topic", TOPIC_COLUMNS, "Topics of events; latencies in milliseconds, to other nodes."),
        (
            "per_community",
            "By community",
            COMMUNITY_COLUMNS,
            "Who should have what climbs to them; copies at level full.",
        ),
        ("per_node", "By node", NODE_COLUMNS, ""),
    ]
    sections = []
    for name, title, columns, text in tables:
        rows = [in_milliseconds(row) for row in read_table(out, name, SHOWN_MAX)]
        columns = f"run {columns}" if verdict.runs > 1 else columns
        sections.append(Section(title, text, table=shown(rows, columns, f"{name}.parquet", count_rows(out, name))))
    return sections


def in_milliseconds(row: Mapping[str, Any], what: str = "latency_us") -> dict[str, Any]:
    named = {key: f"{what}_{key}" for key in ("p50", "p99", "max")}
    return {**row, **{f"{key}_ms": None if row.get(us) is None else row[us] / 1e3 for key, us in named.items()}}


def shown(rows: Sequence[Mapping[str, Any]], columns: str, file: str, count: int) -> Table:
    names = columns.split()
    note = f"The first {len(rows):,} of {count:,}; all are in {file}." if count > len(rows) else f"Also in {file}."
    return Table([name.replace("_", " ") for name in names], [[row[name] for name in names] for row in rows], note)
