"""One run: a plan is carried out, everybody comes back, and the ledgers are compared."""

import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from benchmarks.faults import ledger as words
from benchmarks.faults import machine, plan
from benchmarks.faults.checking import Verdict, check, complete
from benchmarks.faults.plan import Plan, Strike
from benchmarks.faults.stage import POLL_S, Failed, Stage

START_S = 30.0
PUBLISH_S = 120.0
REST_S = 0.5
"Whoever gets something twice gets the second soon."
LOOK_S = 0.1


class Result(Struct):
    scenario: str
    seed: int
    seconds: float
    verdict: Verdict
    skipped: str = ""
    failed: str = ""
    "Why the run could not be carried out: a process that ended, or never came up."
    settled_s: float = -1.0
    "From the last return until everybody had everything; -1: never."

    @property
    def fine(self) -> bool:
        return not self.failed and not self.verdict.wrong

    @property
    def command(self) -> str:
        return f"python -m benchmarks.faults --only {self.scenario} --seed {self.seed} --runs 1"


def run(scenario: str, seed: int, folder: Path, patience_s: float) -> Result:
    made, began = plan.make(scenario, seed), time.monotonic()
    result = Result(scenario, seed, 0.0, Verdict())
    if skipped := machine.lacking(made.needs):
        result.skipped = f"{scenario} is left out: {skipped}"
        return result
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with Stage(made, folder) as stage:
        try:
            carry_out(stage, made)
            result.settled_s = settle(stage, made, patience_s)
        except Failed as failed:
            result.failed = str(failed)
        result.verdict = check(made, stage.ledgers())
    result.seconds = round(time.monotonic() - began, 1)
    if result.fine:
        shutil.rmtree(folder)
    return result


def carry_out(stage: Stage, made: Plan) -> None:
    for name in stage.parts:
        stage.start(name)
    if not stage.until(stage.ready, START_S, LOOK_S):
        raise Failed(f"not everybody was ready in {START_S:g} s")
    stage.tell("go")
    stage.begun, began_s = True, time.monotonic()
    for strike in sorted(made.strikes, key=lambda strike: strike.at_s):
        time.sleep(max(0.0, began_s + strike.at_s - time.monotonic()))
        hit(stage, strike)
        if strike.what == "until handed":
            began_s = time.monotonic()


def hit(stage: Stage, strike: Strike) -> None:
    match strike.what:
        case "kill":
            stage.kill(strike.who)
        case "cut" if stage.halves:
            stage.halves.cut(reset=strike.value == "reset")
        case "heal" if stage.halves:
            stage.halves.heal()
            stage.returned_s = time.monotonic()
        case "fill" if stage.disk:
            stage.disk.fill()
        case "free" if stage.disk:
            stage.disk.free()
            stage.returned_s = time.monotonic()
        case _:
            for name in strike.who:
                hit_one(stage, strike, name)


def hit_one(stage: Stage, strike: Strike, name: str) -> None:
    match strike.what:
        case "start":
            stage.start(name, strike.value or 0)
        case "leave":
            stage.leave(name)
        case "stop":
            stage.send(name, signal.SIGSTOP)
        case "go on":
            stage.send(name, signal.SIGCONT)
            stage.returned_s = time.monotonic()
        case "clock":
            stage.clocks[name].set(strike.value)
        case "no descriptors" | "descriptors":
            stage.squeeze(name, enough=strike.what == "descriptors")
            stage.returned_s = time.monotonic()
        case "scribble":
            machine.scribble(stage.part(name).spool, strike.value)
        case "tear":
            machine.tear(stage.part(name).spool, strike.value)
        case "until handed":
            until_handed(stage, name, strike.value)
        case other:
            raise ValueError(f"nobody knows how to {other}")


def until_handed(stage: Stage, name: str, times: int) -> None:
    def handed(ledgers: Mapping[str, list[list[Any]]]) -> bool:
        return sum(line[0] == words.HANDED for line in ledgers[name]) >= times

    if not stage.until(handed, PUBLISH_S, POLL_S):
        raise Failed(f"{name} handed nothing over in {PUBLISH_S:g} s")


def settle(stage: Stage, made: Plan, patience_s: float) -> float:
    """Everybody is back, and everything that was promised comes."""
    for name in stage.parts:
        if name not in made.lost:
            stage.start(name)

    def published(ledgers: Mapping[str, list[list[Any]]]) -> bool:
        publishers = [part.name for part in made.parts if part.publishing and part.name not in made.lost]
        return all(any(line[0] == words.DONE for line in ledgers[name]) for name in publishers)

    if not stage.until(published, PUBLISH_S, LOOK_S):
        raise Failed(f"not everything was published in {PUBLISH_S:g} s")
    stage.returned_s = max(stage.returned_s, time.monotonic())
    whole = stage.until(lambda ledgers: complete(made, ledgers), patience_s, LOOK_S)
    settled_s = time.monotonic() - stage.returned_s
    stage.tell("tell")  # also where something is missing: what nobody asked for is another matter
    time.sleep(REST_S)
    return round(settled_s, 2) if whole else -1.0
