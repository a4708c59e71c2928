"""What a campaign found: a table to read, and the same as JSON."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.faults.checking import Verdict
from benchmarks.faults.run import Result

COUNTS = tuple(name for name in Verdict.__struct_fields__ if name != "wrong")
SHOWN = (
    "accepted",
    "refused",
    "handed",
    "expected",
    "missing",
    "missing_handed",
    "told_missing",
    "told_gone",
    "doubled",
    "repeated",
    "again",
)


def summed(results: Sequence[Result]) -> dict[str, Any]:
    ran = [each for each in results if not each.skipped]
    settled = sorted(each.settled_s for each in ran if each.settled_s >= 0)
    return {
        "runs": len(ran),
        "failed": sum(not each.fine for each in ran),
        "skipped": len(results) - len(ran),
        "seconds": round(sum(each.seconds for each in ran), 1),
        "settled_s_worst": settled[-1] if settled else None,
        **{name: sum(getattr(each.verdict, name) for each in ran) for name in COUNTS},
    }


def by_scenario(results: Sequence[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for each in results:
        found.setdefault(each.scenario, []).append(each)
    return found


def complaints(results: Sequence[Result]) -> Iterator[str]:
    for each in results:
        if not each.skipped and not each.fine:
            yield f"{each.scenario}, seed {each.seed}:"
            yield from (f"    {said}" for said in [*([each.failed] if each.failed else []), *each.verdict.wrong])
            yield f"    again: {each.command}"


def text(results: Sequence[Result]) -> str:
    rows = [["scenario", "runs", "failed", *(name.replace("_", " ") for name in SHOWN), "settled s"]]
    groups = by_scenario(results)
    for name, group in [*groups.items(), *([("all", list(results))] if len(groups) > 1 else [])]:
        told = summed(group)
        settled = "–" if told["settled_s_worst"] is None else f"{told['settled_s_worst']:g}"
        rows.append([name, *(str(told[key]) for key in ("runs", "failed", *SHOWN)), settled])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    left_out = dict.fromkeys(each.skipped for each in results if each.skipped)
    return "\n".join([*lines, "", *left_out, *complaints(results)]).rstrip() + "\n"


def write(out: Path, results: Sequence[Result]) -> None:
    told = {
        "all": summed(results),
        "scenarios": {name: summed(group) for name, group in by_scenario(results).items()},
        "failures": [
            {"scenario": each.scenario, "seed": each.seed, "command": each.command, "failed": each.failed,
             "wrong": each.verdict.wrong}
            for each in results if not each.skipped and not each.fine
        ],
        "skipped": sorted({each.skipped for each in results if each.skipped}),
    }  # fmt: skip
    (out / "faults.json").write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=2))
    (out / "faults.txt").write_text(text(results))
