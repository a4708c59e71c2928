"""What CAMCAST nodes say to each other."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.events import Carried
from gossamer.core.ids import Peer
from gossamer.core.topics import Topic

PEERS_MAX = 64
"Members named in one message."

Nonce: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Carry(Struct, frozen=True, tag="camcast.carry", gc=False):
    """An event on its way through a community or up to the next."""

    carried: Carried


class Probe(Struct, frozen=True, tag="camcast.probe"):
    """Are you there, and in this topic's community? (CHECK of Fig. 6)"""

    nonce: Nonce
    topic: Topic


class Alive(Struct, frozen=True, tag="camcast.alive"):
    """I am there; and in that community, unless not `here`."""

    nonce: Nonce
    here: bool = True


class NewProcess(Struct, frozen=True, tag="camcast.new_process"):
    """Name `count` members of this topic's community (Fig. 6, lines 18-22); our `below` wants to link to them."""

    topic: Topic
    below: Topic
    above: Topic
    count: Annotated[int, Meta(ge=0, le=PEERS_MAX)]
    rotate: bool = False


class Contacts(Struct, frozen=True, tag="camcast.contacts"):
    """The answer, and what travels with membership updates: these peers are members of `topic`."""

    below: Topic
    above: Topic
    topic: Topic
    peers: Annotated[tuple[Peer, ...], Meta(max_length=PEERS_MAX)]
    failed: Annotated[tuple[Peer, ...], Meta(max_length=PEERS_MAX)] = ()
    rotate: bool = False


Message: TypeAlias = Carry | Probe | Alive | NewProcess | Contacts

MEMBERS_ONLY: tuple[type[Struct], ...] = ()
"""A `Carry` may come from a publisher that does not read its topic, and so may requests for links; `Contacts` come from
members below as well as above, and `Alive` only confirms an entry that was judged when it came."""
