"""Finding contacts: a request wanders through the neighbourhood until someone can name a member (001, Fig. 5).

Invariant: a node handles each request once, whether or not it is interested in the topics; a request causes at
most neighbours + … + neighbours ** ttl messages, and three more at each node that handles it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from gossamer.core.draws import SEARCH, distinct, fold
from gossamer.core.ids import EventId, Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.machine import SECOND_US
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Bucket, Buckets, first_hand
from gossamer.parts.seen import Seen
from gossamer.protocols.search.hints import Hints
from gossamer.protocols.search.messages import WANTED_MAX, AnsContact, ReqContact
from gossamer.protocols.search.params import Params

REQUESTS_REMEMBERED = 1000
REQUESTS_PER_S, REQUESTS_BURST = 10, 100
"""Requests of one origin that are heard: each may cause 120 messages in all, so nobody may cause more than 1,200 a
second. A node that joins fifty communities at once stays within the burst."""
RELAYED_PER_S, RELAYED_BURST = 100, 500
"The same by sender, whatever origins it names: those of others it relays, or made up."
SPELLED_MAX = 100_000
"Topics whose spelling is remembered: this node's own, and those above them."
SOUGHT_MAX = 20_000
"Topics asked for whose spelling is remembered, to know what an answer is about."
ASKS_PER_S, ASKS_BURST = 5, 50
"Requests of this node's own, half of what others hear of it. What it looks for beyond waits."
WAITING_MAX = 20_000
"What waits to be looked for; whoever wanted what waited longest asks again."

Spell: TypeAlias = Callable[[Topic], str]


class AskOn(Struct, frozen=True):
    """Timer: more may be asked for."""


class Search(Layer):
    """Whoever can name members of topics is asked (`Layer.named`); whom it finds, every layer is told
    (`Layer.contacts_found`).

    `spell` is how topics stand in requests. Who knows a topic can spell it; who does not learns nothing from that."""

    uniform = False

    def __init__(self, node: Stack, params: Params, spell: Spell | None = None) -> None:
        super().__init__(node)
        self.params = params
        self.spell = spell or (lambda topic: topic)
        self.spellings: dict[Topic, str] = {}
        self.reading: dict[str, Topic] = {}
        "The same, the other way round."
        self.sought: dict[str, Topic] = {}
        self.acquaintances: dict[Peer, None] = {}
        self.seeds: dict[Peer, None] = {}
        self.lost: dict[Peer, None] = {}
        """Seeds are the peers this node began with, lost the acquaintances it had to give up. Each request goes to one
        of them too, or a network that fell apart, and whose parts each do well, would never be one again."""
        self.handled = Seen(REQUESTS_REMEMBERED)
        self.hints = Hints()
        self.by_origin = Buckets(REQUESTS_PER_S, REQUESTS_BURST)
        self.by_sender = Buckets(RELAYED_PER_S, RELAYED_BURST)
        self.asked = 0
        self.pace = Bucket(ASKS_PER_S, ASKS_BURST, node.now_us)
        self.waiting: dict[tuple[Topic, bool], None] = {}
        "What is to be asked for, and whether this node is about to join it."

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {ReqContact: self.on_req_contact, AnsContact: self.on_ans_contact, AskOn: self.on_ask_on}

    def bounds(self) -> Iterator[Bound]:
        yield "acquaintances", len(self.acquaintances), self.params.acquaintances
        yield "peers to begin with", len(self.seeds), self.params.remembered
        yield "peers given up", len(self.lost), self.params.remembered
        yield "topics asked for", len(self.sought), SOUGHT_MAX
        yield "topics to ask for", len(self.waiting), WAITING_MAX
        yield "spellings", len(self.spellings), SPELLED_MAX + len(self.node.interest.mine())
        yield "itself among its acquaintances", int(self.node.me in self.acquaintances), 0

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and self.waiting:
            yield AskOn()

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
        if known is None:
            if len(self.spellings) >= SPELLED_MAX + len(self.node.interest.subscribed):
                self.spellings = {mine: self.spell(mine) for mine in self.node.interest.mine()}
                self.reading = {known: mine for mine, known in self.spellings.items()}
            known = self.spellings[topic] = self.spell(topic)
            self.reading[known] = topic
        return known

    def joined(self, topic: Topic) -> None:
        self.spelled(topic)

    def meant(self, spelled: str) -> Topic | None:
        """The topic an answer is about, if this node ever asked for it."""
        return self.sought.get(spelled)

    def ask(self, wanted: Sequence[Topic], joining: bool = False) -> None:
        """One request for members of the nearest of these topics, at once unless there have been many. Else each of
        them is asked for by itself, together with what has nothing to do with it."""
        if not wanted:
            return
        if not self.waiting and self.pace.take(self.node.now_us):
            self.send(wanted[:WANTED_MAX], joining)
            wanted = wanted[WANTED_MAX:]
        if wanted and not self.waiting:
            self.out.timer(SECOND_US // ASKS_PER_S, AskOn())
        for topic in wanted:
            self.waiting.setdefault((topic, joining))
        while len(self.waiting) > WAITING_MAX:
            del self.waiting[next(iter(self.waiting))]

    def on_ask_on(self, timer: AskOn) -> None:
        while self.waiting and self.pace.take(self.node.now_us):
            self.send(*self.together())
        if self.waiting:
            self.out.timer(SECOND_US // ASKS_PER_S, timer)

    def together(self) -> tuple[list[Topic], bool]:
        """What waits longest, and what can be asked for with it: of topics above each other only members of the nearest
        would be named."""
        joining = next(iter(self.waiting))[1]
        wanted: dict[Topic, None] = {}
        above: dict[Topic, None] = {}
        for topic, joins in self.waiting:
            over = self.node.hierarchy.ancestors(topic)
            if joins == joining and topic not in above and wanted.keys().isdisjoint(over):
                wanted[topic] = None
                above.update(dict.fromkeys(over))
                if len(wanted) == WANTED_MAX:
                    break
        for topic in wanted:
            del self.waiting[topic, joining]
        return [*wanted], joining

    def send(self, wanted: Sequence[Topic], joining: bool) -> None:
        self.asked += 1
        names = tuple(self.spelled(topic) for topic in wanted)
        for name, topic in zip(names, wanted):
            self.sought.pop(name, None)
            self.sought[name] = topic
        while len(self.sought) > SOUGHT_MAX:
            del self.sought[next(iter(self.sought))]
        request = ReqContact(self.node.me, fold(self.node.now_us, self.asked) >> 1, names, self.params.ttl, joining)
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
        left = self.answer(request)
        if request.joining:
            self.welcome(request)
        self.pass_on(peer, request, left)

    def pass_on(self, peer: Peer, request: ReqContact, left: tuple[str, ...]) -> None:
        """What is left to ask for goes to the neighbourhood, until the hops are used up; and to those who passed by
        here and may know, or want to, but no further from there."""
        if not left:
            return
        besides = (self.node.me, peer, request.origin)
        hinted = [each for each in self.hints.meet(request, left, self.node.now_us) if each not in besides]
        self.out.send(hinted, ReqContact(request.origin, request.nonce, left, 1, request.joining))
        ttl = min(request.ttl, self.params.ttl) - 1  # whatever the asker wishes
        if ttl > 0:
            onward = ReqContact(request.origin, request.nonce, left, ttl, request.joining)
            self.out.send(self.neighbourhood(request.nonce, besides=(peer, request.origin, *hinted)), onward)

    def answer(self, request: ReqContact) -> tuple[str, ...]:
        """Names members of the nearest of the wanted topics that this node knows some of, on every branch. What is left
        to ask others for: not these, nor what includes them."""
        hierarchy = self.node.hierarchy
        topics = [self.reading[name] for name in request.wanted if name in self.reading]
        known = {topic: peers for topic in topics if (peers := self.contacts(topic, besides=request.origin))}
        done: dict[str, None] = {}
        for topic in hierarchy.nearest(known):
            self.out.send([request.origin], AnsContact(self.spelled(topic), known[topic]))
            done.update(dict.fromkeys(self.spelled(each) for each in (topic, *hierarchy.ancestors(topic))))
        return tuple(name for name in request.wanted if name not in done)

    def welcome(self, request: ReqContact) -> None:
        """Whoever is about to join a topic that this node looks for members of is one."""
        for name in request.wanted:
            if (topic := self.meant(name)) is not None:
                self.node.tell(lambda layer, topic=topic: layer.newcomer(topic, request.origin))  # type: ignore[misc]

    def contacts(self, topic: Topic, besides: Peer) -> tuple[Peer, ...]:
        """Members of a topic this node can name, itself first if it is one."""
        mine = [self.node.me] if self.node.interest.takes_part(topic) else []
        named = dict.fromkeys([*mine, *(peer for layer in self.node.layers for peer in layer.named(topic))])
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
        others = [each for each in answer.peers if each != self.node.me]
        self.node.tell(lambda layer: layer.contacts_found(topic, others))


def freshest(peers: dict[Peer, None], peer: Peer, most: int) -> None:
    """Puts a peer at the fresh end; what exceeds `most` falls out at the other."""
    peers.pop(peer, None)
    peers[peer] = None
    if len(peers) > most:
        del peers[next(iter(peers))]
