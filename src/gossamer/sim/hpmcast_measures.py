"""What came of a run of living participants, in numbers."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from gossamer.core.machine import SECOND_US
from gossamer.protocols.hpmcast.levels import ViewLine
from gossamer.sim.hpmcast_changes import hpmcast_of
from gossamer.sim.hpmcast_conditions import LivingSetting
from gossamer.sim.hpmcast_ledger import EventFate
from gossamer.sim.hpmcast_world import LivingHierarchy

MINUTE_US, HOUR_US = 60 * SECOND_US, 3600 * SECOND_US


def run(setting: LivingSetting, seeds: Sequence[int]) -> list[dict[str, float]]:
    """One of each seed. What a run says nothing about is left out."""
    return [measured(setting, seed) for seed in seeds]


def measured(setting: LivingSetting, seed: int) -> dict[str, float]:
    living = LivingHierarchy(setting, seed)
    living.play()
    return {
        **dict(_events(living)),
        **dict(_arrivals(living)),
        **dict(_failures(living)),
        **dict(_views(living)),
        "participants": len(living.residents.peers),
    }


def _events(living: LivingHierarchy) -> Iterator[tuple[str, float]]:
    """Of those that were up as long as an event may take."""
    ledger, fates = living.ledger, [*living.ledger.fates.values()]
    if not fates:
        return
    wanted, unwanted = ([got for fate in fates for got in _reached(living, fate, wants)] for wants in (True, False))
    took = [max(got.after_us for got in fate.told.got.values()) for fate in fates if fate.told.got]
    yield "delivery", fmean(wanted) if wanted else 1.0
    yield "spurious", fmean(unwanted) if unwanted else 0.0
    yield "messages", ledger.copies / len(fates)
    if took:
        yield "latency_ms", fmean(took) / 1000
    if ledger.copies:
        yield "way_ms", ledger.way_us / ledger.copies / 1000
    published = [(fate.told.event, fate.up) for fate in fates]
    joint = [living.residents.joint_interest(event.topic, [*up, event.id.publisher]) for event, up in published]
    for level, shares in enumerate(zip(*joint, strict=True), start=1):
        yield f"interest_level_{level}", fmean(shares)


def _reached(living: LivingHierarchy, fate: EventFate, wanting: bool) -> list[bool]:
    """Who of those that want an event, or of those that do not, got it."""
    wants, topic = living.residents.wants, fate.told.event.topic
    return [got for peer, got in fate.stayed.items() if (topic in wants[peer]) == wanting]


def _arrivals(living: LivingHierarchy) -> Iterator[tuple[str, float]]:
    """By how far the contact of a newcomer lives."""
    found = [*living.newcomers.found.values()]
    for distance in range(1, living.residents.levels + 1):
        there = [each for each in found if each.distance == distance]
        took = [each.took_us for each in there if each.took_us is not None]
        if there:
            yield f"join_messages_{distance}", fmean(each.messages for each in there)
            yield f"join_bytes_{distance}", fmean(each.bytes for each in there)
        if took:
            yield f"join_ms_{distance}", fmean(took) / 1000
    if found:
        yield "lost_newcomers", fmean(each.took_us is None for each in found)


def _failures(living: LivingHierarchy) -> Iterator[tuple[str, float]]:
    """How soon failures left the views of each level, and how often the living were taken for dead."""
    found, ledger = [*living.failures.found.values()], living.ledger
    for level in range(1, living.residents.levels + 1):
        gone = [each.gone_us[level] for each in found if level in each.gone_us]
        if gone:
            yield f"gone_s_level_{level}", fmean(gone) / SECOND_US
    if found:
        yield "unnoticed", fmean(bool(each.left) for each in found)
    if living.lived_us:
        yield "suspected", ledger.suspected * MINUTE_US / living.lived_us
        yield "mistaken", ledger.mistaken * HOUR_US / living.lived_us
        yield "upkeep", ledger.upkeep * SECOND_US / living.lived_us


def _views(living: LivingHierarchy) -> Iterator[tuple[str, float]]:
    up = [hpmcast_of(living.world, peer) for peer in living.world.up]
    lines: list[ViewLine] = [
        line for spread in up for level in range(1, spread.views.levels + 1) for line in spread.views.lines(level)
    ]
    if up:
        yield "view_size", sum(len(line.peers) for line in lines) / len(up)
    if living.setting.upkeep.choice == "address":
        yield "views_right", fmean(living.right)
