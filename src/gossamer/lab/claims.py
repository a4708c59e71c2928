"""Claims: statements of a paper, beside what we measured."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from gossamer.lab.book import Line

Verdict: TypeAlias = Literal["reproduced", "differs", "cannot be compared"]


class Claim(Struct, frozen=True, kw_only=True):
    """One number or statement of a paper, and our verdict on it."""

    id: str
    where: str
    paper_says: str
    ours: str
    ci95: float | None = None
    runs: int | None = None
    verdict: Verdict
    why: str
    group: str = ""
    """Under which heading it is counted apart from the paper's other claims: one of many cells of a table, or another
    reading of what is judged already."""


def apart(claims: Sequence[Claim], group: str) -> list[Claim]:
    """Counted by themselves, under a heading of their own."""
    return [replace(claim, group=group) for claim in claims]


def by_group(claims: Sequence[Claim]) -> dict[str, list[Claim]]:
    """Claims that are counted together, by their heading. Those that have none are the paper's claims."""
    groups: dict[str, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.group, []).append(claim)
    return groups


def verdict(holds: bool) -> Verdict:
    return "reproduced" if holds else "differs"


def number(value: float) -> str:
    """As people write it: enough digits, not more."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(value: float) -> str:
    return f"{value:.2%}"


def printed(
    id: str, where: str, paper_says: str, paper: float, line: Line, tolerance: float, differs_because: str
) -> Claim:
    """A printed number: reproduced if ours is within a stated relative tolerance or its own interval of it."""
    off = line.mean / paper - 1
    holds = abs(line.mean - paper) <= max(tolerance * paper, line.ci95)
    reason = f"Ours is {off:+.2%} from the printed number; within {tolerance:.1%} counts as reproduced."
    return Claim(
        id=id,
        where=where,
        paper_says=paper_says,
        ours=number(line.mean),
        ci95=line.ci95,
        runs=line.runs,
        verdict=verdict(holds),
        why=reason if holds or not differs_because else f"{reason} {differs_because}",
    )


def incomparable(id: str, where: str, paper_says: str, why: str) -> Claim:
    return Claim(id=id, where=where, paper_says=paper_says, ours="–", verdict="cannot be compared", why=why)


def measured(line: Line) -> str:
    """A mean with its interval."""
    return f"{number(line.mean)} ± {line.ci95:.2g}"


def measured_share(line: Line) -> str:
    return f"{100 * line.mean:.1f} ± {100 * line.ci95:.1f} %"


def above(high: Line, low: Line) -> bool:
    """Whether one mean lies above another, their intervals apart."""
    return high.mean - high.ci95 > low.mean + low.ci95


def not_below(one: Line, other: Line) -> bool:
    """Whether one mean does not lie below another, intervals allowed for."""
    return one.mean + one.ci95 >= other.mean - other.ci95
