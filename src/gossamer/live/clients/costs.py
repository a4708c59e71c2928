"""What a client's request costs its node, in units of the cheapest: a short publication."""

from gossamer.core.machine import Message
from gossamer.live.links.control import Await, Delete, Handled, ListThem, Look, Mark, Offer, Read, Through

LISTED = 1 / 32
"Each of many things that are named."
LETTER = 1 / 16
"Of a filter."
REFUSED = 100
"What is counted besides for a request that is refused: nobody needs many of these, however fast it publishes."


def cost_of(message: Message) -> float:
    match message:
        case Offer(payload=payload, parents=parents):
            return 1 + len(payload) / 1024 + len(parents) * LISTED
        case Handled(places=places):
            return 2 + len(places) * LISTED
        case Await(events=events):
            return 4 + len(events) * LISTED
        case Read(where=where, parents=parents):
            return 32 + len(where) * LETTER + len(parents) * LISTED
        case Look(where=where, items=items):
            return 8 + len(where) * LETTER + items * LISTED
        case ListThem() | Delete() | Mark() | Through():
            return 16
    return 1
