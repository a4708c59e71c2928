"""How hpmcast decides. Plain numbers in, plain answers out: layer and kernel both call these."""

import math
from typing import Any

MISSED = 0.01
"What is told at once is repeated until the chance that every copy was lost is at most this."
ROUNDS_MAX = 1 << 10
"No reliability is worth more rounds than these."
LEVEL_SPAN = 1 << 32
"More than there are rounds on a level."


def rounds(size: Any, prob: Any, fanout: Any, arriving: Any) -> Any:
    """ROUNDS: Pittel's asymptote for the size · prob participants that want the event, of whom fanout · prob · arriving
    hear of it from each that has it (Fig. 6, line 27; (9)). Nobody to tell: 0, never less."""
    audience, told = size * prob, fanout * prob * arriving
    if audience <= 1.0 or told <= 0.0:
        return 0.0
    return math.log(audience) * (1.0 / math.log1p(told) + 1.0 / told)


def rounds_whole(size: Any, prob: Any, fanout: Any, arriving: Any) -> Any:
    """Rounds there are in fact: `rounds < ROUNDS` lets the next whole number of them happen."""
    return math.ceil(rounds(size, prob, fanout, arriving))


def rounds_for(size: Any, prob: Any, fanout: Any, arriving: Any, reliability: Any) -> Any:
    """Rounds until so large a share of the size · prob participants that want the event is expected to have it (5.4.1,
    footnote 10). Whoever begins is not one of them, and whoever has it tells others: the epidemic of means."""
    if size <= 1:
        return 0
    audience, missed = size * prob, 1.0 - min(1.0, fanout / (size - 1)) * arriving
    others = max(0.0, 1.0 - 1.0 / audience)  # of those that have it, none tells itself
    told, count = 0.0, 0
    while told < reliability * audience and count < ROUNDS_MAX:
        told += (audience - told) * (1.0 - missed ** (1.0 + told * others))
        count += 1
    return count


def limit(size: Any, prob: Any, fanout: Any, arriving: Any, fixed: Any, reliability: Any) -> Any:
    """How many rounds there are: T where that is fixed, or what a reliability needs where one is asked for, or else
    what ROUNDS says. Where nobody is left to tell, none."""
    if prob <= 0.0:
        return 0
    if fixed > 0:
        return fixed
    if reliability > 0.0:
        return rounds_for(size, prob, fanout, arriving, reliability)
    return rounds_whole(size, prob, fanout, arriving)


def padding(audience: Any, floor: Any, size: Any) -> Any:
    """D, where the audience is smaller: so many of the view's first participants count as interested too. Where nobody
    wants the event there is nothing to make surer, or whoever was added would add others one level below."""
    if 0.0 < audience < floor:
        return min(floor, size)
    return 0


def at_once(level: Any, audience: Any, size: Any, direct: Any, lan: Any) -> Any:
    """Whether all who want the event are told at once: they are few, or on one small LAN."""
    return audience <= direct or (level == 1 and size <= lan)


def copies(loss: Any) -> Any:
    """How often what is told at once is repeated, reckoned from the loss."""
    if loss <= 0.0:
        return 1
    return max(1, math.ceil(math.log(MISSED) / math.log(loss)))


def estimate(above: Any, lines: Any) -> Any:
    """The share of lines that match, from the share one level above: (19) solved for it."""
    return 1.0 - (1.0 - above) ** (1.0 / lines)


def refined(estimated: Any, hits: Any, looks: Any) -> Any:
    """An estimate improved by a look at some participants: it counts as one more of them."""
    return (estimated + hits) / (1.0 + looks)


def until_step(now_us: int, step_us: int, phase: float) -> int:
    """How long until the next step: one begins in every interval, at the same part of each."""
    return step_us - (now_us - int(phase * step_us)) % step_us


def turn(level: Any, round_number: Any) -> Any:
    """A round of a level as one number: what picks and losses are drawn for."""
    return level * LEVEL_SPAN + round_number
