"""Recovery over any spread that is a Ground: what one node notices, holds, asks for and answers (003)."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.events import Attribute, Carried, Event
from gossamer.core.ids import Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.machine import SECOND_US
from gossamer.core.patterns import UNCOUNTED, Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic, remember
from gossamer.protocols.recovery.answering import Answering
from gossamer.protocols.recovery.asking import Asking, WantAgain
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.listing import List, Listing
from gossamer.protocols.recovery.messages import Again, Ask, Digest, Latest, Listed, Lost, Want
from gossamer.protocols.recovery.noticing import Noticing, follow_up
from gossamer.protocols.recovery.offers import TOLD_MAX, Offer, Offers
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.passing import Passing
from gossamer.protocols.recovery.pushing import Pushing
from gossamer.protocols.recovery.reading import Reading
from gossamer.protocols.recovery.resending import Resending
from gossamer.protocols.recovery.rounds import Hurry, Round, Rounds
from gossamer.protocols.recovery.settings import Settings
from gossamer.protocols.recovery.streams import Streams
from gossamer.protocols.recovery.tails import Idle, Say, Tails

UNSURE_US = 5 * SECOND_US
"How long after its links changed a node on a tree may not have heard what others want."


class Recovery(Layer):
    """By counts: a hole in a publisher's count of a pattern is a loss."""

    def __init__(self, node: Stack, ground: Ground, params: Callable[[Topic], Params]) -> None:
        own = params(ROOT)
        if own.method == "exchange":
            raise Misuse("exchange is for a spread that counts nothing: choose hpmcast, or another method")
        self.ground = ground
        self.instead = None if ground.instead is None else ground.instead.signature
        self.settings = Settings(params)
        of = self.settings.of
        self.cache_relayed = own.cache_relayed
        self.holding = Holding(node, own)
        self.streams = Streams(node, of)
        self.reading = Reading(node)
        self.resending = Resending(node, self.holding, own.answers_per_s)
        self.passing = Passing(node, ground, of)
        self.pushing = Pushing(node, self.holding, self.passing)
        self.asking = Asking(node, ground, self.reading, of)
        self.answering = Answering(
            node, ground, self.asking, self.holding, self.passing, self.resending, own.answers_per_s > 0
        )
        self.rounds = Rounds(node, ground, self.streams, self.passing, self.pushing, of)
        self.noticing = Noticing(self.streams, self.rounds)
        self.offers = Offers(node, ground, self.holding, self.pushing, of)
        self.tails = Tails(node, ground, self.streams, self.noticing, self.passing, of)
        self.listing = Listing(node, ground, self.holding, of, self.reading)
        self.linked_us: int | None = None
        "When the links of the tree were last others."
        self.by_topic: dict[Topic, tuple[int, ...]] = {}
        "What events of a topic are tagged with."
        super().__init__(node)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Digest: self.answering.on_digest,
            Lost: self.answering.on_lost,
            Ask: self.answering.on_ask,
            Want: self.on_want,
            Again: self.on_again,
            Latest: self.tails.on_latest,
            Listed: self.listing.on_listed,
            Round: self.rounds.on_round,
            Hurry: self.rounds.on_hurry,
            Offer: self.offers.on_offer,
            Idle: self.tails.on_idle,
            Say: self.tails.on_say,
            List: self.listing.on_list,
            WantAgain: self.asking.on_want_again,
        }

    def bounds(self) -> Iterator[Bound]:
        yield from self.streams.bounds()
        yield from self.holding.bounds()
        yield from self.tails.bounds()
        yield from self.listing.bounds()
        yield from self.asking.bounds()
        yield "patterns told of", len(self.offers.told), TOLD_MAX

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None:
            yield from self.rounds.lives_by()
            yield from self.offers.pulse.under_way()
            yield from self.tails.lives_by()
            yield from self.listing.pulse.under_way()
            yield from self.asking.lives_by()

    # -- life -------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        self.open()

    def tuned(self, topic: Topic, params: Struct) -> None:
        if self.settings.tune(topic, params):
            self.by_topic.clear()
            self.tails.tuned()
            self.rounds.tuned()
            self.open()

    def links_changed(self, topic: Topic) -> None:
        self.linked_us = self.node.now_us

    def interest_changed(self, change: Change) -> None:
        self.streams.interest_changed(change)
        self.reading.interest_changed(change)
        topics = [*(pattern.topic for pattern in change.came), *change.joined]
        self.rounds.open(topics)
        self.offers.open(topics)

    def goes_back(self, on: bool) -> None:
        self.noticing.again = on

    def follow(self, pattern: Pattern, on: bool) -> None:
        self.streams.follow(pattern, on)

    def open(self) -> None:
        """What gossips without a loss begins to."""
        self.rounds.open(self.rounds.topics())
        self.offers.open()

    def patterns(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        """Those the network recovers: what this node does for itself makes no difference to its readers."""
        if self.ground.tree:
            return self._signatures(topic, attributes)
        known = self.by_topic.get(topic)  # only on trees attributes make a difference
        return remember(self.by_topic, topic, self._signatures(topic, attributes)) if known is None else known

    def _signatures(self, topic: Topic, attributes: Mapping[str, Attribute]) -> tuple[int, ...]:
        return tuple([each.signature for each in self._matching(topic, attributes)])

    def _matching(self, topic: Topic, attributes: Mapping[str, Attribute]) -> list[Pattern]:
        if not self._counts(topic):
            return []
        matching, network = self.ground.patterns(topic, attributes), self.settings.network
        return [each for each in matching if network(each.topic).method != "none"]

    def _counts(self, topic: Topic) -> bool:
        """Whether the network recovers any pattern that events of a topic could match."""
        above = (topic, *self.node.hierarchy.ancestors(topic))
        return {self.settings.network(each).method for each in above} != {"none"}

    # -- events -----------------------------------------------------------------------------------------------

    def heard(self, carried: Carried, via: Peer, wanted: bool) -> None:
        """Events that came together are one step in each count they follow in, as they do if their publisher made them
        so."""
        if carried.more and not follow_up(carried.events):
            for one in carried.each():
                self.heard(one, via, wanted)
            return
        if not (tags := carried.event.tags):
            if self.ground.tree:
                self.heard_untagged(carried, via, wanted)
            return
        ours, mine = self.noticing.heard(carried) or wanted, via == self.node.me
        unsure, instead = tags[-1].pattern == UNCOUNTED, self.instead
        for tag in tags:
            unsure = unsure or tag.pattern == instead
        uncounted = unsure and self.is_uncounted(carried.event)
        if self.streams.lost.by_source:
            self.streams.found(carried.events)
        if ours or mine or uncounted or self.cache_relayed:
            self.holding.keep(carried, ours or mine)
            if self.offers.calm and self.node.now_us >= self.offers.look_us:
                self.offers.heard_news()
        if uncounted:
            self.listing.add(carried)
        if mine:
            for each in carried.events:
                self.tails.published(each)

    def heard_untagged(self, carried: Carried, via: Peer, wanted: bool) -> None:
        """Its publisher had just found its place, and had not heard yet who wants it: if anybody does, it is found by
        its id. We may be that publisher, and not know yet either."""
        if not self._counts(carried.event.topic):
            return
        mine, unsure = via == self.node.me, self.linked_us is not None and self.node.now_us < self.linked_us + UNSURE_US
        for one in carried.each():
            if (mine and unsure) or self._matching(one.event.topic, one.event.asked):
                self.holding.keep(one, wanted or mine)
                self.listing.add(one)

    def is_uncounted(self, event: Event) -> bool:
        """Whether somebody here, or behind us, wants an event for a pattern it is not counted by, and so would see no
        gap. Asked of those whose publisher left patterns out, and says so, or did not hear of all: then it counts by
        what was asked for instead."""
        left_out = event.tags[-1].pattern == UNCOUNTED
        if left_out and not self.streams.local:
            return True
        counted = {tag.pattern for tag in event.tags}
        matching = self._matching(event.topic, event.asked)
        others = [each for each in matching if each.signature not in counted]
        self.streams.not_counted(event, others)
        return left_out or bool(others)

    def on_want(self, peer: Peer, want: Want) -> None:
        self.rounds.answered(want.pattern)
        self.offers.heard_news()
        self.listing.hurry()
        self.resending.give(peer, want)

    def on_again(self, peer: Peer, again: Again) -> None:
        event = again.carried.event
        self.goes_back(True)
        news = self.resending.take(peer, again, self.streams.missing_since(event))
        self.goes_back(False)
        if news:
            patterns = self.streams.patterns
            for tag in event.tags:
                if tag.pattern in patterns:
                    self.rounds.answered(patterns[tag.pattern])

    def fetched(self, peer: Peer, events: Sequence[Event]) -> None:
        self.resending.fetched(peer, events)
