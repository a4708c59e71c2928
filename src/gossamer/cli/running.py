"""What the commands that run sweeps share: progress, tables, the report."""

import functools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue

from rich import box
from rich.console import Console
from rich.table import Table as Shown

from gossamer import __version__
from gossamer.cli.progress import Telling
from gossamer.cli.terminal import say
from gossamer.core.errors import SpecError
from gossamer.lab import figures
from gossamer.lab.book import ALL, Line
from gossamer.lab.grid import Point
from gossamer.lab.metrics import is_percent
from gossamer.lab.spec import FigureSpec
from gossamer.pipeline.background import in_background
from gossamer.pipeline.jobs import Jobs
from gossamer.pipeline.outcomes import Outcomes, count_trials
from gossamer.pipeline.session import Session
from gossamer.pipeline.summary import summarise
from gossamer.pipeline.sweep import run_chunks, work_left
from gossamer.web import report
from gossamer.web.report import Section, Table

WIDE = 130
"Columns of a terminal that has room for every metric with its interval."


def sweep_with_progress(
    console: Console, spark: Session, work: Mapping[str, Sequence[Point]], outcomes: Outcomes
) -> tuple[list[list[Line]], list[tuple[str, str]]]:
    """Runs what is missing of these experiments, each given by its name, under a progress bar, then summarises: lines
    per point, and the trials that failed."""
    cut = work_left(work, outcomes)
    left, ran, jobs = sum(len(chunk.runs) for chunk in cut), [0], Jobs(spark)
    telling, about = Telling(console, "trials", left, counted=True), f"sweep {', '.join(work)}"
    news: SimpleQueue[str] = SimpleQueue()

    def look() -> None:
        while not news.empty():
            telling.say(news.get())
        telling.tell(ran[-1])

    with telling.bar:
        before = count_trials(outcomes.records())
        try:
            run = functools.partial(run_chunks, spark, cut, outcomes, jobs, ran.append, news.put)
            in_background(spark, run, look, about, jobs)
            look()
        except KeyboardInterrupt:
            kept = f"{count_trials(outcomes.records()) - before:,} of {left:,}"
            raise KeyboardInterrupt(f"{kept} trials ran and are kept; the same command goes on from there") from None
        telling.tell(left, "summary")
        made = [point for points in work.values() for point in points]
        return in_background(spark, lambda: summarise(spark, outcomes, made), lambda: None, f"summary of {about}")


def exit_if_failed(failed: Sequence[tuple[str, str]]) -> None:
    """Says in one line how many trials failed, the first error and how to see it."""
    if failed:
        (error, again), many = failed[0], "1 trial" if len(failed) == 1 else f"{len(failed):,} trials"
        first = error.splitlines()[0]
        say(f"gossamer: {many} failed, the first with {first} (see it with: {again})", err=True)
        sys.exit(1)


def shown(line: Line) -> str:
    """A mean with its interval, as people read it."""
    if is_percent(line.metric):
        return f"{line.mean:.2%} ± {line.ci95:.2%}"
    digits = 0 if line.mean >= 1000 else 2
    return f"{line.mean:,.{digits}f}" + (f" ± {line.ci95:,.{digits}f}" if line.ci95 else "")


def print_summary(console: Console, lines: Sequence[Line], made: Sequence[Point]) -> None:
    """A row per point and group; fewer metrics and no intervals where there is little room."""
    wide, study = console.width >= WIDE, made[0].spec
    metrics = [
        metric for metric in (study.shown if wide else study.brief) if any(line.metric == metric for line in lines)
    ]
    swept = [field for field in made[0].fields if len({str(line.point.get(field)) for line in lines}) > 1]
    heads = (*(field.rpartition(".")[2] for field in swept), *groups_of(lines))
    rows = rows_of(lines, metrics, swept)
    rows = rows if wide else [[cell.partition(" ± ")[0] for cell in row] for row in rows]
    widths = [max(map(len, cells)) + 1 for cells in zip((*heads, *metrics), *rows, strict=True)]
    while len(metrics) > 1 and sum(widths[: len(heads) + len(metrics)]) > console.width:
        metrics.pop()
    table = Shown(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column in (*heads, *metrics):
        table.add_column(column, justify="left" if column in ("topic", "case", "method") else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row[: len(heads) + len(metrics)])
    console.print(table)


def groups_of(lines: Sequence[Line]) -> tuple[str, ...]:
    """The heading of the groups, where a study has any beside the whole."""
    return ("topic",) if any(line.group != ALL for line in lines) else ()


def rows_of(lines: Sequence[Line], metrics: Sequence[str], swept: Sequence[str]) -> list[list[str]]:
    grouped = bool(groups_of(lines))
    cells: dict[tuple[str, str], dict[str, str]] = {}
    heads: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        if grouped and line.group == ALL:
            continue
        key = (str(line.point), line.group)
        heads[key] = [*(str(line.point.get(field, "")) for field in swept), *([line.group] if grouped else [])]
        cells.setdefault(key, {})[line.metric] = shown(line)
    return [[*heads[key], *(said.get(metric, "–") for metric in metrics)] for key, said in cells.items()]


def experiment_figures(made: Sequence[Point], lines: Sequence[Line]) -> list[figures.Figure]:
    """The plots an experiment file asks for; none if every trial failed."""
    rows = [{name: getattr(line, name) for name in Line.__struct_fields__} for line in lines]
    try:
        return [figure(made, rows, asked) for asked in made[0].spec.figures if rows]
    except ValueError as wrong:
        raise SpecError(f"[[figures]] cannot be drawn: {wrong}") from None


def figure(made: Sequence[Point], rows: Sequence[figures.Row], asked: FigureSpec) -> figures.Figure:
    return figures.lines(
        rows,
        name=asked.name,
        title=asked.title,
        x=asked.x or next(iter(made[0].fields), ""),
        metric=asked.metric,
        groups=asked.groups or None,
        by=asked.by,
        x_label=asked.x_label,
        y_label=asked.y_label,
        caption=asked.caption,
        log_x=asked.log_x,
        log_y=asked.log_y,
    )


def experiment_section(made: Sequence[Point], lines: Sequence[Line], title: str | None = None) -> Section:
    head = made[0].spec.experiment
    metrics = [metric for metric in made[0].spec.shown if any(line.metric == metric for line in lines)]
    swept = list(dict.fromkeys(field for point in made for field in point.fields))
    columns = (*swept, *groups_of(lines), *metrics)
    rows = [[cell.replace(" ± ", "\u00a0±\u00a0") for cell in row] for row in rows_of(lines, metrics, swept)]
    table = Table(columns, rows, note="Means ± 95 % confidence interval.")
    return Section(title or head.name, head.about, figures=tuple(experiment_figures(made, lines)), table=table)


def write_report(out: Path, made: Sequence[Point], source: str, lines: Sequence[Line], into: str) -> Path:
    """report.html and the figures of one experiment, which were asked for `into` a place."""
    head = made[0].spec.experiment
    section = experiment_section(made, lines)
    for figure in section.figures:
        figures.save(figure, out / "figures")
    facts = [
        ("protocol", head.protocol),
        ("runs per point", f"{head.runs:,}"),
        ("seed", str(head.seed)),
        ("version", __version__),
        ("command", f"gossamer sweep {source} --out {into}"),
    ]
    return report.write(out / "report.html", f"Gossamer: {head.name}", head.about or head.name, facts, [section])
