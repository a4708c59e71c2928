"""When a node gossips, and about what (003, Figs 2 and 3: startGossipRound).

Rounds lie on a grid, so that a timer need not run while there is nothing to say: whenever it is set again, it meets
the same rounds. Topics with the same parameters share their rounds.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from msgspec import Struct

from gossamer.core.draws import ROUND
from gossamer.core.patterns import Pattern
from gossamer.core.roles import Ground
from gossamer.core.stack import Stack
from gossamer.core.topics import ROOT, Topic
from gossamer.parts.lost import Missed
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.answering import Answering
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.messages import DIGEST_MAX, ROUTE_MAX, Ask, Asked, Digest, Lost, Place
from gossamer.protocols.recovery.noticing import Noticing
from gossamer.protocols.recovery.params import Params
from gossamer.protocols.recovery.passing import Passing


class Round(Struct, frozen=True):
    """Timer: the regime's next round."""

    regime: int
    due_us: int


class Hurry(Struct, frozen=True):
    """Timer: a round because of a loss."""

    regime: int


class Regime:
    """What topics with the same parameters share."""

    __slots__ = ("busy", "due_us", "hurried", "hurries", "interval_us", "number", "params")

    def __init__(self, number: int, params: Params) -> None:
        self.number, self.params = number, params
        self.interval_us = params.interval_us
        self.due_us: int | None = None
        "When its next round is; None: nothing to say."
        self.hurried = 0
        "Rounds begun because of a loss."
        self.hurries = False
        "Whether one is about to begin."
        self.busy = True
        "Whether the last round, or what happened since, was not in vain."


class Rounds:
    """Every regime's rounds."""

    def __init__(
        self,
        node: Stack,
        ground: Ground,
        noticing: Noticing,
        holding: Holding,
        passing: Passing,
        answering: Answering,
        params: Callable[[Topic], Params],
    ) -> None:
        self.node, self.ground, self.params = node, ground, params
        self.noticing, self.holding, self.passing, self.answering = noticing, holding, passing, answering
        self.started_us = 0
        self.regimes: dict[Params, Regime] = {}
        noticing.noticed.append(self.noticed)
        answering.wanted.append(self.answered)

    def regime(self, topic: Topic) -> Regime:
        params = self.params(topic)
        found = self.regimes.get(params)
        if found is None:
            found = self.regimes[params] = Regime(len(self.regimes), params)
        return found

    def open(self) -> None:
        """Those who push gossip from the beginning, and whatever happens."""
        for topic in self.topics():
            regime = self.regime(topic)
            if regime.params.method == "push" and regime.due_us is None:
                self.wait(regime)

    def topics(self) -> Iterator[Topic]:
        """Whatever this node could tell about."""
        yield ROOT
        for pattern in self.ground.known():
            yield pattern.topic

    def pushes(self, regime: Regime) -> bool:
        """Whether there is a topic of which it tells without being asked; parameters may have changed."""
        return regime.params.method == "push" and any(self.regime(topic) is regime for topic in self.topics())

    def noticed(self, pattern: Pattern) -> None:
        """A loss: the next round is about it, and a slow regime makes haste."""
        regime = self.regime(pattern.topic)
        if regime.params.method != "push":
            regime.busy = True
            if regime.due_us is None or regime.interval_us > regime.params.interval_us:
                regime.interval_us = regime.params.interval_us
                self.wait(regime)
        if regime.params.immediate and not regime.hurries:
            regime.hurries = True
            self.node.out.timer(max(1, regime.params.patience_us), Hurry(regime.number))

    def answered(self, pattern: Pattern) -> None:
        """Somebody wanted what a digest of ours told of."""
        self.regime(pattern.topic).busy = True

    def origin_us(self, params: Params) -> int:
        return self.started_us + int(rules.phase(self.node.key(ROUND, 0), params.interval_us))

    def wait(self, regime: Regime) -> None:
        least_us, now_us = regime.params.interval_us, self.node.now_us
        due_us = rules.next_round_us(now_us, self.origin_us(regime.params), least_us) + regime.interval_us - least_us
        regime.due_us = due_us
        self.node.out.timer(due_us - now_us, Round(regime.number, due_us))

    def on_round(self, timer: Round) -> None:
        regime = self.numbered(timer.regime)
        if regime is None or regime.due_us != timer.due_us:
            return
        params = regime.params
        self.settle(regime)
        busy, regime.busy = regime.busy, False
        number = rules.round_at(timer.due_us, self.origin_us(params), params.interval_us)
        self.gossip(regime, number)
        if params.adaptive:
            regime.interval_us = rules.next_interval(regime.interval_us, params.interval_us, busy)
        regime.due_us = None
        if self.pushes(regime) or any(self.concerns(regime, each) for each in self.noticing.lost.by_pattern):
            self.wait(regime)

    def on_hurry(self, timer: Hurry) -> None:
        regime = self.numbered(timer.regime)
        if regime is not None:
            self.settle(regime)
            regime.hurries = False
            regime.hurried += 1
            self.gossip(regime, rules.HURRIED + regime.hurried)

    def numbered(self, number: int) -> Regime | None:
        return next((regime for regime in self.regimes.values() if regime.number == number), None)

    def settle(self, regime: Regime) -> None:
        """Gives up what was asked for long enough, and tells what counts as a loss by now."""
        for signature in [*self.noticing.lost.by_pattern]:
            if self.concerns(regime, signature):
                self.noticing.expire(signature)
        self.noticing.tell_ripe()

    def concerns(self, regime: Regime, signature: int) -> bool:
        pattern = self.noticing.local.get(signature)
        return pattern is not None and self.regime(pattern.topic) is regime

    # -- what a round says ------------------------------------------------------------------------------------

    def gossip(self, regime: Regime, number: int) -> None:
        key = self.node.key(ROUND, number)
        match regime.params.method:
            case "push":
                self.push(regime, number, key)
            case "subscriber-pull":
                self.ask_subscribers(regime, number, key)
            case "publisher-pull":
                self.ask_publisher(regime, number, key)
            case "combined" if rules.asks_publisher(key, regime.params.publisher_share):
                self.ask_publisher(regime, number, key)
            case "combined":
                self.ask_subscribers(regime, number, key)

    def push(self, regime: Regime, number: int, key: int) -> None:
        told = self.ground.local() if regime.params.push_local else self.ground.known()
        self.offer([each for each in told if self.regime(each.topic) is regime], number, key, self.node.now_us)

    def offer(self, known: list[Pattern], number: int, key: int, until_us: int) -> Digest | None:
        """Tells of what came by then, of one of these patterns."""
        if not known:
            return None
        pattern = known[rules.choice(key, len(known))]
        held = self.holding.digest(pattern.signature, until_us)
        if not held:
            return None
        ids, ages_us = zip(*held)
        digest = Digest(pattern, ids, self.node.me, number, ages_us)
        self.passing.begin(digest)
        return digest

    def ask_subscribers(self, regime: Regime, number: int, key: int) -> None:
        until_us = self.node.now_us - regime.params.patience_us
        lost = self.noticing.lost
        concerned = sorted(each for each in lost.by_pattern if self.concerns(regime, each))
        missing = [each for each in concerned if any(lost.of_pattern(each, until_us))]
        if missing:
            signature = missing[rules.choice(key, len(missing))]
            chosen = islice(lost.of_pattern(signature, until_us), DIGEST_MAX)
            places = tuple(Place(source, incarnation, sequence) for source, incarnation, _, sequence in chosen)
            self.passing.begin(Lost(self.noticing.local[signature], places, self.node.me, number))

    def ask_publisher(self, regime: Regime, number: int, key: int) -> None:
        until_us = self.node.now_us - regime.params.patience_us
        lost = self.noticing.lost

        def ripe(missed: Missed) -> bool:
            return lost.noticed_us[missed] <= until_us and self.concerns(regime, missed[2])

        others = sorted(each for each in lost.by_source if each[0] != self.node.me)
        sources = [each for each in others if any(ripe(missed) for missed in lost.of_source(each))]
        if sources:
            source, incarnation = sources[rules.choice(key, len(sources))]
            chosen = islice(filter(ripe, lost.of_source((source, incarnation))), DIGEST_MAX)
            asked = tuple(Asked(self.noticing.local[signature], sequence) for _, _, signature, sequence in chosen)
            self.answering.walk(Ask(source, incarnation, asked, self.route(source, incarnation), self.node.me, number))

    def route(self, source: int, incarnation: int) -> tuple[int, ...]:
        """The way the last event came that was spread by this publisher; where links make cycles there is none."""
        known = self.noticing.sources.get((source, incarnation))
        return known.route[-ROUTE_MAX:] if known is not None and self.ground.tree else ()
