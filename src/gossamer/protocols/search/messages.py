"""How contacts are asked for.

Requests travel past strangers, so topics stand in them as the network spells them: as they are, or as keyed hashes.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta

from gossamer.core.ids import Peer
from gossamer.core.messages import Claim, Reader, Said
from gossamer.core.topics import NAME_MAX

WANTED_MAX = 128
"Topics in one request: no name has more segments."
PEERS_MAX = 64
"Contacts in one answer."
TTL_MAX = 255

Spelled: TypeAlias = Annotated[str, Meta(max_length=NAME_MAX)]


class ReqContact(Said, frozen=True, tag="search.req_contact"):
    """`origin` looks for members of any of these topics, the first the dearest."""

    origin: Peer
    nonce: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    wanted: Annotated[tuple[Spelled, ...], Meta(max_length=WANTED_MAX)]
    ttl: Annotated[int, Meta(ge=0, le=TTL_MAX)]
    joining: bool = False
    "Whether the origin is about to be a member of them itself: whoever looks for one has found it."

    def names(self) -> tuple[Peer, ...]:
        return (self.origin,)

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        """Of the topics that whoever hears it looks for itself."""
        topics = [reader.meant(name) for name in self.wanted] if self.joining else []
        return tuple((topic, self.origin) for topic in topics if topic is not None)


class AnsContact(Said, frozen=True, tag="search.ans_contact"):
    """These are members of `topic`."""

    topic: Spelled
    peers: Annotated[tuple[Peer, ...], Meta(max_length=PEERS_MAX)]

    def names(self) -> tuple[Peer, ...]:
        return self.peers

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        """Its topic stands in a spelling that only who asked can read."""
        topic = reader.meant(self.topic)
        return () if topic is None else tuple((topic, peer) for peer in self.peers)


Message: TypeAlias = ReqContact | AnsContact
