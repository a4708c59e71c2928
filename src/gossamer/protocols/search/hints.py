"""Who passed by: a node remembers for a while who looked for a topic, and who came to join it, and sends the one's next
request to the other. Two requests rarely reach each other's origin, but nearly always some node in common."""

from collections.abc import Iterable
from typing import TypeAlias

from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US
from gossamer.protocols.search.messages import ReqContact

REMEMBERED_MAX = 1_000
"Topics of which it is remembered who looked for them last, and as many who joined them last."
REMEMBERED_US = 60 * SECOND_US
HINTS_MAX = 3
"Peers that a request is sent to because of what is remembered, beside the neighbourhood."

LastOf: TypeAlias = dict[str, tuple[Peer, int]]


class Hints:
    """Topics stand here as they are spelled: most of them nobody here can read."""

    def __init__(self) -> None:
        self.looked: LastOf = {}
        "Who looked for a topic last, and when."
        self.came: LastOf = {}
        "Who came to join it."

    def meet(self, request: ReqContact, names: Iterable[str], now_us: int) -> list[Peer]:
        """Who should hear of this request for these topics: whoever joined one of them, and, if its origin is about to
        join, whoever looked for one. They answer for themselves: nobody is named here who may be gone."""
        told: dict[Peer, None] = {}
        for name in names:
            for table in (self.came, self.looked) if request.joining else (self.came,):
                peer, at_us = table.get(name, (request.origin, 0))
                if now_us - at_us <= REMEMBERED_US:
                    told[peer] = None
            remember(self.came if request.joining else self.looked, name, request.origin, now_us)
        told.pop(request.origin, None)
        return [*told][:HINTS_MAX]


def remember(table: LastOf, name: str, peer: Peer, now_us: int) -> None:
    table.pop(name, None)
    table[name] = (peer, now_us)
    if len(table) > REMEMBERED_MAX:
        del table[next(iter(table))]
