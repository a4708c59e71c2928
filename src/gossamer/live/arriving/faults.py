"""Losses made on purpose: a network that loses, without one. What is lost never reaches the machine."""

import logging

from gossamer.core.draws import LOSS, fold
from gossamer.core.errors import PeerFault
from gossamer.core.ids import Peer
from gossamer.live.config.tables import FaultsConfig
from gossamer.parts.bursts import bursts_of
from gossamer.wire.frame import Batch, Copy, PackCopy
from gossamer.wire.pack import Pack, unpack

log = logging.getLogger("gossamer.node")


class DeliberateLoss:
    """Draws for every event and message that comes over a link whether it arrives. What links say for themselves, such
    as acknowledgements, is spared: it stands for the transport."""

    def __init__(self, me: Peer, config: FaultsConfig) -> None:
        self.me = me
        self.seed = fold(config.seed, me)
        self.network = bursts_of(self.seed, config.loss, config.burst)
        self.count = 0
        self.lost_count = 0

    def lost(self, peer: Peer) -> bool:
        self.count += 1
        lost = self.network.lost(peer, self.me, fold(fold(self.seed, LOSS), self.count))
        self.lost_count += lost
        return lost

    def left(self, peer: Peer, batch: Batch) -> Batch:
        """What of a batch's events arrives. Of a pack each is lost by itself; the others arrive alone."""
        pairs = [pair for pair in zip(batch.copies, batch.bodies, strict=True) if not self.lost(peer)]
        copies, bodies, packs = [copy for copy, _ in pairs], [body for _, body in pairs], []
        for each in batch.packs:
            pack = opened(each)
            if pack is None:
                packs.append(each)
                continue
            arrived = [event_id for event_id in pack.ids if not self.lost(peer)]
            if len(arrived) == len(pack.ids):
                packs.append(each)
                continue
            for event_id in arrived:
                if (alone := pack.alone(event_id)) is not None:
                    copies.append(Copy(event_id, alone[0], each.hops, each.tag, each.route))
                    bodies.append(memoryview(alone[1]))
        return Batch(batch.records, copies, bodies, batch.messages, packs)


def losing_of(me: Peer, name: str, config: FaultsConfig) -> DeliberateLoss | None:
    """None: nothing is to be lost on purpose."""
    if not config.loss:
        return None
    log.warning("%s loses %g %% of what it hears, as [faults] says", name, 100 * config.loss)
    return DeliberateLoss(me, config)


def opened(copy: PackCopy) -> Pack | None:
    """None: whoever judges it has a word to say."""
    try:
        return unpack(bytes(copy.content))[0]
    except PeerFault:
        return None
