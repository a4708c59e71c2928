"""What can be tuned in the gossiped interest view."""

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US
from gossamer.protocols.interests.messages import AGE_MS_MAX, MARKS_MAX

AT_LEAST_ONE = (
    "view_max",
    "leaves",
    "marks",
    "fanout",
    "renewed",
    "gossip_every_us",
    "hurry_every_us",
    "forget_us",
    "asks",
)


class Params(Struct, frozen=True, kw_only=True):
    """One node's settings; nodes of a network may differ."""

    view_max: int = 256
    """Nodes known, with what they want. The paper finds 5 % of a network enough; topics that are rarer than that are
    found at their homes. More: better neighbours, and proportionally more memory, and traffic after changes."""
    leaves: int = 4
    "Nodes kept on each side of this one on the ring of positions. More: homes are found surer while many nodes fail."
    marks: int = 32
    "Nodes named in one digest, at about 20 bytes. More: news travels faster."
    fanout: int = 3
    "Peers a digest goes to each time; each answers with one of its own."
    renewed: int = 1
    """Strangers of each digest that a full view takes in, for as many others it forgets. More: views mix faster, at the
    cost of sending what they want."""
    gossip_every_us: int = 1 * SECOND_US
    "How often. Shorter: changes are known sooner."
    hurry_every_us: int = SECOND_US // 5
    """The same for a few turns after a node came or its own interest changed; and how soon those are asked again that
    do not answer. Several round trips."""
    forget_us: int = 10 * SECOND_US
    """A node of which nobody heard for this long is forgotten. Longer than news takes to everybody: about
    view_max / marks digests for each doubling of the network."""
    asks: int = 8
    "Digests in vain after which a node is given up: one that is there is silent so often once in 10⁵ at 10 % loss."

    def __post_init__(self) -> None:
        for name in AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise Misuse(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.marks > MARKS_MAX:
            raise Misuse(f"marks must be at most {MARKS_MAX}, not {self.marks}: peers would not hear of more")
        if self.view_max <= 2 * self.leaves:
            raise Misuse(
                f"view_max must exceed {2 * self.leaves}, both sides' leaves: no room for others would be left"
            )
        if self.forget_us <= 2 * self.gossip_every_us:
            raise Misuse("forget_us must exceed two of gossip_every_us: everybody would be forgotten in between")
        if self.forget_us // 1000 > AGE_MS_MAX:
            raise Misuse(f"forget_us must be at most {AGE_MS_MAX * 1000}: no greater age can be told")
