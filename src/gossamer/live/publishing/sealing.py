"""Events of this node's own, signed together: in a pack, or each by itself with its path to the one signature."""

from collections.abc import Sequence

from gossamer.core.events import Event
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.keys.trust import Trust
from gossamer.wire.pack import PACK_BYTES_MAX, Pack, pack
from gossamer.wire.proof import NO_PACK, leaf, levels, proofs
from gossamer.wire.sealed import seal


class Sealing:
    """What is signed is at hand as bytes from then on."""

    def __init__(self, trust: Trust, bodies: Bodies) -> None:
        self.trust, self.bodies = trust, bodies

    def seal(self, events: Sequence[Event], heads: list[bytes]) -> list[bytes] | Pack:
        """Signs events together; they travel together too, unless they are large."""
        payloads = [event.payload for event in events]
        leaves = [*map(leaf, heads, payloads)]
        tree = levels(leaves)
        if len(events) > 1 and sum(map(len, heads)) + sum(map(len, payloads)) < PACK_BYTES_MAX:
            made = pack(heads, events, tree, self.trust.stamp)
            self.bodies.add_pack(made)
            return made
        sealed = [*map(seal, heads, payloads, proofs(tree, NO_PACK, self.trust.stamp(tree)))]
        for event, its_leaf, body in zip(events, leaves, sealed, strict=True):
            self.bodies.add(event.id, its_leaf, body)
        return sealed
