"""Verdicts about CAMCAST's membership services: each follows from the numbers, and could be the other one."""

from collections.abc import Callable
from itertools import product
from math import log

import pytest
from msgspec.structs import replace

from gossamer.lab.book import Book, Line
from gossamer.lab.claims import Claim
from gossamer.lab.papers import camcast_costs, camcast_reached
from gossamer.lab.papers.camcast_curves import CLIMBS, NAMES, SERVICES, SIZES, UNIFORM, V1, V2, V3
from gossamer.lab.papers.communities import BOTTOM, MIDDLE, ROOT

GROUPS = (BOTTOM, MIDDLE, ROOT)
Mean = Callable[[str, str, float], float]


def reach(name: str, group: str, climb: float) -> float:
    """A network as the paper tells of it: everything well from a chance of 0.07 on, and better with structure."""
    return 1.0 if climb >= 0.07 or group == BOTTOM else 0.8 + 0.05 * NAMES.index(name)


GOOD: dict[str, Mean] = {
    "reception": reach,
    "reliability": reach,
    "crossed": lambda name, group, climb: 1.0 if climb >= 0.07 or group == BOTTOM else 0.1,
    "efficiency": lambda name, group, climb: 0.6 - 0.3 * climb + 0.05 * NAMES.index(name),
    "sent_intra": lambda name, group, climb: SIZES[name][group] * log(SIZES[name][group]) * reach(name, group, climb),
    "sent_up": lambda name, group, climb: 2 * SIZES[name][group] * climb,
    "rounds_last": lambda name, group, climb: 9 - 2 * climb,
}


def judged(metric: str = "", changed: Mean | None = None) -> dict[str, Claim]:
    """All claims, with one metric of the good network changed."""
    means = {**GOOD, **({metric: changed} if changed else {})}
    ideal = Line(
        point={}, group="", metric="", mean=0.0, ci95=0.01, p50=0.0, p99=0.0, max=0.0, runs=200
    )  # fmt: skip
    lines = {
        SERVICES: [
            replace(ideal, point={"case": name, "publish.climb": climb}, group=group, metric=each,
                    mean=means[each](name, group, climb))
            for name, climb, group, each in product(NAMES, CLIMBS, GROUPS, GOOD)
        ],
        UNIFORM: [
            replace(ideal, point={"publish.climb": climb}, group=group, metric=each, mean=GOOD[each](V3, group, climb))
            for climb, group, each in product(CLIMBS, GROUPS, GOOD)
        ],
    }  # fmt: skip
    book = Book(lines)
    return {claim.id: claim for claim in (*camcast_reached.claims(book), *camcast_costs.claims(book))}


def test_what_the_paper_says_is_reproduced_by_a_network_that_does_so() -> None:
    verdicts = {id: claim.verdict for id, claim in judged().items()}
    assert verdicts.pop("services-values") == "cannot be compared"
    assert set(verdicts.values()) == {"reproduced"}, verdicts
    assert len(verdicts) == 18


@pytest.mark.parametrize(
    ("id", "metric", "changed"),
    [
        ("services-structure", "efficiency", lambda name, group, climb: 0.6 - 0.1 * NAMES.index(name)),
        ("services-converge", "reception", lambda name, group, climb: 0.98),
        ("services-low", "reception", lambda name, group, climb: climb),
        ("services-fastest", "reception", lambda name, group, climb: reach(V3, group, climb)),
        ("services-reception-rises", "reception", lambda name, group, climb: 1 - climb),
        ("services-v1-v2", "reception", lambda name, group, climb: reach(V3, group, climb)),
        ("services-reliability", "reliability", lambda name, group, climb: 0.8),
        ("services-once-there", "reliability", lambda name, group, climb: 0.8),
        ("services-efficiency-falls", "efficiency", lambda name, group, climb: 0.5),
        ("services-upward", "sent_up", lambda name, group, climb: 20.0),
        ("services-inside", "sent_intra", lambda name, group, climb: 20.0),
        ("services-nothing-climbs", "crossed", lambda name, group, climb: 1.0),
        ("services-bound", "sent_intra", lambda name, group, climb: 500.0),
        ("services-efficiency-order", "efficiency", lambda name, group, climb: 0.5 - 0.3 * climb),
        ("services-latency-falls", "rounds_last", lambda name, group, climb: 5.0),
        ("services-upward-alike", "sent_up", lambda name, group, climb: climb * (300.0 if name == V1 else 150.0)),
        ("headline-7-percent", "reliability", lambda name, group, climb: 0.9 if group == ROOT else 1.0),
        ("services-uniform", "reliability", lambda name, group, climb: reach(V2, group, climb)),
    ],
)
def test_another_network_gets_the_other_verdict(id: str, metric: str, changed: Mean) -> None:
    assert judged(metric, changed)[id].verdict == "differs"
