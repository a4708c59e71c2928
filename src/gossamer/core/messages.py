"""What nodes say to each other, seen from outside: every kind of message declares what it says of peers.

A driver asks for that before the machine hears of it: whoever is named must have been introduced, and whoever is made a
member of a topic must be allowed to read it.
"""

from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeAlias

from msgspec import Struct

from gossamer.core.events import Carried
from gossamer.core.ids import Peer
from gossamer.core.topics import Topic

Claim: TypeAlias = tuple[Topic, Peer]


class Reader(Protocol):
    """Reads words only this node understands."""

    @property
    def community(self) -> Topic:
        """The topic that whoever takes part in the whole network must be allowed to read."""

    def meant(self, spelled: str) -> Topic | None:
        """The topic that stands spelled in an answer; None: this node never asked for such a topic."""

    def wanted(self, packed: bytes) -> Sequence[Topic]:
        """Those of the topics known here that a peer's packed wants name."""


class Said(Struct, frozen=True):
    """A message. Unless it says otherwise, it names nobody, and anybody may say it."""

    members_only: ClassVar[bool] = False
    "Whether only who may read the topic it is about may say it: such a message claims that of its sender."

    def names(self) -> tuple[Peer, ...]:
        """The peers it names (its sender may be among them): whoever hears it must be able to reach and judge them, so
        their records travel along."""
        return ()

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        """If it is believed, these peers count as members of these topics: events will be sent to them."""
        return ()


class OfMember(Said, frozen=True):
    """Said by a member of the topic's community, or by who is about to be one."""

    members_only: ClassVar[bool] = True
    topic: Topic

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return ((self.topic, sender),)


class Carrier(Said, frozen=True):
    """Carries events. Anybody may: an event is proved by its publisher's signature, not by who passes it on."""

    packs: ClassVar[bool] = False
    "Whether its layer takes several events at a time; otherwise they come one by one."
    carried: Carried

    def names(self) -> tuple[Peer, ...]:
        return (self.carried.event.id.publisher,)


def names_of(message: Struct) -> tuple[Peer, ...]:
    """The peers a message names; control messages of a driver name nobody."""
    return message.names() if isinstance(message, Said) else ()
