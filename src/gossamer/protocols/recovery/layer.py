"""Recovery over any spread that is a Ground: what one node notices, holds, asks for and answers (003)."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.roles import Ground
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import ROOT, Topic, remember
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.answering import Answering
from gossamer.protocols.recovery.exchange import Exchange, Trade
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.messages import Again, Ask, Digest, Latest, Lost, Want
from gossamer.protocols.recovery.noticing import Noticing
from gossamer.protocols.recovery.offers import Offer, Offers
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.passing import Passing
from gossamer.protocols.recovery.rounds import Hurry, Round, Rounds
from gossamer.protocols.recovery.tails import Idle, Tails

UNCOUNTED = ("none", "exchange")
"Methods that need no tags."


class Recovery(Layer):
    """`params` says what the network does about a topic; `Tune` changes what this node does for itself."""

    def __init__(self, node: Stack, ground: Ground, params: Callable[[Topic], Params]) -> None:
        self.ground = ground
        self.params = params
        self.tuned_params: dict[Topic, Params] = {}
        own = params(ROOT)
        self.cache_relayed = own.cache_relayed
        self.noticing = Noticing(node, ground, self.params_of)
        self.holding = Holding(node, own)
        self.passing = Passing(node, ground, self.params_of)
        self.answering = Answering(
            node, ground, self.holding, self.passing, self.params_of, self.noticing.asked_since, own.answers_per_s
        )
        self.rounds = Rounds(node, ground, self.noticing, self.holding, self.passing, self.answering, self.params_of)
        self.offers = Offers(node, ground, self.rounds, self.params_of)
        self.tails = Tails(node, ground, self.noticing, self.passing, self.params_of)
        self.exchange = Exchange(node, ground, self.holding, self.params_of)
        if own.method == "exchange" and self.exchange.ground is None:
            raise Misuse("exchange needs a spread that knows what its peers want: choose hpmcast, or another method")
        self.answering.wanted.append(lambda pattern: self.exchange.make_haste())
        self.by_topic: dict[Topic, tuple[int, ...]] = {}
        "What events of a topic are tagged with."
        self.began = False
        self.again_from: Peer | None = None
        "Who sent the event under way again."
        super().__init__(node)
        node.recover = self

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Digest: self.answering.on_digest,
            Want: self.answering.on_want,
            Lost: self.answering.on_lost,
            Ask: self.answering.on_ask,
            Again: self.on_again,
            Latest: self.tails.on_latest,
            Round: self.rounds.on_round,
            Hurry: self.rounds.on_hurry,
            Offer: self.offers.on_offer,
            Idle: self.tails.on_idle,
            Trade: self.exchange.on_trade,
        }

    def params_of(self, topic: Topic) -> Params:
        return self.tuned_params.get(topic) or self.params(topic)

    # -- life -------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        if not self.began:
            self.began = True
            self.rounds.started_us = self.node.now_us
        self.open()

    def tuned(self, topic: Topic, params: Struct) -> None:
        if isinstance(params, Params):
            if params == self.params(topic):
                self.tuned_params.pop(topic, None)  # like the network again, whatever that will be
            else:
                self.tuned_params[topic] = params
            self.by_topic.clear()
            self.tails.tuned()
            self.open()

    def interest_changed(self) -> None:
        self.noticing.interest_changed()
        self.open()

    def open(self) -> None:
        """What gossips without a loss begins to."""
        self.rounds.open()
        self.offers.open()

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        """Those the network recovers: what this node does for itself makes no difference to its readers."""
        if self.ground.tree:
            return self._signatures(topic, attributes)
        known = self.by_topic.get(topic)  # only on trees attributes make a difference
        return remember(self.by_topic, topic, self._signatures(topic, attributes)) if known is None else known

    def _signatures(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        matching = self.ground.patterns(topic, attributes)
        return tuple([each.signature for each in matching if self.params(each.topic).method not in UNCOUNTED])

    # -- events -----------------------------------------------------------------------------------------------

    def heard(self, carried: Carried, via: Peer, wanted: bool) -> None:
        """Runs for every event that is new: few steps, as long as nothing is missing. Events that came together are one
        step in each count they follow in, as they do if their publisher made them so."""
        event = carried.event
        tags = event.tags
        if carried.more and not follow_up(carried.events):
            for one in carried.each():
                self.heard(one, via, wanted)
            return
        if not tags:
            if self.exchange.applies(event.topic):
                if self.again_from is not None:
                    self.out.note("recover", event=event.id, peer=self.again_from, topic=event.topic)
                self.exchange.heard(carried, wanted or via == self.node.me)
            return
        further = len(carried.more)
        noticing, event_id = self.noticing, event.id
        publisher, incarnation = event_id.publisher, event_id.incarnation
        source = noticing.sources.get((publisher, incarnation)) or noticing.meet(publisher, incarnation)
        if carried.route:
            source.route = carried.route
        local, highest, ours = noticing.local, source.highest, wanted
        for tag in tags:
            signature = tag.pattern
            if signature in local:
                ours, sequence = True, tag.sequence
                last = highest.get(signature)
                if last is None or sequence + further > last:
                    highest[signature] = sequence + further
                    if last is not None and sequence > last + 1:
                        noticing.miss(publisher, incarnation, signature, rules.first_lost(last, sequence), sequence - 1)
        if noticing.lost.noticed_us or self.again_from is not None:
            for each in carried.events:
                self.found(each)
        mine = via == self.node.me
        if ours or mine or self.cache_relayed:
            self.holding.keep(carried, ours or mine)
            if self.offers.calm and self.node.now_us >= self.offers.look_us:
                self.offers.heard_news()
        if mine:
            for each in carried.events:
                self.tails.published(each)

    def found(self, event: Event) -> None:
        """Something is missing, or this came again: it may be what was looked for."""
        local = self.noticing.local
        since = [self.noticing.found(event.id, tag.pattern, tag.sequence) for tag in event.tags if tag.pattern in local]
        if self.again_from is not None:
            noticed = [noticed_us for noticed_us in since if noticed_us is not None]
            waited = str(self.node.now_us - min(noticed)) if noticed else None
            self.out.note("recover", event=event.id, peer=self.again_from, topic=event.topic, detail=waited)
            for tag in event.tags:
                if tag.pattern in local:
                    self.rounds.answered(local[tag.pattern])

    def on_again(self, peer: Peer, again: Again) -> None:
        """What was missing came, straight from one who had it. Mostly it goes no further: others ask for
        themselves."""
        carried = Carried(again.carried.event, again.carried.hops)
        self.again_from = peer
        try:
            if self.node.accept(carried, peer):
                self.node.tell(lambda layer: layer.recovered(carried))
        finally:
            self.again_from = None

    def fetched(self, peer: Peer, events: Sequence[Event]) -> None:
        for event in events:
            self.out.send([peer], Again(Carried(event, 1)))


def follow_up(events: Sequence[Event]) -> bool:
    """Whether each of these events has the next place after the one before it, in the same counts."""
    first = events[0]
    if len({(event.id.publisher, event.id.incarnation, len(event.tags)) for event in events}) > 1:
        return False
    for number, tag in enumerate(first.tags):
        tags = [event.tags[number] for event in events]
        following = [*range(tag.sequence, tag.sequence + len(events))]
        if [each.sequence for each in tags] != following or len({each.pattern for each in tags}) > 1:
            return False
    return True
