"""How recovery decides. Plain numbers in, plain answers out: layer and kernel both call these.

Draws of a round belong to `key(ROUND, round)`: index CHOICE says which pattern or publisher, index WHICH_PULL which of
two pulls. Draws about passing a digest on belong to `key(FORWARD, word)`: a neighbour's chance is at its own number.
"""

from typing import Any

from gossamer.core.draws import chance, draw, fold, upper_pick

CHOICE = 0
WHICH_PULL = 1
MANDATORY_INDEX = 2**40 + 1
"The draw that names one neighbour where somebody must be told and nobody was drawn: no peer of a simulation has it."
OFFERS = 2**40
"Push digests besides pulling are numbered from here on, so that they draw apart from the rounds on the grid."
HURRIED = 2**41
"Rounds begun at once, because of a loss, are numbered from here on."
GAP_MAX = 1000
"""Losses asked for that were noticed at once in one stream: the newest. All of them are told, and the others are for
whoever compares logs (`protocols.catchup`)."""
SLOWEST = 32
"An adaptive interval grows to so many times its least."
TAIL_WAIT_US_MAX = 30_000_000
TAIL_REPEATS = 8


def phase(key: Any, interval_us: Any) -> Any:
    """Where a node's rounds lie on the grid of its interval; `key` is its `key(ROUND, 0)`."""
    return draw(key, 0) % interval_us


def round_at(now_us: int, origin_us: int, interval_us: int) -> int:
    """The number of the round at this time: 1 for the one at the origin (the start and the phase)."""
    return (now_us - origin_us) // interval_us + 1


def next_round_us(now_us: int, origin_us: int, interval_us: int) -> int:
    """When the first round after now is; one that is due at this very moment has had its time."""
    return origin_us + max(0, round_at(now_us, origin_us, interval_us)) * interval_us


def choice(key: Any, count: Any) -> Any:
    """Which of `count` sorted patterns, or publishers, a round is about."""
    return upper_pick(draw(key, CHOICE), count)


def asks_publisher(key: Any, publisher_share: float) -> Any:
    """Whether a combined round goes towards the publisher."""
    return chance(key, WHICH_PULL) < publisher_share


def forward_word(initiator: Any, number: Any) -> Any:
    """What stands for one digest in the draws of everybody who passes it on."""
    return fold(initiator, number)


def forwards(key: Any, neighbour: Any, forward: float) -> Any:
    """Whether this neighbour is passed the digest."""
    return chance(key, neighbour) < forward


def mandatory(key: Any, count: Any) -> Any:
    """Which of `count` sorted neighbours is told where one must be, and none was drawn."""
    return upper_pick(draw(key, MANDATORY_INDEX), count)


def expects_all(age_ms: Any, published_us: Any, since_us: Any) -> Any:
    """Whether somebody who subscribed at that time should have a publisher's count from 1 on: it began later, says the
    first event heard of it, which was published then."""
    return (age_ms > 0) & (published_us - 1000 * age_ms >= since_us)


def first_lost(highest: int, sequence: int) -> int:
    """The first event that is asked for when `sequence` is heard of after `highest`; the last is the one before."""
    return max(highest + 1, sequence - GAP_MAX)


def evicted(key: Any, count: Any) -> Any:
    """Which of `count` places in a full cache the new event takes."""
    return upper_pick(draw(key, CHOICE), count)


def next_interval(current_us: int, least_us: int, busy: bool) -> int:
    """How long to wait for the next round, a multiple of the least: it stays on the grid."""
    return least_us if busy else min(2 * current_us, SLOWEST * least_us)


def tail_wait_us(after_us: int, repeats: int) -> int:
    """How long a publisher that said so many times where it stands waits before it says so again."""
    return min(after_us << repeats, max(after_us, TAIL_WAIT_US_MAX))


def cost(payload_bytes: int) -> int:
    """What sending an event again takes of what its receiver may ask for."""
    return 1 + payload_bytes // 4096
