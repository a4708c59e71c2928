"""How alike the interests of nodes are: what each shares with those most like it (section 3.4)."""

from typing import Any

ENTRY = "likeness"
SOURCES = ()


def likeness(
    starts: Any, topics: Any, firsts: Any, members: Any, asked: Any, shared: Any, best: Any, each: Any
) -> None:
    """For each node asked about, the mean share, in per cent, of topics it has in common with the so many nodes most
    like it, as many as `best` has room for. members[firsts[t]:firsts[t + 1]] want topic t; `shared` comes in as zeros.
    """
    for i in range(len(asked)):
        node = asked[i]
        size = starts[node + 1] - starts[node]
        for at in range(starts[node], starts[node + 1]):
            for other in range(firsts[topics[at]], firsts[topics[at] + 1]):
                shared[members[other]] += 1
        shared[node] = 0
        best[:] = 0.0
        for other in range(len(shared)):
            if shared[other]:
                keep(best, 100.0 * shared[other] / min(size, starts[other + 1] - starts[other]))
                shared[other] = 0
        each[i] = best.sum() / len(best)


def keep(best: Any, value: Any) -> None:
    """The largest values, as a heap whose first is the smallest: another takes its place if it is larger."""
    if value <= best[0]:
        return
    hole, child = 0, 1
    while child < len(best):
        if child + 1 < len(best) and best[child + 1] < best[child]:
            child += 1
        if best[child] >= value:
            break
        best[hole] = best[child]
        hole, child = child, 2 * child + 1
    best[hole] = value
