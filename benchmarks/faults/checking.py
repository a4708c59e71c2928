"""Who should have which event, who has it, and who got one twice without being told: from the ledgers alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from benchmarks.faults import ledger as words
from benchmarks.faults.parts import Part
from benchmarks.faults.plan import Plan

Lines = Sequence[Sequence[Any]]
NAMED = 5
"How many events a complaint names."


class Verdict(Struct):
    """Counts of one run; `wrong` says what broke a promise, in sentences."""

    accepted: int = 0
    handed: int = 0
    "Those with the wanted number of copies on disk."
    refused: int = 0
    expected: int = 0
    delivered: int = 0
    missing: int = 0
    missing_handed: int = 0
    told_missing: int = 0
    "Events that gaps said are missing and may still come."
    told_gone: int = 0
    "Events that gaps said are lost for good."
    doubled: int = 0
    "Given twice, the second time without a mark."
    repeated: int = 0
    "Given twice, and marked."
    again: int = 0
    "Given again although the acknowledgement had returned."
    marked_wrongly: int = 0
    "Marked as given before, in the first life of everything."
    unasked: int = 0
    wrong: list[str] = field(default_factory=list)


def promised(plan: Plan, ledgers: Mapping[str, Lines]) -> tuple[set[str], set[str]]:
    """Events that every subscription must get, and those of them that were handed over."""
    handed = {name for lines in ledgers.values() for line in lines if line[0] == words.HANDED for name in line[1]}
    accepted = {
        line[1]
        for who, lines in ledgers.items()
        if who not in plan.lost
        for line in lines
        if line[0] == words.PUBLISHED
    }
    return accepted | handed, handed


def wants(part: Part, event: str) -> bool:
    assert part.reading
    if not part.reading.where:
        return True
    return int(event.split(":")[1]) >= int(part.reading.where.rpartition(" ")[2])


def groups(plan: Plan) -> dict[tuple[str, str], list[Part]]:
    """Readers by the subscription they share."""
    found: dict[tuple[str, str], list[Part]] = {}
    for part in plan.parts:
        if part.reading:
            found.setdefault((part.attach or part.name, part.reading.name), []).append(part)
    return found


def complete(plan: Plan, ledgers: Mapping[str, Lines]) -> bool:
    """Whether nothing is missing any more."""
    wanted, _ = promised(plan, ledgers)
    return all(
        {event for event in wanted if wants(parts[0], event)} <= seen(parts, ledgers) for parts in groups(plan).values()
    )


def seen(parts: Sequence[Part], ledgers: Mapping[str, Lines]) -> set[str]:
    return {line[1] for part in parts for line in ledgers[part.name] if line[0] == words.GOT}


def check(plan: Plan, ledgers: Mapping[str, Lines]) -> Verdict:
    wanted, handed = promised(plan, ledgers)
    verdict = Verdict(accepted=len(wanted), handed=len(handed))
    verdict.refused = sum(line[0] == words.REFUSED for lines in ledgers.values() for line in lines)
    told: list[int] = []
    for (_, name), parts in groups(plan).items():
        whose = f"{'+'.join(part.name for part in parts)}/{name}"
        told.append(check_counts(verdict, whose, parts, {e for e in wanted if wants(parts[0], e)}, handed, ledgers))
        calm = not any(part.name in plan.torn or part.attach in plan.torn for part in parts)
        check_repeats(verdict, whose, [ledgers[part.name] for part in parts], calm, struck(plan))
    if verdict.refused and min(told) >= verdict.refused:  # a number that was used up is missing everywhere
        few = f"{min(told)} are missing: {verdict.refused} were refused, none was lost"
        verdict.wrong.append(f"everybody was told that {few}")
    for who, lines in ledgers.items():
        unasked = [line[1].get("gossamer_parasites_total", 0) for line in lines if line[0] == words.NUMBERS]
        if any(unasked):
            verdict.unasked += int(max(unasked))
            verdict.wrong.append(f"{who} was sent {int(max(unasked))} events that it did not ask for")
    return verdict


def struck(plan: Plan) -> bool:
    """Whether anybody was given something that he may not have noted: then a first copy may be marked."""
    return any(strike.what in ("kill", "leave", "stop", "no descriptors") for strike in plan.strikes)


def check_counts(
    verdict: Verdict,
    whose: str,
    parts: Sequence[Part],
    wanted: set[str],
    handed: set[str],
    ledgers: Mapping[str, Lines],
) -> int:
    """How many it was told are missing and may still come."""
    missing = wanted - seen(parts, ledgers)
    gaps = [line[1] for part in parts for line in ledgers[part.name] if line[0] == words.GAP and not line[2]]
    verdict.expected += len(wanted)
    verdict.delivered += len(wanted) - len(missing)
    verdict.missing += len(missing)
    verdict.missing_handed += len(missing & handed)
    verdict.told_gone += sum(gaps)
    awaited = sum(line[1] for part in parts for line in ledgers[part.name] if line[0] == words.GAP and line[2])
    verdict.told_missing += awaited
    if missing:
        few = ", ".join(sorted(missing, key=by_number)[:NAMED])
        verdict.wrong.append(
            f"{whose} misses {len(missing)} of {len(wanted)} ({len(missing & handed)} of them handed over; {few} …), "
            f"and was told that {sum(gaps)} are gone"
        )
    elif gaps:
        verdict.wrong.append(f"{whose} misses nothing and was told that {sum(gaps)} are gone, in {len(gaps)} gaps")
    return awaited


def check_repeats(verdict: Verdict, whose: str, ledgers: Sequence[Lines], calm: bool, disturbed: bool) -> None:
    """Of one subscription. Ledgers of readers that share it have no common time: counts are all that is compared."""
    doubled, again, marked = Counter[str](), Counter[str](), Counter[str]()
    for lines in ledgers:
        given, acked = set[str](), set[str]()
        for line in lines:
            if line[0] == words.ACKED:
                acked.add(line[1])
            elif line[0] == words.GOT:
                note(line[1], line[2], given, acked, doubled, again, marked, verdict, disturbed)
    for event, times in unmarked(ledgers).items() if len(ledgers) > 1 else ():
        if times > 1:
            doubled[event] += times - 1
    for counted, said in ((doubled, "twice without a mark"), (again, "again after it had acknowledged them")):
        if counted and calm:
            few = ", ".join(sorted(counted, key=by_number)[:NAMED])
            verdict.wrong.append(f"{whose} was given {len(counted)} events {said} ({few} …)")
    if marked:
        verdict.wrong.append(f"{whose} was told of {len(marked)} events that it had them before, and it had not")
    verdict.doubled += len(doubled)
    verdict.again += len(again)
    verdict.marked_wrongly += len(marked)


def note(
    event: str,
    redelivered: bool,
    given: set[str],
    acked: set[str],
    doubled: Counter[str],
    again: Counter[str],
    marked: Counter[str],
    verdict: Verdict,
    disturbed: bool,
) -> None:
    if event in acked:
        again[event] += 1
    if event not in given:
        given.add(event)
        if redelivered and not disturbed:
            marked[event] += 1
    elif redelivered:
        verdict.repeated += 1
    else:
        doubled[event] += 1


def unmarked(ledgers: Sequence[Lines]) -> Counter[str]:
    """In how many ledgers an event stands as given for the first time."""
    found = Counter[str]()
    for lines in ledgers:
        found.update({line[1] for line in lines if line[0] == words.GOT and not line[2]})
    return found


def by_number(event: str) -> tuple[str, int]:
    who, _, number = event.partition(":")
    return who, int(number)
