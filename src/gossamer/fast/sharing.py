"""Which topics the two ends of each link share, and from that every topic's own graph: all of them in one.

The vertices are the pairs (node, topic), a topic's side by side; a link joins as many pairs of them as its ends share
topics. The whole overlay is the case in which everybody wants the same one topic.
"""

from typing import Any

ENTRY = "share"
SOURCES = ()


def share(starts: Any, topics: Any, place: Any, links: Any, shared: Any, cursors: Any, ends: Any, fill: Any) -> None:
    """Counts for each link the topics its ends share, and for each pair its neighbours (in `cursors`); with `fill`
    writes these down, from where `cursors` begins for each pair."""
    for link in range(len(links)):
        left, right = links[link, 0], links[link, 1]
        a, a_end = starts[left], starts[left + 1]
        b, b_end = starts[right], starts[right + 1]
        count = 0
        while a < a_end and b < b_end:
            if topics[a] == topics[b]:
                here, there = place[a], place[b]
                if fill:
                    ends[cursors[here]] = there
                    ends[cursors[there]] = here
                cursors[here] += 1
                cursors[there] += 1
                count += 1
                a += 1
                b += 1
            elif topics[a] < topics[b]:
                a += 1
            else:
                b += 1
        shared[link] = count
