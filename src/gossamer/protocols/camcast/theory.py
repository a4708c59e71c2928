"""How surely and how soon CAMCAST delivers, in closed form: the papers' formulas, and exact ones where those err.

"000" is the daMulticast report, "001" the CAMCAST article; c = fanout_extra, z = links, a = targets, g = electors,
p_succ = success. `sizes` lists one chain of communities root first: sizes[i] is the N of topic t_i. A function named
`*_paper` is the printed formula, errors included; the one without the suffix is the one to plan with. A community in
which everybody climbs (`Params.small`) has electors = size and targets = links. Costs are in `comparisons`.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gossamer.parts.sampling import crashed, fanout


def election(size: int, electors: float) -> float:
    """p_sel = min(1, g / N): the chance that a receiver carries the event upwards."""
    return min(1.0, electors / size)


# Climbing to the next community


def upward_sent(size: int, electors: float, links: int, targets: float, reached: float = 1.0) -> float:
    """Mean number of upward messages a community sends: N p_sel p_a z, where p_a z is a (001 4.3.1)."""
    return size * reached * election(size, electors) * min(targets, links)


def climb_paper(size: int, electors: float, links: int, targets: float, success: float, reached: float = 1.0) -> float:
    """pit, 001 eq. 6: raises 1 - p_succ to the mean number of messages, which is optimistic (Jensen) and blind to z."""
    return 1.0 - math.pow(1.0 - success, upward_sent(size, electors, links, targets, reached))


def carry_chance(size: int, electors: float, links: int, targets: float, success: float) -> float:
    """Chance that one given receiver elects itself and lands a message above: p_sel (1 - (1 - s a/z)^z)."""
    return election(size, electors) * _at_least_once(min(1.0, targets / links) * success, links)


def climb(
    size: int, electors: float, links: int, targets: float, success: float,
    reached: float = 1.0, upper_alive: float = 1.0,
) -> float:  # fmt: skip
    """Exact replacement of 001 eq. 6: some upward message arrives, each finding a live process independently.

    The binomial sums over electors and targets fold into 1 - (1 - carry_chance)^(N reached). `reached` is a known
    share: for a random one average over `reach_distribution`, or part of the paper's optimism returns.
    """
    return _at_least_once(carry_chance(size, electors, links, targets, success * upper_alive), size * reached)


def climb_sent(size: int, electors: float, links: int, targets: float, reached: float = 1.0) -> float:
    """Exact probability that an upward message is sent at all, which 000 VII and 001 6.1.2 take for certain."""
    return climb(size, electors, links, targets, 1.0, reached)


def climb_stillborn(
    size: int, electors: float, links: int, targets: float, success: float,
    upper_size: int, upper_live: int, reached: float = 1.0, shared: bool = False,
) -> float:  # fmt: skip
    """Exact climb into `upper_size` processes of which `upper_live` live, over z distinct links that never change.

    Every process drew its own links, or all hold the same (`shared`: tables gossiped to the end) and fail together.
    """
    elected, told = election(size, electors), min(1.0, targets / links) * success
    law = _live_links(links, upper_size, upper_live)
    if shared:
        return sum(p * _at_least_once(elected * _at_least_once(told, n), size * reached) for n, p in enumerate(law))
    return _at_least_once(elected * sum(p * _at_least_once(told, n) for n, p in enumerate(law)), size * reached)


def _at_least_once(chance: float, times: float) -> float:
    """1 - (1 - chance)^times, precise also where chance is tiny (g / N among 10^8 processes)."""
    if chance >= 1.0:
        return 1.0 if times > 0 else 0.0
    return -math.expm1(times * math.log1p(-chance))


def _live_links(links: int, upper_size: int, upper_live: int) -> list[float]:
    """Hypergeometric law of the live entries among z distinct members of the upper community."""
    drawn, dead = min(links, upper_size), upper_size - upper_live
    ways = math.comb(upper_size, drawn)
    return [math.comb(upper_live, live) * math.comb(dead, drawn - live) / ways for live in range(drawn + 1)]


# Reach within a community: every live process that hears tells `fanout` distinct of the size - 1 others, dead ones
# included, and each message arrives with probability `success`.


def all_reached_paper(fanout_extra: float) -> float:
    """exp(-exp(-c)), 001 4.5.1: the limit of large N for a fanout that is not rounded and messages that all arrive.

    Rounding and loss act like a smaller c: N = 1000, c = 5, p_succ = .85 gives 0.920, and not 0.993.
    """
    return math.exp(-math.exp(-fanout_extra))


def dies_out(size: int, fanout: int, success: float, live: int) -> float:
    """Extinction of the branching process in which each tells Binomial(fanout, success * live share of the others)."""
    chance, extinct = success * (live - 1) / max(1, size - 1), 0.0
    for _ in range(10_000):
        before, extinct = extinct, (1.0 - chance + chance * extinct) ** fanout
        if extinct - before < 1e-13:
            break
    return extinct


def share_reached(size: int, fanout: int, success: float, live: int) -> float:
    """Mean share of the live reached, from the final-size equation 1 - x = (1 - F s/(N-1))^(1 + (live-1) x).

    Approximation: the number informed is replaced by its mean, and the spread either dies at once (`dies_out`) or
    reaches that mean. For large N the equation is x = 1 - exp(-F s x live/N).
    """
    if live <= 1:
        return 1.0
    low, high, extinct = 0.0, 1.0, dies_out(size, fanout, success, live)
    for _ in range(60):
        share = (low + high) / 2
        grows = _at_least_once(fanout * success / (size - 1), 1 + (live - 1) * share) > share
        low, high = (share, high) if grows else (low, share)
    return ((1 - extinct) * (1 + (live - 1) * high) + extinct) / live


def all_reached(size: int, fanout: int, success: float, live: int) -> float:
    """Probability that every live process is reached: the spread takes off, and a Poisson number of missed ones is 0.

    Approximation: a process is missed when all other live ones tell it in vain, whatever happens to the next one.
    """
    if live <= 1:
        return 1.0
    missed = 1.0 - _at_least_once(fanout * success / (size - 1), live - 1)
    return (1.0 - dies_out(size, fanout, success, live)) * math.exp(-(live - 1) * missed)


def all_reached_exact(size: int, fanout: int, success: float, live: int) -> float:
    """Probability that every live process is reached, without approximation, for sizes up to some thousands."""
    return float(reach_distribution(size, fanout, success, live)[live])


def reach_distribution(size: int, fanout: int, success: float, live: int, seeds: int = 1) -> NDArray[np.float64]:
    """Exact law of how many live processes end up with the event (entry k: k of them), in time live^2 * fanout.

    Who is reached in the end does not depend on the order of sending, so senders are taken one by one: after `sent` of
    them some number is informed, and the event has died where the two are equal.
    """
    news = _newly_informed(size, fanout, success, live)
    informed, final = np.zeros(live + 1), np.zeros(live + 1)
    informed[seeds] = 1.0
    for sent in range(live):
        final[sent], informed[sent] = informed[sent], 0.0
        after = np.zeros(live + 1)
        for new in range(min(fanout, live) + 1):
            after[new:] += (informed * news[:, new])[: live + 1 - new]
        informed = after
    final[live] = informed[live]
    return final


def _newly_informed(size: int, fanout: int, success: float, live: int) -> NDArray[np.float64]:
    """Row k: the law of how many processes a sender newly informs when k live ones are informed already."""
    ignorant, hits = live - np.arange(live + 1)[:, None], np.arange(fanout + 1)
    law = np.zeros((live + 1, fanout + 1))
    law[:, 0] = 1.0
    for picked in range(fanout):
        hit = law * np.clip((ignorant - hits) / (size - 1 - picked), 0.0, 1.0)
        law -= hit
        law[:, 1:] += hit[:, :-1]
    counts = range(fanout + 1)
    arrive = [[math.comb(h, n) * success**n * (1 - success) ** max(0, h - n) for n in counts] for h in counts]
    thinned: NDArray[np.float64] = law @ np.array(arrive)
    return thinned


# Reliability and latency of a hierarchy


def reliability_paper(
    sizes: Sequence[int], fanout_extra: float, electors: float, links: int, targets: float, success: float
) -> float:
    """000 eq. 1, 001 4.5.1: product of exp(-exp(-c)) pit over all levels; the root cannot climb, yet its pit counts."""
    climbs = math.prod(climb_paper(size, electors, links, targets, success) for size in sizes)
    return climbs * all_reached_paper(fanout_extra) ** len(sizes)


def reliability(
    sizes: Sequence[int], fanout_extra: float, electors: float, links: int, targets: float, success: float,
    crashed_share: float = 0.0, inside: Callable[[int, int, float, int], float] = all_reached,
) -> float:  # fmt: skip
    """Probability that all live processes of all levels get an event of the bottom topic; the root does not climb.

    Slightly low: upper communities are taken to start from one receiver, and several may arrive. `crashed_share` of
    each community is stillborn; `inside` is all_reached or all_reached_exact.
    """
    live = [size - crashed(size, crashed_share) for size in sizes]
    if min(live) < 1:
        return 0.0
    spread = math.prod(inside(n, fanout(n, fanout_extra), success, up) for n, up in zip(sizes, live, strict=True))
    return spread * math.prod(
        climb_stillborn(size, electors, links, targets, success, sizes[above], live[above], live[above + 1] / size)
        for above, size in enumerate(sizes[1:])
    )


def rounds(size: int, constant: float = 0.0) -> float:
    """R_N = ln N / ln ln N + O(1), 001 eq. 12, and at most N - 1, for each round but the last reaches someone new.

    The ratio falls until N = 15: only from there on does R of the largest community bound the others, as 001 has it.
    """
    return size - 1.0 if size <= 2 else min(size - 1.0, math.log(size) / math.log(math.log(size)) + constant)


def latency_best(sizes: Sequence[int], constant: float = 0.0) -> float:
    """Rounds until the root is done if each first receiver climbs at once (001 4.6.1); others may still spread then."""
    return len(sizes) - 1 + rounds(sizes[0], constant)


def latency_worst(sizes: Sequence[int], constant: float = 0.0) -> float:
    """Rounds if each community is done before the event climbs (001 4.6.1)."""
    return len(sizes) - 1 + sum(rounds(size, constant) for size in sizes)


def latency_average(sizes: Sequence[int], constant: float = 0.0) -> float:
    """Rounds if the event climbs halfway through each community, and then fills the whole root."""
    return latency_best(sizes, constant) + sum(rounds(size, constant) for size in sizes[1:]) / 2


def latency_average_paper(sizes: Sequence[int], constant: float = 0.0) -> float:
    """001 4.6.1 as printed: halves the root's rounds too, so a single community beats its own best case."""
    return len(sizes) - 1 + sum(rounds(size, constant) for size in sizes) / 2
