"""Finding contacts: a request wanders through the neighbourhood until someone can name a member (001, Fig. 5).

Invariant: a node handles each request once, whether or not it is interested in the topics; a request causes at
most neighbours + … + neighbours ** ttl messages.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from gossamer.core.draws import SEARCH, distinct, fold
from gossamer.core.ids import EventId, Peer
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic, remember
from gossamer.parts.bucket import Buckets, first_hand
from gossamer.parts.seen import Seen
from gossamer.protocols.search.messages import WANTED_MAX, AnsContact, ReqContact
from gossamer.protocols.search.params import Params

REQUESTS_REMEMBERED = 1000
REQUESTS_PER_S, REQUESTS_BURST = 10, 100
"""Requests of one origin that are heard: each may cause 120 messages in all, so nobody may cause more than 1,200 a
second. A node that joins fifty communities at once stays within the burst."""
RELAYED_PER_S, RELAYED_BURST = 100, 500
"The same by sender, whatever origins it names: those of others it relays, or made up."
SOUGHT_MAX = 1000
"Topics asked for whose spelling is remembered, to know what an answer is about."

Spell: TypeAlias = Callable[[Topic], str]
Knower: TypeAlias = tuple[Callable[[], Iterable[Topic]], Callable[[Topic], Sequence[Peer]]]
"The topics a layer can name members of, and those members."


class Search(Layer):
    """Who can name contacts registers in `knows`; who looks for some registers in `found`.

    `spell` is how topics stand in requests. Who knows a topic can spell it; who does not learns nothing from that."""

    def __init__(self, node: Stack, params: Params, spell: Spell | None = None) -> None:
        self.params = params
        self.spell = spell or (lambda topic: topic)
        self.spellings: dict[Topic, str] = {}
        self.sought: dict[str, Topic] = {}
        self.knows: list[Knower] = []
        self.found: list[Callable[[Topic, Sequence[Peer]], None]] = []
        self.acquaintances: dict[Peer, None] = {}
        self.seeds: dict[Peer, None] = {}
        self.lost: dict[Peer, None] = {}
        """Seeds are the peers this node began with, lost the acquaintances it had to give up. Each request goes to one
        of them too, or a network that fell apart, and whose parts each do well, would never be one again."""
        self.handled = Seen(REQUESTS_REMEMBERED)
        self.by_origin = Buckets(REQUESTS_PER_S, REQUESTS_BURST)
        self.by_sender = Buckets(RELAYED_PER_S, RELAYED_BURST)
        self.asked = 0
        super().__init__(node)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {ReqContact: self.on_req_contact, AnsContact: self.on_ans_contact}

    def started(self, contacts: Sequence[Peer]) -> None:
        for peer in contacts:
            self.met(peer)
            if peer != self.node.me:
                freshest(self.seeds, peer, self.params.remembered)

    def peer_down(self, peer: Peer) -> None:
        if peer in self.acquaintances:
            self.lose(peer)

    def lose(self, peer: Peer) -> None:
        del self.acquaintances[peer]
        freshest(self.lost, peer, self.params.remembered)

    def met(self, peer: Peer) -> None:
        """Moves a peer to the fresh end of the neighbourhood; the stalest falls out."""
        if peer == self.node.me:
            return
        self.lost.pop(peer, None)
        self.acquaintances.pop(peer, None)
        self.acquaintances[peer] = None
        if len(self.acquaintances) > self.params.acquaintances:
            self.lose(next(iter(self.acquaintances)))

    def neighbourhood(self, word: int, besides: Sequence[Peer] = ()) -> list[Peer]:
        near = [peer for peer in self.acquaintances if peer not in besides]
        return self.some(near, word, self.params.neighbours)

    def asked_of(self, word: int) -> list[Peer]:
        """Whom this node's own requests go to: the neighbourhood, and one from further back."""
        far = [peer for peer in {**self.seeds, **self.lost} if peer not in self.acquaintances]
        few = self.some(far, fold(word, 1), 1)
        near = self.some([*self.acquaintances], word, self.params.neighbours - len(few))
        return [*near, *few] if near else self.some(far, word, self.params.neighbours)

    def some(self, peers: Sequence[Peer], word: int, k: int) -> list[Peer]:
        return [peers[i] for i in distinct(self.node.key(SEARCH, word), len(peers), k)]

    def spelled(self, topic: Topic) -> str:
        known = self.spellings.get(topic)
        return remember(self.spellings, topic, self.spell(topic)) if known is None else known

    def meant(self, spelled: str) -> Topic | None:
        """The topic an answer is about, if this node ever asked for it."""
        return self.sought.get(spelled)

    def ask(self, wanted: Sequence[Topic]) -> None:
        """Sends one request for members of any of these topics."""
        if not wanted:
            return
        self.asked += 1
        names = tuple(self.spelled(topic) for topic in wanted[:WANTED_MAX])
        for name, topic in zip(names, wanted):
            self.sought.pop(name, None)
            self.sought[name] = topic
        while len(self.sought) > SOUGHT_MAX:
            del self.sought[next(iter(self.sought))]
        request = ReqContact(self.node.me, fold(self.node.now_us, self.asked) >> 1, names, self.params.ttl)
        self.handled.add(EventId(request.origin, 0, request.nonce))
        self.out.send(self.asked_of(request.nonce), request)

    def on_req_contact(self, peer: Peer, request: ReqContact) -> None:
        self.met(peer)
        if request.origin == self.node.me or not self.handled.add(EventId(request.origin, 0, request.nonce)):
            return
        now_us = self.node.now_us
        if not self.by_sender.take(peer, now_us) or not self.by_origin.take(first_hand(request.origin, peer), now_us):
            self.out.note("reject", peer=peer, detail="too many requests")
            return
        answerable = self.answerable()
        for name in request.wanted:
            if name in answerable and (peers := self.contacts(answerable[name], besides=request.origin)):
                self.out.send([request.origin], AnsContact(name, peers))
                return
        ttl = min(request.ttl, self.params.ttl)  # whatever the asker wishes
        if ttl > 1:
            onward = ReqContact(request.origin, request.nonce, request.wanted, ttl - 1)
            self.out.send(self.neighbourhood(request.nonce, besides=(peer, request.origin)), onward)

    def answerable(self) -> dict[str, Topic]:
        """The topics this node may be able to name members of, as they are spelled."""
        known = [*self.node.interest.mine(), *(topic for topics, _ in self.knows for topic in topics())]
        return {self.spelled(topic): topic for topic in known}

    def contacts(self, topic: Topic, besides: Peer) -> tuple[Peer, ...]:
        """Members of a topic this node can name, itself first if it is one."""
        mine = [self.node.me] if self.node.interest.takes_part(topic) else []
        named = dict.fromkeys([*mine, *(peer for _, peers in self.knows for peer in peers(topic))])
        named.pop(besides, None)
        return tuple(named)[: self.params.answers]

    def on_ans_contact(self, peer: Peer, answer: AnsContact) -> None:
        topic = self.meant(answer.topic)
        if topic is None:
            self.out.note("reject", peer=peer, detail="an answer nobody asked for")
            return
        self.met(peer)
        for each in answer.peers:
            self.met(each)
        for hearer in self.found:
            hearer(topic, [each for each in answer.peers if each != self.node.me])


def freshest(peers: dict[Peer, None], peer: Peer, most: int) -> None:
    """Puts a peer at the fresh end; what exceeds `most` falls out at the other."""
    peers.pop(peer, None)
    peers[peer] = None
    if len(peers) > most:
        del peers[next(iter(peers))]
