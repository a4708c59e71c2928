"""What `make bench-live` counts must be right, whatever the systems do; one of them needs nothing installed."""

import asyncio
import json
import os
import shlex
import socket
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.live import peer, results, run, systems, tables, turn
from benchmarks.live.crew import Crew, Failed, Silence, cpu_ns
from benchmarks.live.lines import line, parsed
from benchmarks.live.results import Measured
from benchmarks.live.systems.system import Net
from benchmarks.live.traffic import HEAD, Phase, Progress, Reader, Window, body, ring, told_apart
from benchmarks.live.turn import Turn, free_ports
from benchmarks.measure import Span
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

# Window and progress


@given(st.integers(1, 50), st.lists(st.integers(0, 30), max_size=60))
def test_the_publisher_is_never_further_ahead_of_the_slowest_than_the_window(size: int, steps: list[int]) -> None:
    window, sent, reached = Window(size), 0, 0
    for step in steps:
        sent += window.room(sent)
        assert sent - reached == size
        reached = min(sent, reached + step)
        window.move(reached)


def test_news_from_a_faster_subscriber_or_old_news_move_nothing() -> None:
    progress, window = Progress(2), Window(10)
    assert not progress.note(0, 7)
    assert progress.note(1, 3)
    assert not progress.note(0, 9)
    window.move(progress.slowest)
    window.move(1)
    assert window.room(sent=4) == 9


class Taken:
    def __init__(self) -> None:
        self.bursts: list[Sequence[bytes]] = []

    async def send(self, bodies: Sequence[bytes]) -> None:
        self.bursts.append(bodies)

    def counters(self) -> dict[str, int]:
        return {}


def rushed(phase: Phase, *told: tuple[str, Any]) -> Taken:
    async def lines() -> AsyncIterator[tuple[str, Any]]:
        for each in told:
            yield each

    async def scenario() -> Taken:
        taken = Taken()
        await peer.rush(taken, phase, ring(phase), lines())
        return taken

    return asyncio.run(scenario())


def test_a_rush_goes_round_the_ring_as_the_window_moves() -> None:
    phase = Phase(3, 1 << 20, 20)
    assert (phase.window, phase.burst) == (8, 1)
    taken = rushed(phase, ("open", 3), ("open", 12))
    sent = [HEAD.unpack(each[: HEAD.size])[1] for burst in taken.bursts for each in burst]
    assert sent == [number % 8 for number in range(20)]


def test_a_rush_that_cannot_go_on_ends_when_told() -> None:
    taken = rushed(Phase(3, 1 << 20, 20), ("open", 1), ("halt", None))
    assert sum(map(len, taken.bursts)) == 9


# Counting


def heads(phase: Phase, *numbers: int, of: int | None = None) -> list[bytes]:
    number = phase.number if of is None else of
    return [body(number, each % phase.window, phase.size)[: HEAD.size] for each in numbers]


def test_bodies_have_their_size_and_no_two_under_way_look_alike() -> None:
    phase = Phase(1, 100, 100_000)
    assert {len(each) for each in ring(phase)} == {100}
    assert len(set(ring(phase))) == phase.window
    assert len(ring(Phase(1, 100, 5))) == 5


def test_losses_duplicates_and_strays_are_told_apart() -> None:
    phase = Phase(2, 1 << 20, 19)  # two laps of the ring and three more
    everything = heads(phase, *range(19))
    assert told_apart(phase, everything, []) == told_apart(phase, everything[::-1], [])
    assert told_apart(phase, everything, []).received == 19
    odd = [*everything[:-1], everything[4], everything[4], *heads(phase, 0, of=1)]
    told = told_apart(phase, odd, [])
    assert (told.received, told.duplicates, told.strays) == (18, 2, 1)


def test_a_reader_says_how_far_it_is_and_when_it_has_all() -> None:
    said: list[tuple[str, Any]] = []
    reader = Reader(lambda word, value: said.append((word, value)))
    reader.ready()
    reader.take(body(0, 5, HEAD.size))
    assert said == [("ready", None), ("heard", 5)]
    phase = Phase(1, 256 << 10, 10)
    assert phase.window == 32
    reader.begin(phase)
    for each in ring(phase):
        reader.take(each)
    assert [(word, value) for word, value in said[2:] if word != "done"] == [("got", 4), ("got", 8)]
    assert said[-1][0] == "done"
    assert reader.told().received == 10


def test_latency_is_the_time_of_arrival_minus_the_time_in_the_body() -> None:
    phase = Phase(1, 64, 2, rate=100.0)
    sent = [body(1, number, 64, at_ns=1_000_000 * number)[: HEAD.size] for number in range(2)]
    assert told_apart(phase, sent, [2_000, 1_005_000]).latencies_us == [2.0, 5.0]
    reader = Reader(lambda word, value: None)
    reader.begin(phase)
    before_ns = time.monotonic_ns()
    reader.take(body(1, 0, 64, before_ns))
    assert 0 <= reader.told().latencies_us[0] <= (time.monotonic_ns() - before_ns) / 1e3


def test_what_is_not_a_line_of_ours_is_passed_over() -> None:
    assert parsed(line("got", {"a": [1]})) == ("got", {"a": [1]})
    assert parsed(b"a library says hello\n") is None
    assert parsed(b"\xff\xfe 1\n") is None


# Results


def measured(system: str, round: int, cpu_us: float, **others: Any) -> Measured:
    fields: dict[str, Any] = {"messages": 100, "received": 800, "wall_s": 0.5, "latencies_us": [500.0, 1500.0]}
    cpu = {"publisher": cpu_us * 600, "subscribers": cpu_us * 200, "broker": 0.0}
    return Measured(system, 8, 64, round, cpu_us=cpu, **{**fields, **others})


def test_a_quantile_is_a_value_that_was_measured() -> None:
    hundred = [float(number) for number in range(1, 101)]
    assert (results.quantile(hundred, 0.5), results.quantile(hundred, 0.99)) == (50.0, 99.0)
    assert (results.quantile([7.0], 0.5), results.quantile([7.0], 0.99)) == (7.0, 7.0)


def test_turns_become_medians_with_their_range() -> None:
    (cell,) = results.cells([measured("zmq", turn, cpu_us) for turn, cpu_us in enumerate((3.0, 1.0, 2.0), 1)])
    assert cell.cpu_us == Span(2.0, 1.0, 3.0, 3)
    assert cell.cpu_us_by_role == {"publisher": 1.5, "subscribers": 0.5, "broker": 0.0}
    assert cell.rate.median == 200.0
    assert cell.p50_ms == Span(0.5, 0.5, 0.5, 3)
    assert cell.p99_ms == Span(1.5, 1.5, 1.5, 3)
    assert cell.cpu_us_per_copy is None


def test_ratios_are_taken_within_a_round_and_only_of_rounds_both_have() -> None:
    failed = Measured.failed("nats", 8, 64, 2, "the broker ended early")
    turns = [measured("gossamer", turn, 6.0 * turn) for turn in (1, 2, 3)]
    turns += [measured("nats", 1, 2.0), failed, measured("nats", 3, 3.0)]
    (ratio,) = results.ratios(results.cells(turns))
    assert (ratio.system, ratio.other, ratio.times) == ("gossamer", "nats", Span(4.5, 3.0, 6.0, 2))
    assert results.failures(turns) == ["nats, 64 B to 8, round 2: the broker ended early"]


def test_bars_are_met_missed_or_not_measured() -> None:
    turns = [measured("gossamer", 1, 18.0, copies=6400), measured("nats", 1, 3.0), measured("gossamer-traced", 1, 18.9)]
    found = results.cells(turns)
    said = list(results.bars(found, list(results.ratios(found))))
    assert [bar.met for bar in said] == [True, False, None, None, None, None, True]
    assert "2.25 µs" in said[0].got
    assert "6.00 ×" in said[1].got
    assert "1.05 ×" in said[-1].got


def test_every_number_is_in_the_tables() -> None:
    turns = [measured("gossamer", 1, 18.0, copies=6400, lost=3, duplicates=1), measured("nats", 1, 3.0)]
    told = tables.markdown(run.whole(turns, ["sockets"], {"zmq": "pyzmq"}, 1, load_before=0.7))
    assert "| 64 B | gossamer | 18 | 13.5 / 0 / 4.5 | 2.25 | 8.0 | 200 | 0.5 | 1.5 | 3 (+1 twice) |" in told
    assert "| 64 B | 8 | gossamer | 6 × |" in told
    assert "zmq: not measured, pyzmq is not installed" in told
    assert "The machine is busy (load 0.70" in told
    assert not tables.busy(0.5)


@pytest.mark.parametrize("subscribers", run.SUBSCRIBERS)
@pytest.mark.parametrize("size", run.SIZES)
def test_a_phase_at_full_speed_is_longer_than_a_burst_and_latency_is_measured_slowly(
    size: int, subscribers: int
) -> None:
    wanted = run.planned(size, subscribers, None, pace_s=2.0, patience_s=1.0)
    assert wanted.messages * subscribers * size <= run.DELIVERED_BYTES
    assert wanted.messages >= 4 * Phase(1, size, 1).burst
    assert wanted.paced * subscribers >= 100


# Processes


def test_what_a_system_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = systems.Entry("nowhere:None", "", {"no.such.module": "no-such-package"}, "no-such-broker")
    monkeypatch.setitem(systems.SYSTEMS, "odd", entry)
    assert systems.lacking("odd") == "no-such-package, no-such-broker"
    assert systems.lacking("sockets") == ""


def test_the_cpu_clock_of_a_process_is_the_one_it_reads_itself() -> None:
    before, between, after = time.process_time_ns(), cpu_ns(os.getpid()), time.process_time_ns()
    assert before <= between <= after


def test_free_ports_are_different_and_nobody_is_given_one_by_chance() -> None:
    found = free_ports(33)
    assert len(set(found)) == 33
    assert set(found) <= set(turn.UNASKED)


def test_a_port_that_is_taken_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(turn, "UNASKED", [server.getsockname()[1]])
        with pytest.raises(Failed, match="1 ports are not free"):
            free_ports(1)


def test_a_process_that_ends_early_is_told_with_its_last_words_and_none_is_left(tmp_path: Path) -> None:
    async def scenario(port: int) -> list[int | None]:
        async with Crew("sockets", Net(str(tmp_path), [port], 1), patience_s=30.0) as crew:
            publisher = await crew.start(peer.PUBLISHER, peer.PUBLISHER)
            subscriber = await crew.start("1", "subscriber-1")
            with pytest.raises(Failed, match=r"publisher ended early: .*ddress already in use"):
                await crew.all_say("ready", [publisher])
            crew.patience_s = 0.0
            with pytest.raises(Silence, match="no “begun” from subscriber-1"):
                await crew.all_say("begun", [subscriber])
        return [member.process.returncode for member in crew.members]

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert None not in asyncio.run(scenario(taken.getsockname()[1]))


def test_what_never_arrives_is_lost_and_does_not_hold_up_the_run(tmp_path: Path) -> None:
    async def scenario() -> dict[str, Any]:
        async with Crew("sockets", Net(str(tmp_path), free_ports(1), 1), patience_s=30.0) as crew:
            turn = await Turn.begun(crew, None, 1)
            turn.publisher.tell("begin", Phase(1, 64, 50))
            turn.subscribers[0].tell("begin", Phase(1, 64, 200))
            await crew.all_say("begun", turn.peers)
            turn.publisher.tell("go")
            await crew.all_say("sent", [turn.publisher])
            turn.publisher.tell("go")  # once more, so that duplicates arrive too
            crew.patience_s = 0.5
            await turn.traffic(Phase(1, 64, 200))
            crew.patience_s = 30.0
            async with asyncio.timeout(60.0):  # a slow machine may have given up before all that was sent was there
                while True:
                    (told,) = (await turn.ask("tell", None, "told", turn.subscribers)).values()
                    if told["received"] + told["duplicates"] >= 100:
                        return told

    told = asyncio.run(scenario())
    assert (told["received"], told["duplicates"]) == (50, 50)


def test_a_tiny_run_over_plain_sockets_writes_a_whole_result(tmp_path: Path) -> None:
    asked = "--systems sockets --sizes 64,65536 --subscribers 2 --rounds 2 --messages 300 --pace-s 0.05"
    done = CliRunner().invoke(run.command, ["--out", str(tmp_path), *shlex.split(asked)])
    assert done.exit_code == 0, done.output
    said = json.loads((tmp_path / "live.json").read_text())
    assert [(each["system"], each["size"], each["subscribers"]) for each in said["cells"]] == [
        ("sockets", 64, 2), ("sockets", 65536, 2),
    ]  # fmt: skip
    for each in said["cells"]:
        assert (each["messages"], each["lost"], each["duplicates"]) == (300, 0, 0)
        assert each["cpu_us"]["times"] == len(each["turns"]) == 2
        assert each["cpu_us_by_role"]["publisher"] > 0 < each["cpu_us_by_role"]["subscribers"]
        assert each["rate"]["low"] > 0 < each["p50_ms"]["low"] <= each["p99_ms"]["high"]
    assert said["failures"] == []
    assert [bar["met"] for bar in said["bars"]] == [None] * 7
    assert "| 64 KiB | sockets |" in (tmp_path / "live.md").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["live.json", "live.md"]
