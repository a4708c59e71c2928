"""What messages say of peers: for a driver that asks for everybody's grant, and for records of whoever is named, before
the machine hears of it."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.parts.wants import Wants
from gossamer.protocols.camcast.messages import Carry, Contacts
from gossamer.protocols.dispatch.messages import Offer, Route, Tell
from gossamer.protocols.flood.messages import Graft, Have, Near, Pass, Prune
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.messages import Digest as HpmcastDigest
from gossamer.protocols.hpmcast.messages import Gossip, Ping, Pong, Row
from gossamer.protocols.hpmcast.messages import Join as HpmcastJoin
from gossamer.protocols.hpmcast.messages import Tell as HpmcastTell
from gossamer.protocols.interests.messages import Digest as InterestsDigest
from gossamer.protocols.interests.messages import Tell as InterestsTell
from gossamer.protocols.recovery.messages import Again, Ask, Digest, Latest, Lost, Want
from gossamer.protocols.scamp.messages import Accept, Beat, Forward, Gone, Here, Join, Kept, Marks
from gossamer.protocols.search.layer import Search
from gossamer.protocols.search.messages import AnsContact, ReqContact
from gossamer.protocols.spidercast.layer import Spidercast
from gossamer.protocols.spidercast.messages import Beat as SpidercastBeat
from gossamer.protocols.spidercast.messages import Connect, ConnectOk, Found, Redirect, Seek

Claim: TypeAlias = tuple[Topic, Peer]
Meaning: TypeAlias = Callable[[str], Topic | None]


def meaning(node: Stack) -> Meaning:
    """Reads the spelled topic of an answer to this node's own search; None: it never asked for such a topic."""
    search = next((layer for layer in node.layers if isinstance(layer, Search)), None)
    return search.meant if search is not None else lambda spelled: None


def claims(message: Message, sender: Peer, meant: Meaning | None = None) -> tuple[Claim, ...]:
    """If this message is believed, these peers count as members of these topics: events will be sent to them.

    An answer to a search names its topic in a spelling that only the asker can read; pass `meaning(node)`."""
    claimed = _CLAIMS.get(type(message))
    if claimed is not None:
        return claimed(message, sender)
    if type(message) is AnsContact and meant is not None and (topic := meant(message.topic)) is not None:
        return tuple((topic, peer) for peer in message.peers)
    return ()


def wanting(node: Stack, community: Topic = ROOT) -> Callable[[Message], Sequence[Topic]]:
    """Reads in what others say they want which topics it is about, of those this node knows: its own, and those above
    them. It is going to send them events of these. In a hierarchy everybody carries what others want: whoever takes
    part in it must be allowed to read all of the community."""
    if isinstance(node.spread, Hpmcast):
        return lambda message: (community,) if isinstance(message, _OF_PARTICIPANTS) else ()
    overlay = next((layer for layer in node.layers if isinstance(layer, Spidercast)), None)
    if overlay is None:
        return lambda message: ()

    def wanted(message: Message) -> Sequence[Topic]:
        packed = message.wants if isinstance(message, Connect | ConnectOk | SpidercastBeat) else None
        wants = None if packed is None else Wants.read(packed)
        if wants is None:
            return ()
        known = dict.fromkeys(each for mine in node.interest.mine() for each in (mine, *node.hierarchy.ancestors(mine)))
        chains = {topic: overlay.chain(topic) for topic in known}
        return [topic for topic, chain in chains.items() if wants.names(chain)]

    return wanted


def introduces(message: Message) -> tuple[Peer, ...]:
    """The peers a message names (its sender may be among them): whoever hears it must be able to reach and judge them,
    so their records travel along."""
    named = _NAMES.get(type(message))
    return () if named is None else named(message)


def _of_sender(message: Any, sender: Peer) -> tuple[Claim, ...]:
    return ((message.topic, sender),)


def _of_both(message: Any, sender: Peer) -> tuple[Claim, ...]:
    """A subscription is told by its subscriber, then passed on by members."""
    if message.who == sender:
        return ((message.topic, sender),)
    return ((message.topic, message.who), (message.topic, sender))


def _of_initiator(message: Lost | Ask, sender: Peer) -> tuple[Claim, ...]:
    """Whoever asks, and not who passes it on, is going to be sent events."""
    asked = (message.pattern,) if isinstance(message, Lost) else tuple(each.pattern for each in message.wanted)
    return tuple(dict.fromkeys((pattern.topic, message.initiator) for pattern in asked))


def _of_heir(message: Gone, sender: Peer) -> tuple[Claim, ...]:
    return () if message.instead is None else ((message.topic, message.instead),)


def in_rows(rows: Sequence[Row]) -> tuple[Peer, ...]:
    """Everybody that rows name: who made them, and who is to be sent events."""
    return tuple(dict.fromkeys(each for row in rows for each in (row.author, *(seat.peer for seat in row.delegates))))


_OF_PARTICIPANTS = (HpmcastDigest, HpmcastTell, HpmcastJoin, Ping, Pong)
_CLAIMS: dict[type[Struct], Callable[[Any, Peer], tuple[Claim, ...]]] = {
    **dict.fromkeys((Accept, Kept, Beat, Here, Marks, Offer, Have, Graft, Prune, Near), _of_sender),
    **dict.fromkeys((Join, Forward), _of_both),
    Gone: _of_heir,
    **dict.fromkeys((Lost, Ask), _of_initiator),
    Want: lambda message, sender: ((message.pattern.topic, sender),),
    Contacts: lambda message, sender: tuple((message.topic, peer) for peer in message.peers),
    Tell: lambda message, sender: tuple((topic, sender) for topic in dict.fromkeys(each.topic for each in message.add)),
}
_NAMES: dict[type[Struct], Callable[[Any], tuple[Peer, ...]]] = {
    **dict.fromkeys((Join, Forward), lambda message: (message.who,)),
    Gone: lambda message: () if message.instead is None else (message.instead,),
    ReqContact: lambda message: (message.origin,),
    AnsContact: lambda message: message.peers,
    Contacts: lambda message: message.peers,
    **dict.fromkeys((Carry, Again), lambda message: (message.carried.event.id.publisher,)),
    **dict.fromkeys((Digest, Lost), lambda message: (message.initiator,)),
    Ask: lambda message: tuple(dict.fromkeys((message.initiator, *(message.route or (message.source,))[-1:]))),
    Latest: lambda message: (message.source,),
    **dict.fromkeys((Route, Pass, Gossip), lambda message: (message.carried.event.id.publisher,)),
    InterestsDigest: lambda message: tuple(mark.peer for mark in message.marks),
    InterestsTell: lambda message: tuple(entry.mark.peer for entry in message.entries),
    Redirect: lambda message: () if message.peer is None else (message.peer,),
    Seek: lambda message: (message.seeker,),
    Found: lambda message: tuple(other.peer for other in message.others),
    HpmcastTell: lambda message: in_rows(message.rows),
    HpmcastJoin: lambda message: in_rows((message.row,)),
}
