"""What is said of a network that is followed: in a terminal, where output is piped, as JSON, on a page."""

import io
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import msgspec
from rich.console import Console

from gossamer.cli.console import SafeConsole
from gossamer.cli.follow import Showing
from gossamer.pipeline.follow_alerts import Alert, write_alerts
from gossamer.pipeline.follow_memory import Trouble
from gossamer.pipeline.follow_query import SUMMED, Seen

ROW = dict.fromkeys(SUMMED, 0) | {"run": "net", "topic": ".x", "latency_us_p99": 1500.0}
CALM = Seen(
    batch=1, result="holds", **dict.fromkeys(SUMMED, 0) | {"events": 2, "expected": 4, "delivered": 4},
    open=3, nodes=5, lives=5, silent=[], behind=[], problems=[], over=False, topics=[ROW | {"events": 2}],
)  # fmt: skip
BROKEN = msgspec.structs.replace(CALM, batch=2, result="broken", broken=1, silent=[Trouble("net", "b", 7)])


@pytest.fixture
def out(tmp_path: Path) -> Path:
    alert = Alert("net", 5, "missing", "raised", "b\u202e", "7-1-9", "p", ".x", 2)
    write_alerts(tmp_path, 2, [alert, Alert("net", 7, "silent", "raised", "b")])
    return tmp_path


def showing(console: Console, out: Path, as_json: bool = False) -> Showing:
    return Showing(console, out, "gossamer audit traces --follow", as_json)


def test_a_terminal_shows_a_table_and_the_last_alerts(out: Path) -> None:
    screen = io.StringIO()
    shown = showing(SafeConsole(file=screen, force_terminal=True, width=120, color_system=None), out)
    assert shown.screen is not None
    with shown.screen:
        shown.change(BROKEN)
    said = screen.getvalue()
    assert ".x         2        0         0       0         0     0     0    1.5" in said
    assert (
        "The promise does not hold: 1 promised delivery is missing. (5 nodes · 3 events still open · 1 silent)" in said
    )
    assert "missing raised: b\\u202e: event 9 of p (.x)" in said
    assert "silent raised: b" in said


def test_where_output_is_piped_there_is_a_line_now_and_then_and_the_last_in_any_case(out: Path) -> None:
    page = io.StringIO()
    shown = showing(SafeConsole(file=page, width=80), out)
    for seen in (CALM, BROKEN, CALM):
        shown.change(seen)
    said = "The promise holds so far: 4 of 4 expected deliveries. (5 nodes · 3 events still open)\n"
    assert page.getvalue() == said
    shown.end(CALM)
    assert page.getvalue() == 2 * said


def test_json_has_a_line_for_each_change(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = showing(SafeConsole(stderr=True), out, as_json=True)
    shown.change(CALM)
    shown.change(BROKEN)
    assert [msgspec.json.decode(line)["result"] for line in capsys.readouterr().out.splitlines()] == ["holds", "broken"]


def test_the_page_refreshes_itself_until_the_end(out: Path) -> None:
    shown = showing(SafeConsole(file=io.StringIO()), out)
    shown.change(BROKEN)
    page = (out / "report.html").read_text()
    assert '<meta http-equiv="refresh" content="5">' in page
    assert "1 promised delivery is missing" in page
    shown.end(BROKEN)
    assert "refresh" not in (out / "report.html").read_text()
