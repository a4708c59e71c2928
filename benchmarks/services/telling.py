"""What came of it, for people: bars, tables, figures, a report."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.bench import Bar
from benchmarks.services import drawing
from benchmarks.services.counting import Row
from benchmarks.services.network import Told
from benchmarks.services.plan import BOTTOM, SIZES, UPPER
from benchmarks.services.summary import SHARES, Mean, pairs
from benchmarks.tables import Table, markdown
from gossamer.lab.figures import save
from gossamer.pipeline.audit_verdict import Verdict
from gossamer.pipeline.results import write_rows
from gossamer.web import report

RECEPTION = 0.99
SIDES = ("live", "simulated")


def write(out: Path, told: Sequence[Told], rows: Sequence[Row], means: Sequence[Mean], tables: Sequence[Table]) -> None:
    """Everything but the audit, which has a folder of its own."""
    write_rows(out, "rows", Row, rows)
    write_rows(out, "summary", Mean, means)
    (out / "networks.json").write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=1) + b"\n")
    (out / "services.md").write_text("\n\n".join("\n".join(markdown(table)) for table in tables) + "\n")
    drawn = [*drawing.figures(means)]
    for figure in drawn:
        save(figure, out / "figures")
    sections = [report.Section("Live and simulated", drawing.CAPTION, figures=drawn)]
    sections += [report.Section(each.title, each.note, table=report.Table(each.head, each.rows)) for each in tables]
    report.write(out / "report.html", "Gossamer: membership services", lead(told), {"networks": len(told)}, sections)


def lead(told: Sequence[Told]) -> str:
    events = sum(len(each.published) for each in told)
    return f"{events} events in {len(told)} networks of live nodes, each audited, beside the same in simulation."


def bars(means: Sequence[Mean], verdict: Verdict) -> Iterator[Bar]:
    both = [(live, other) for live, other in pairs(means) if live.community in where(live.metric)]
    apart = [live for live, other in both if not live.overlaps(other)]
    named = "; ".join(f"{each.metric} in {each.community} at {each.climb:g}, {each.service}" for each in apart[:5])
    said = f"{len(both) - len(apart)} of {len(both)}" + (f" (not {named})" if apart else "")
    yield Bar("points where live and simulated 99 % intervals overlap", "all", said, not apart if both else None)
    sure = [each for each in means if (each.side, each.metric, each.climb) == ("live", "reception", 1.0)]
    upper = [each for each in sure if each.community in UPPER]
    worst = min((each.mean for each in upper), default=None)
    met = None if worst is None else worst >= RECEPTION
    yield Bar("least reception in upper communities at p_sel = 1", f"{RECEPTION:g}", str(worst), met)
    yield Bar("events received unasked, by the audit", "0", str(verdict.parasites), not verdict.parasites)


def where(metric: str) -> tuple[str, ...]:
    """The communities in which a metric depends on p_sel: those that send up, or those above."""
    return (BOTTOM, UPPER[0]) if metric == "sent_up" else UPPER


def what_came(told: Sequence[Told]) -> Table:
    head = ["network", "nodes", "events", "up s", "settled s", "unsettled", "CPU s", "MB"]
    rows = [
        [each.plan.name, str(sum(each.plan.sizes)), str(len(each.published)), f"{each.up_s:g}", f"{each.settled_s:g}",
         str(each.unsettled), f"{each.cpu_s:g}", str(each.memory_mb)]
        for each in told
    ]  # fmt: skip
    note = "unsettled: nodes that had not counted their community right, or lacked links, when events began."
    return Table("Networks", head, rows, note)


def receptions(means: Sequence[Mean]) -> Iterator[Table]:
    """What arrived in each upper community; the figures have the rest."""
    found = {(each.side, each.service, each.community, each.metric, each.climb): each for each in means}
    head = ["service", "p_sel", "reception", "simulated", "copies from below", "simulated"]
    for community, below in zip(UPPER, (BOTTOM, UPPER[0]), strict=True):
        rows = [
            [
                service,
                f"{climb:g}",
                *(cell(found.get((side, service, community, "reception", climb))) for side in SIDES),
                *(cell(found.get((side, service, below, "sent_up", climb))) for side in SIDES),
            ]
            for service in SIZES
            for climb in sorted({each.climb for each in means if (each.side, each.service) == ("live", service)})
        ]
        note = "Means with their 99 % intervals. Every event is one sample."
        yield Table(f"What arrived in {community}", head, rows, note)


def cell(mean: Mean | None) -> str:
    digits = 3 if mean is not None and mean.metric in SHARES else 1
    return "–" if mean is None else f"{mean.mean:.{digits}f} ({mean.low:.{digits}f}–{mean.high:.{digits}f})"
