"""The campaign of faults must see what is wrong, and nothing where nothing is; then it may judge the live node."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks.faults import ledger, machine, plan, report
from benchmarks.faults import ledger as words
from benchmarks.faults.__main__ import command
from benchmarks.faults.checking import Verdict, check, complete
from benchmarks.faults.ledger import Ledger
from benchmarks.faults.parts import Part, Publishing, Reading
from benchmarks.faults.plan import Plan, Strike
from benchmarks.faults.run import Result, run
from click.testing import CliRunner

EVENTS = [f"p:{number}" for number in range(4)]
KILLED = (Strike(1.0, "kill", ("a",)),)


def planned(*strikes: Strike, where: str = "", **more: Any) -> Plan:
    reading = Reading("billing", where=where)
    return Plan(parts=[Part("p", publishing=Publishing()), Part("a", reading=reading)], strikes=list(strikes), **more)


def published(*events: str, handed: bool = True) -> list[list[Any]]:
    return [*([words.PUBLISHED, each] for each in events), *([[words.HANDED, list(events)]] if handed else [])]


def got(*events: str, redelivered: bool = False) -> list[list[Any]]:
    return [[words.GOT, each, redelivered] for each in events]


def wrong(made: Plan, reader: list[list[Any]], publisher: list[list[Any]] | None = None) -> Verdict:
    return check(made, {"p": publisher or published(*EVENTS), "a": reader})


def test_a_run_in_which_everybody_has_everything_once_is_fine() -> None:
    verdict = wrong(planned(), got(*EVENTS))
    assert (verdict.wrong, verdict.expected, verdict.delivered, verdict.missing) == ([], 4, 4, 0)


def test_an_event_that_did_not_come_is_missing_and_named() -> None:
    verdict = wrong(planned(), got("p:0", "p:3"))
    (said,) = verdict.wrong
    assert said.startswith("a/billing misses 2 of 4 (2 of them handed over; p:1, p:2 …)")
    assert (verdict.missing, verdict.missing_handed) == (2, 2)
    assert not complete(planned(), {"p": published(*EVENTS), "a": got("p:0")})


def test_what_a_publisher_that_is_gone_did_not_hand_over_is_not_promised() -> None:
    lost = planned(lost=frozenset({"p"}))
    publisher = [*published("p:0"), *published("p:1", handed=False)]
    assert wrong(lost, got("p:0"), publisher).wrong == []
    assert wrong(planned(), got("p:0"), publisher).missing == 1


def test_an_event_given_twice_must_be_marked_the_second_time() -> None:
    marked = wrong(planned(*KILLED), got(*EVENTS) + got("p:3", redelivered=True))
    assert (marked.wrong, marked.repeated) == ([], 1)
    silent = wrong(planned(*KILLED), got(*EVENTS) + got("p:3"))
    assert (len(silent.wrong), silent.doubled) == (1, 1)


def test_an_event_that_was_acknowledged_never_comes_again_marked_or_not() -> None:
    verdict = wrong(planned(*KILLED), [*got(*EVENTS), [words.ACKED, "p:1"], *got("p:1", redelivered=True)])
    assert (len(verdict.wrong), verdict.again) == (1, 1)


def test_where_the_disk_forgot_something_repeats_are_no_fault() -> None:
    torn = planned(*KILLED, torn=frozenset({"a"}))
    verdict = wrong(torn, [*got(*EVENTS), [words.ACKED, "p:1"], *got("p:1")])
    assert (verdict.wrong, verdict.again) == ([], 1)


def test_a_mark_where_nothing_happened_is_wrong() -> None:
    assert wrong(planned(), got(*EVENTS, redelivered=True)).marked_wrongly == 4
    assert wrong(planned(*KILLED), got(*EVENTS, redelivered=True)).wrong == []


def test_a_gap_for_good_is_wrong_where_nothing_is_missing() -> None:
    verdict = wrong(planned(), [*got(*EVENTS), [words.GAP, 3, "", "why"]])
    assert (len(verdict.wrong), verdict.told_gone) == (1, 3)


def test_refused_publications_that_readers_are_told_to_miss_are_wrong() -> None:
    refused = [[words.REFUSED, "p:1", "full"]] * 2
    verdict = wrong(planned(), [*got(*EVENTS), [words.GAP, 2, ".orders", "why"]], refused + published(*EVENTS))
    assert len(verdict.wrong) == 1


def test_only_what_matches_is_expected_of_a_filtered_subscription() -> None:
    assert wrong(planned(where="number >= 2"), got("p:2", "p:3")).wrong == []


def test_events_that_nobody_asked_for_are_wrong() -> None:
    verdict = wrong(planned(), [*got(*EVENTS), [words.NUMBERS, {"gossamer_parasites_total": 2.0}]])
    assert (len(verdict.wrong), verdict.unasked) == (1, 2)


def test_readers_that_share_a_name_are_one_subscription_and_no_event_is_new_to_two_of_them() -> None:
    shared = Reading("accounts")
    made = Plan(parts=[Part("p"), Part("r", attach="b", reading=shared), Part("s", attach="b", reading=shared)])
    ledgers = {"p": published(*EVENTS), "r": got("p:0", "p:1"), "s": got("p:2", "p:3")}
    assert check(made, ledgers).wrong == []
    ledgers["s"] = got("p:1", "p:2", "p:3")
    assert check(made, ledgers).doubled == 1
    ledgers["s"] = got("p:1", redelivered=True) + got("p:2", "p:3")
    assert check(made, ledgers).doubled == 0


def test_a_line_that_was_torn_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    Ledger(path).write(words.GOT, "p:0", False)
    path.write_bytes(path.read_bytes() + b'["got","p:')
    Ledger(path).write(words.GOT, "p:2", False)
    assert [line[1] for line in ledger.read(path)] == ["p:0", "p:2"]


@pytest.mark.parametrize("scenario", plan.SCENARIOS)
def test_a_seed_is_a_plan_whose_strikes_hit_somebody(scenario: str) -> None:
    plans = [plan.make(scenario, seed) for seed in range(20)]
    assert plans[7] == plan.make(scenario, 7)
    assert len({str(each.strikes) for each in plans}) > 1
    for made in plans:
        names = {part.name for part in made.parts}
        assert made.strikes
        assert all(set(strike.who) <= names for strike in made.strikes)


def test_a_tear_shortens_the_log_and_a_scribble_lengthens_it(tmp_path: Path) -> None:
    log = tmp_path / "spool.sqlite-wal"
    log.write_bytes(bytes(100))
    (tmp_path / "spool.sqlite").write_bytes(bytes(4096))
    machine.tear(tmp_path, 30)
    assert log.stat().st_size == 70
    machine.scribble(tmp_path, 5)
    assert log.stat().st_size == 75


def test_every_failure_says_how_it_is_run_again() -> None:
    fine = Result("away", 1, 5.0, Verdict(accepted=3))
    bad = Result("power-cut", 9, 5.0, Verdict(missing=2, wrong=["a misses 2"]))
    left_out = Result("partition", 3, 0.0, Verdict(), skipped="partition is left out: only root may")
    told = report.text([fine, bad, left_out])
    assert "python -m benchmarks.faults --only power-cut --seed 9 --runs 1" in told
    assert "a misses 2" in told
    assert "only root may" in told
    assert report.summed([fine, bad, left_out]) | {
        "runs": 2,
        "failed": 1,
        "skipped": 1,
        "accepted": 3,
    } == report.summed([fine, bad, left_out])


def test_a_campaign_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []

    def pretend(scenario: str, seed: int, folder: Path, patience_s: float) -> Result:
        ran.append(seed)
        return Result(scenario, seed, 1.0, Verdict(wrong=["it broke"] if seed == 2 else []))

    monkeypatch.setattr("benchmarks.faults.__main__.run", pretend)

    def campaign(*arguments: str) -> int:
        return CliRunner().invoke(command, ["--only", "away", "--out", str(tmp_path), *arguments]).exit_code

    assert campaign("--runs", "2") == 1
    assert campaign("--runs", "4", "--resume") == 1
    assert ran == [1, 2, 3, 4]
    assert campaign("--runs", "1", "--seed", "7") == 0
    assert "it broke" not in (tmp_path / "faults.txt").read_text()


TEN = [
    ("kill-publisher", 1), ("kill-member", 2), ("kill-reader", 3), ("kill-any", 4), ("kill-any", 5),
    ("power-cut", 6), ("handed-then-cut", 7), ("away", 8), ("share", 9), ("half-written", 10),
]  # fmt: skip


@pytest.mark.slow
def test_ten_seeded_runs_of_real_processes_break_no_promise(tmp_path: Path) -> None:
    results = [run(scenario, seed, tmp_path / f"{scenario}-{seed}", patience_s=30.0) for scenario, seed in TEN]
    assert all(each.fine for each in results), report.text(results)
