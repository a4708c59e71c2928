"""What CAMCAST nodes say to each other."""

from typing import Annotated, ClassVar, TypeAlias

from msgspec import Meta

from gossamer.core.ids import Peer
from gossamer.core.messages import Carrier, Claim, Reader, Said
from gossamer.core.topics import Topic

PEERS_MAX = 64
"Members named in one message."

Nonce: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Carry(Carrier, frozen=True, tag="camcast.carry", gc=False):
    """An event on its way through a community or up to the next."""

    packs: ClassVar[bool] = True


class Probe(Said, frozen=True, tag="camcast.probe"):
    """Are you there, and in this topic's community? (CHECK of Fig. 6)"""

    nonce: Nonce
    topic: Topic


class Alive(Said, frozen=True, tag="camcast.alive"):
    """I am there; and in that community, unless not `here`."""

    nonce: Nonce
    topic: Topic
    here: bool = True

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return ((self.topic, sender),) if self.here else ()


class Away(Said, frozen=True, tag="camcast.away"):
    """You sent me an event of this topic, and I am in none of the communities it concerns (any more)."""

    topic: Topic


class NewProcess(Said, frozen=True, tag="camcast.new_process"):
    """Name `count` members of this topic's community (Fig. 6, lines 18-22); our `below` wants to link to them."""

    topic: Topic
    below: Topic
    count: Annotated[int, Meta(ge=0, le=PEERS_MAX)]


class ContactList(Said, frozen=True, tag="camcast.contacts"):
    """The answer, and what travels with membership updates: these peers are members of `topic`."""

    below: Topic
    topic: Topic
    peers: Annotated[tuple[Peer, ...], Meta(max_length=PEERS_MAX)]
    failed: Annotated[tuple[Peer, ...], Meta(max_length=PEERS_MAX)] = ()

    def names(self) -> tuple[Peer, ...]:
        return self.peers

    def claims(self, sender: Peer, reader: Reader) -> tuple[Claim, ...]:
        return tuple((self.topic, peer) for peer in self.peers)


Message: TypeAlias = Carry | Probe | Alive | Away | NewProcess | ContactList
