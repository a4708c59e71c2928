"""What one dissemination came to."""

from typing import Any, NamedTuple


class HierarchyResult(NamedTuple):
    """Numbers of one run. Shares leave the publisher out, and whoever crashed."""

    seed: int
    participants: int
    interested: int
    delivered: int
    "Those of them that got the event."
    uninterested: int
    spurious_count: int
    "Those of them that got it all the same: delegates, and who was added to an audience."
    messages: int
    rounds: int
    "Steps until the last participant that got the event had it."
    steps: int
    "Steps until nobody gossiped any more."
    view_size: float
    "Participants each one knows, on all levels together, on average; one that stands in two views counts twice."
    matches: int
    "Patterns compared with the event to find out how many want it: a line each above, a participant each on level 1."
    matches_picked: int
    "Patterns compared with it to find out who of those picked wants it."
    sent: tuple[int, ...]
    "Messages by level, the lowest first."
    load: tuple[int, ...]
    "Messages that arrived, by the highest level the receiver stands on,"
    ranks: tuple[int, ...]
    "and how many participants have that level as their highest."
    delivery: float
    "The share of the interested that got it; 1 if there were none."
    spurious: float
    "The share of the uninterested that got it; 0 if there were none."


def summed_up(counted: dict[str, Any]) -> HierarchyResult:
    """The numbers, and the shares that follow from them."""
    wanted, unwanted = counted["interested"], counted["uninterested"]
    return HierarchyResult(
        **counted,
        messages=sum(counted["sent"]),
        delivery=counted["delivered"] / wanted if wanted else 1.0,
        spurious=counted["spurious_count"] / unwanted if unwanted else 0.0,
    )
