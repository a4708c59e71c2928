"""When a node gossips about what it misses, or holds, and about what (003, Figs 2 and 3: startGossipRound).

Topics with the same parameters share their rounds.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct

from gossamer.core.draws import ROUND
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.parts.lost import Missed
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.messages import DIGEST_MAX, ROUTE_MAX, Ask, Asked, Lost, Place
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.passing import Passing
from gossamer.protocols.recovery.pulse import Pulse
from gossamer.protocols.recovery.pushing import Pushing
from gossamer.protocols.recovery.streams import Streams


class Round(Struct, frozen=True):
    """Timer: the regime's next round."""

    regime: int
    due_us: int


class Hurry(Struct, frozen=True):
    """Timer: a round because of a loss."""

    regime: int


class Regime:
    """What topics with the same parameters share."""

    __slots__ = ("hurried", "hurries", "number", "params", "pulse")

    def __init__(self, node: Stack, number: int, params: Params) -> None:
        self.number, self.params = number, params
        self.pulse = Pulse(node, partial(Round, number), params.interval_us)
        self.hurried = 0
        "Rounds begun because of a loss."
        self.hurries = False
        "Whether one is about to begin."


class Rounds:
    """Every regime's rounds."""

    def __init__(
        self,
        node: Stack,
        ground: Ground,
        streams: Streams,
        passing: Passing,
        pushing: Pushing,
        params: Callable[[Topic], Params],
    ) -> None:
        self.node, self.ground, self.params = node, ground, params
        self.streams, self.passing, self.pushing = streams, passing, pushing
        self.regimes: dict[Params, Regime] = {}
        self.numbers = 0

    # -- when -------------------------------------------------------------------------------------------------

    def regime(self, topic: Topic) -> Regime:
        params = self.params(topic)
        found = self.regimes.get(params)
        if found is None:
            self.numbers += 1  # never given again: timers of a regime that is gone may still go off
            found = self.regimes[params] = Regime(self.node, self.numbers, params)
        return found

    def lives_by(self) -> Iterator[Struct]:
        for regime in self.regimes.values():
            yield from regime.pulse.under_way()
            if regime.hurries:
                yield Hurry(regime.number)

    def open(self, topics: Iterable[Topic]) -> None:
        """Those who push gossip about any of these from the beginning, and whatever happens."""
        for topic in topics:
            regime = self.regime(topic)
            if regime.params.method == "push" and regime.pulse.due_us is None:
                regime.pulse.hurry()

    def tuned(self) -> None:
        """Parameters changed: regimes that no topic has any more are gone, and others go on asking."""
        used = dict.fromkeys(map(self.params, self.topics()))
        self.regimes = {params: regime for params, regime in self.regimes.items() if params in used}
        for signature in self.streams.lost.by_pattern:
            self.noticed(self.streams.patterns[signature])

    def topics(self) -> Iterator[Topic]:
        """Whatever this node could tell about, or miss."""
        yield ROOT
        for pattern in (*self.ground.known(), *self.streams.patterns.values()):
            yield pattern.topic

    def pushes(self, regime: Regime) -> bool:
        """Whether there is a topic of which it tells without being asked; parameters may have changed."""
        return regime.params.method == "push" and any(self.regime(topic) is regime for topic in self.topics())

    def noticed(self, pattern: Pattern) -> None:
        """A loss: the next round is about it, and a slow regime makes haste."""
        regime = self.regime(pattern.topic)
        if regime.params.method != "push":
            regime.pulse.hurry()
        if regime.params.immediate and not regime.hurries:
            regime.hurries = True
            self.node.out.timer(max(1, regime.params.patience_us), Hurry(regime.number))

    def answered(self, pattern: Pattern) -> None:
        """Somebody wanted what a digest of ours told of, or what we asked for came."""
        self.regime(pattern.topic).pulse.busy = True

    def on_round(self, timer: Round) -> None:
        regime = self.numbered(timer.regime)
        if regime is None or not regime.pulse.beats(timer.due_us):
            return
        missing = self.settle(regime)
        self.gossip(regime, regime.pulse.number(timer.due_us), missing)
        if regime.params.adaptive:
            regime.pulse.slow_down()
        if self.pushes(regime) or missing:
            regime.pulse.wait()

    def on_hurry(self, timer: Hurry) -> None:
        regime = self.numbered(timer.regime)
        if regime is not None:
            missing = self.settle(regime)
            regime.hurries = False
            regime.hurried += 1
            self.gossip(regime, rules.HURRIED + regime.hurried, missing)

    def numbered(self, number: int) -> Regime | None:
        for regime in self.regimes.values():
            if regime.number == number:
                return regime
        return None

    def settle(self, regime: Regime) -> list[int]:
        """Gives up what was asked for long enough, and tells what counts as a loss by now. The patterns of this regime
        of which something is missing still, sorted."""
        lost, patterns, until_us = self.streams.lost, self.streams.patterns, self.node.now_us - regime.params.expiry_us
        missing = [each for each in lost.by_pattern if each in patterns]
        concerned = [each for each in missing if self.regime(patterns[each].topic) is regime]
        for signature in concerned:
            lost.expire(signature, until_us)
        self.streams.gaps.tell_ripe()
        return sorted([each for each in concerned if each in lost.by_pattern])

    # -- what a round says ------------------------------------------------------------------------------------

    def gossip(self, regime: Regime, number: int, missing: Sequence[int]) -> None:
        key = self.node.key(ROUND, number)
        match regime.params.method:
            case "push":
                self.push(regime, number)
            case "subscriber-pull":
                self.ask_subscribers(regime, number, key, missing)
            case "publisher-pull":
                self.ask_publisher(regime, number, key, missing)
            case "combined":
                asks = rules.asks_publisher(key, regime.params.publisher_share)
                if asks or not self.ask_subscribers(regime, number, key, missing):
                    self.ask_publisher(regime, number, key, missing)

    def push(self, regime: Regime, number: int) -> None:
        told = self.ground.local() if regime.params.push_local else self.ground.known()
        ruled = {each for each in dict.fromkeys([pattern.topic for pattern in told]) if self.regime(each) is regime}
        self.pushing.tell([pattern for pattern in told if pattern.topic in ruled], number, self.node.now_us)

    def ask_subscribers(self, regime: Regime, number: int, key: int, missing: Sequence[int]) -> bool:
        """Of what is missing of one pattern. Whether there was anybody to ask."""
        until_us = self.node.now_us - regime.params.patience_us
        lost = self.streams.lost
        ripe = [each for each in missing if lost.any_by(each, until_us)]
        if not ripe:
            return False
        signature = ripe[rules.choice(key, len(ripe))]
        chosen = islice(lost.of_pattern(signature, until_us), DIGEST_MAX)
        places = tuple([Place(source, incarnation, sequence) for source, incarnation, _, sequence in chosen])
        return self.passing.begin(Lost(self.streams.patterns[signature], places, self.node.me, number))

    def ask_publisher(self, regime: Regime, number: int, key: int, missing: Sequence[int]) -> None:
        until_us = self.node.now_us - regime.params.patience_us
        lost, patterns, asked_for = self.streams.lost, self.streams.patterns, {*missing}

        def ripe(missed: Missed) -> bool:
            return lost.noticed_us[missed] <= until_us and missed[2] in asked_for

        others = sorted([each for each in lost.by_source if each[0] != self.node.me])
        sources = [each for each in others if next(filter(ripe, lost.of_source(each)), None)]
        if sources:
            source, incarnation = sources[rules.choice(key, len(sources))]
            chosen = islice(filter(ripe, lost.of_source((source, incarnation))), DIGEST_MAX)
            asked = tuple([Asked(patterns[signature], sequence) for _, _, signature, sequence in chosen])
            self.passing.back(Ask(source, incarnation, asked, self.route(source, incarnation), self.node.me, number))

    def route(self, source: int, incarnation: int) -> tuple[int, ...]:
        """The way the last event came that was spread by this publisher; where links make cycles there is none."""
        known = self.streams.sources.get((source, incarnation))
        return known.route[-ROUTE_MAX:] if known is not None and self.ground.tree else ()
