"""What a node takes over from its former life, by what its spool still has."""

import contextlib

from gossamer.core.errors import PeerFault
from gossamer.core.ids import EventId, Peer
from gossamer.live.arriving.records import Records
from gossamer.live.spool import Spool

CONTACTS_MAX = 16
"Peers of a former life to begin with, beside the seeds."
REMEMBERED = 100_000
"Events of a former life that are not news."


async def old_acquaintances(spool: Spool, records: Records) -> list[Peer]:
    """Peers it was linked to, as far as their records are still good: a node finds its network again even where no seed
    answers."""
    found = []
    for peer, data in (await spool.remembered())[-CONTACTS_MAX:]:
        with contextlib.suppress(PeerFault):
            if records.admit(data).peer == peer != records.me:
                found.append(peer)
    return found


async def former_life(spool: Spool) -> tuple[tuple[EventId, ...], int]:
    """What is not news, and how much still has to be handed over. A publication that was not delivered here yet, to
    readers of this same node, is news to them."""
    seen = await spool.seen(REMEMBERED)
    own, waiting = await spool.outbox_ids(REMEMBERED)
    news = {*own} - await spool.delivered(own)
    return tuple(each for each in seen if each not in news), waiting
