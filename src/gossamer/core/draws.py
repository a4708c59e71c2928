"""Randomness as a pure function of who, what and why.

A draw never depends on the order of calls, so a machine that handles one message at a time and a kernel
that sweeps over arrays make the same choices. The same source runs on Python ints, on uint64 arrays and
under Numba's njit. For the last: no small literal may meet a uint64 in + - * & (Numba would answer int64),
hence the double shifts where a mask would be natural.
"""

from typing import Any

MASK = 0xFFFFFFFFFFFFFFFF
GOLD = 0x9E3779B97F4A7C15
SALT = 0xD1B54A32D192ED03
MIX_A = 0xBF58476D1CE4E5B9
MIX_B = 0x94D049BB133111EB

# Why a draw is made. One number each, never reused: two draws with the same reason, event and process are equal.
PICK = 1  # members of one's own community to tell
ELECT = 2  # whether to carry an event upwards
CLIMB = 3  # which links get it
LOSS = 4  # whether a transmission arrives
LINKS = 5  # static super-topic tables
VIEW = 6  # static topic tables
STILLBORN = 7  # who is crashed from the start
CROSS = 8  # processes of other clusters to tell (hierarchical broadcast)
LATENCY = 9
BURST = 10
DUPLICATE = 11
JOIN = 12
KEEP = 13
SEARCH = 14
SIZE = 15
CHURN = 16
PUBLISH = 17
TICK = 18
ROTATE = 19
ROUND = 20  # when recovery gossips, and about what
FORWARD = 21  # which neighbours a digest is passed on to
EVICT = 22  # which event leaves a full cache
TREE = 23  # the shape of a tree, and its repair
WORKLOAD = 24  # who publishes what, and when
RECONFIGURE = 25  # which link of a tree vanishes, and which appears
TAIL = 26  # who is told where an idle publisher stands
CANDIDATE = 27  # whom to connect to, of those that are equally good
ORDER = 28  # in which order messages of one moment are heard
DISCONNECT = 29  # whom to part from
REDIRECT = 30  # whom to send on to
INTEREST = 31  # which topics a node is interested in
HOME = 32  # where topics and nodes stand on the ring of notice boards
GOSSIP = 33  # whom of a view to tell in a round
LOOK = 34  # whom to look at, to improve an estimate of how many want an event
ANSWER = 35  # whether the answer to a message arrives
PLACE = 36  # which addresses of a hierarchy somebody has
VIEWS = 37  # on which level of a hierarchy to compare views, and with whom
EXCHANGE = 38  # who is told what is held
PHASE = 39  # at which moments of each interval a participant of a hierarchy gossips
CALL = 40  # how long a simulated call takes
CATCH_UP = 41  # with whom to compare what is in the log, and when
REGISTER = 42  # where a member of a topic is registered
DIVIDE = 43  # which half of a leaf a peer takes, and when it looks after its place
SAMPLE = 44  # whom of a topic's members to name, and from which branches
BLOCK = 45  # what happens to a block of processes as a whole: how many tell how many, and who hears


def mix(z: Any) -> Any:
    """Scatters 64 bits over 64 bits (the finaliser of splitmix64)."""
    z = (z ^ (z >> 30)) * MIX_A & MASK
    z = (z ^ (z >> 27)) * MIX_B & MASK
    return z ^ (z >> 31)


def fold(key: Any, word: Any) -> Any:
    """A narrower key: `key` for this word only.

    SALT differs from GOLD, or fold(k, 0) would equal draw(k, 1). The word is spread over 64 bits first, or two small
    numbers could change places: fold(1, 2) would equal fold(2, 1), seed 1 with reason 2 draw as seed 2 with 1."""
    return mix((key ^ word * GOLD & MASK) + SALT & MASK)


def draw(key: Any, index: Any) -> Any:
    """The index-th 64-bit number of a key's stream."""
    return mix(key + index * GOLD & MASK)


def unit(z: Any) -> Any:
    """64 bits as a share of one, in [0, 1)."""
    return (z >> 11) * 2.0**-53


def chance(key: Any, index: Any) -> Any:
    """The index-th draw of a key as a share of one."""
    return unit(draw(key, index))


def upper_pick(z: Any, n: Any) -> Any:
    """A number below n < 2**32 from the upper half of a draw."""
    return ((z >> 32) * n) >> 32


def lower_pick(z: Any, n: Any) -> Any:
    """A number below n < 2**32 from the lower half of a draw."""
    return (((z << 32 & MASK) >> 32) * n) >> 32


def distinct(key: int, n: int, k: int) -> list[int]:
    """k different numbers below n, in the order drawn: walk the key's stream, two picks a draw, skip repeats."""
    if k >= n:
        return list(range(n))
    picked: list[int] = []
    index = 0
    while len(picked) < k:
        z = draw(key, index)
        index += 1
        first = upper_pick(z, n)
        if first not in picked:
            picked.append(first)
            if len(picked) == k:
                break
        second = lower_pick(z, n)
        if second not in picked:
            picked.append(second)
    return picked


def largest(key: int, candidates: list[int]) -> int:
    """The candidate with the largest draw: a uniform choice that does not depend on their order."""
    return max(candidates, key=lambda candidate: draw(key, candidate))
