"""How SpiderCast decides. Plain numbers in, plain answers out: task and kernel both call these.

One task (greedy or random) of one node: `degree` is how many neighbours it has, `limit` how many it wishes at most
(L^max), `target` how many it needs as far as it knows (L), `under` how many topics are not covered well enough.
"""

from typing import Any

GREEDY, RANDOM = 0, 1
"The tasks. Each keeps neighbours of its own; the overlay is the union."

BEYOND = {"prose": 0, "figure": 1}
"Links that a neighbour must have beyond its target before it is asked to part, by either reading (`Params.parting`)."
RANDOM_MOST = 4
"K_r never grows further (3.3.1: it is raised while it is at most 3)."
SEEKS = 4
"How often a home is asked before a node that nothing changes for gives up."
SEEK_AGAIN = 4
"Rounds from the first question to the second; then twice as long each time."
INTRODUCED_MAX = 16
"Candidates heard of from others that are remembered; the oldest gives way."
BOARD_MAX = 8
"Seekers a home remembers per topic; who asked longest ago gives way."


def limit_of(coverage: Any, needs: Any) -> Any:
    """L^max: as many links as it takes if each covers one topic (Fig. 2, line 4)."""
    return coverage * needs


def word_of(turn: Any, task: Any) -> Any:
    """What a round's draws of one task are keyed by."""
    return 2 * turn + task


def wants_more(under: Any, degree: Any, limit: Any) -> Any:
    """Whether to look for another neighbour (Fig. 2, lines 6–10)."""
    return under > 0 and degree < limit


def wants_fewer(under: Any, degree: Any, limit: Any) -> Any:
    """Whether to look for a neighbour to part from (Fig. 2, line 11)."""
    return under == 0 or degree > limit


def settled(degree: Any, limit: Any) -> Any:
    """L of a node that looks for nobody (Fig. 2, line 22)."""
    return min(degree, limit)


def can_spare(degree: Any, target: Any, beyond: Any) -> Any:
    """Whether a neighbour could do with one link less, as far as its heartbeat tells: with so many beyond its target
    (`BEYOND`)."""
    return degree >= target + beyond


def may_ask_again(degree: Any, told: Any) -> Any:
    """Whether a neighbour that refused to part may be asked once more: its degree has risen above what it told before,
    so it may do without a link that it needed."""
    return degree > told


def asks_to_part(degree: Any, limit: Any, under_without: Any) -> Any:
    """Whether the best candidate is asked (Fig. 2, lines 23–30)."""
    return degree > limit or under_without == 0


def parts(degree: Any, target: Any, under_without: Any) -> Any:
    """Whether a node that is asked to disconnect does (Fig. 4, line 23)."""
    return degree > target or under_without == 0


def has_room(degree: Any, limit: Any, margin: Any) -> Any:
    """Whether another neighbour is taken (Fig. 4, lines 2 and 13); with its target for `limit`, whether a neighbour
    is worth sending others to (line 7)."""
    return degree < limit + margin


def raised(target: Any, degree: Any, limit: Any, margin: Any) -> Any:
    """L once a neighbour was added and is counted in `degree` (Fig. 4, lines 4–5 and 15–16)."""
    return target + 1 if target < limit and degree < target + margin else target


def random_coverage(
    now: Any, greedy: Any, under_greedy: Any, degree_greedy: Any, under: Any, links: Any, needs: Any
) -> Any:
    """K_r of a node that adapts it (3.3.1): the first when greedy coverage took as few links as it can, more while
    there are fewer links than topics. `under` is the random task's, `links` counts a neighbour of both tasks once."""
    if now == 0:
        return 1 if needs > 0 and under_greedy == 0 and degree_greedy == greedy else 0
    return now + 1 if now < RANDOM_MOST and under == 0 and links < needs else now


def seeks(attempts: Any, turn: Any, due: Any) -> Any:
    """Whether a node that has nobody to connect to asks the home of a topic now."""
    return attempts < SEEKS and turn >= due


def seek_next(attempts: Any, turn: Any) -> Any:
    """When to ask again after so many attempts (from 1), the last one now."""
    return turn + (SEEK_AGAIN << (attempts - 1))
