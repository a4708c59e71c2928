"""Subscription forwarding: what our users and the other neighbours want, each neighbour is told.

Invariant at rest: on each link, what one end was told is what everybody on the other end's side wants (covered patterns
left out where covering is on). Links are a tree's, so no pattern comes back in a circle.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.covering import Covering
from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.pattern_index import filter_of
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets
from gossamer.protocols.dispatch.messages import Tell, Told
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.table import ALL, Table, ghost
from gossamer.protocols.dispatch.telling import STAND_INS_MAX, TableTelling

TEXT_PER_S, TEXT_BURST = 50_000, 200_000
"Characters of filters of one neighbour that are read: reading takes far longer than sending. The rest comes again."

SPARE = STAND_INS_MAX + 1
"Patterns held of a neighbour beyond the bound: those that stand in for others."


class Repeat(Struct, frozen=True):
    """Timer: a change was not answered. Stale once it was."""

    neighbour: Peer
    stream: int
    number: int


class Agree(Struct, frozen=True):
    """Timer: neighbours make sure that they mean the same tables."""


class Fade(Struct, frozen=True):
    """Timer: what a neighbour wanted that is gone is forgotten. Stale if it came back and went once more."""

    neighbour: Peer
    times: int


class Subscriptions(Layer):
    """The table, and how it and those of the neighbours are kept the same."""

    def __init__(self, node: Stack, params: Params, community: Topic) -> None:
        super().__init__(node)
        self.params = params
        self.everything = Pattern(community, ALL)
        "Not the words of a user who reads all: events that are counted by it say that others were not told of."
        self.table = Table(node.interest, params.covering, self.everything)
        self.tellings: dict[Peer, TableTelling] = {}
        "One for each neighbour."
        self.heard: dict[Peer, Told] = {}
        "How far each neighbour's changes came."
        self.gone: dict[Peer, int] = {}
        "Neighbours whose patterns are not forgotten yet, and how many times they went."
        self.read = Buckets(TEXT_PER_S, TEXT_BURST)
        self.streams = 0
        self.agreeing = False
        self.full = False
        "Whether some neighbour is asked for everything, because we want more than it would keep."
        self.instead: dict[Pattern, None] = {}
        "What neighbours are asked for in place of what they were not told."

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Tell: self.on_tell,
            Told: self.on_told,
            Repeat: self.on_repeat,
            Agree: self.on_agree,
            Fade: self.on_fade,
        }

    def bounds(self) -> Iterator[Bound]:
        for peer in self.tellings:
            yield f"patterns of neighbour {peer}", len(self.table.sources[peer]), self.params.patterns_max

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is not None:
            return
        if self.agreeing:
            yield Agree()
        for peer, times in self.gone.items():
            yield Fade(peer, times)
        for peer, telling in self.tellings.items():
            if telling.flying is not None:
                yield Repeat(peer, telling.stream, telling.number)

    def interest_changed(self, change: Change) -> None:
        self.table.interest_changed()
        for pattern in change.went:
            self.unwant(pattern)
        for pattern in change.came:
            self.want(pattern)
        self.tell_all()

    # -- links --------------------------------------------------------------------------------------------------

    def set_links(self, links: Sequence[Peer]) -> None:
        """The tree changed: these are our neighbours now."""
        for peer in [each for each in self.tellings if each not in links]:
            self.link_down(peer)
        fresh = [peer for peer in links if peer not in self.tellings]
        for peer in fresh:
            self.link_up(peer)
        self.tell_all()
        for peer in fresh:
            self.agree(peer)  # a word at once, even if there is nothing to tell: the other end hears of a new life
        if links and not self.agreeing:
            self.agreeing = True
            self.out.timer(self.params.agree_every_us, Agree())

    def link_up(self, peer: Peer) -> None:
        self.table.open(peer)
        wanted = self.wanted()
        for pattern in self.table.every_pattern():
            if self.table.wanted_besides(pattern, peer):
                wanted.add(pattern)
        self.tellings[peer] = TableTelling(self.fresh_stream(), wanted, self.params.patterns_max, self.everything)

    def link_down(self, peer: Peer) -> None:
        """Whoever is behind a link that vanished will be behind another one soon: for a while others still hear of what
        they want, so that publishers go on counting it, and they will see what they missed."""
        del self.tellings[peer]
        self.heard.pop(peer, None)
        self.table.haunt(peer)
        if not self.table.sources[ghost(peer)]:
            del self.table.sources[ghost(peer)]
            return
        self.gone[peer] = self.gone.get(peer, 0) + 1
        self.out.timer(self.params.linger_us, Fade(peer, self.gone[peer]))

    def on_fade(self, timer: Fade) -> None:
        if self.gone.get(timer.neighbour) == timer.times:
            del self.gone[timer.neighbour]
            for pattern in tuple(self.table.sources[ghost(timer.neighbour)]):
                self.forget(ghost(timer.neighbour), pattern)
            del self.table.sources[ghost(timer.neighbour)]
            self.tell_all()

    def wanted(self) -> Covering:
        return Covering(self.node.hierarchy if self.params.covering else None)

    def fill(self, behind: Mapping[Peer, Mapping[Pattern, object]]) -> None:
        """An experiment's table, as it is once everybody told everything: what lies behind each link."""
        for peer in behind:
            self.link_up(peer)
        for source, patterns in behind.items():
            told = self.wanted()
            for pattern in patterns:
                told.add(pattern)
            for pattern in told.shown:
                self.table.add(source, pattern, filter_of(pattern))
                self.want(pattern)
        for telling in self.tellings.values():
            telling.settled()

    def fresh_stream(self, after: int = 0) -> int:
        self.streams = max(self.node.now_us, self.streams + 1, after + 1)
        return self.streams

    # -- what neighbours are told -------------------------------------------------------------------------------

    def want(self, pattern: Pattern) -> None:
        """Somebody wants this: every neighbour besides hears of it."""
        for peer, telling in self.tellings.items():
            if self.table.wanted_besides(pattern, peer):
                telling.wanted.add(pattern)

    def forget(self, source: Peer, pattern: Pattern) -> None:
        """A source no longer wants this; whom nobody else told of it need not send it any more."""
        self.table.remove(source, pattern)
        self.unwant(pattern)

    def unwant(self, pattern: Pattern) -> None:
        for peer, telling in self.tellings.items():
            if not self.table.wanted_besides(pattern, peer):
                telling.wanted.remove(pattern)

    def tell_all(self) -> None:
        for peer in self.tellings:
            self.tell(peer)
        self.judge_room()

    def tell(self, peer: Peer) -> None:
        change = self.tellings[peer].next()
        if change is not None:
            self.out.send([peer], change)
            self.out.timer(self.params.repeat_us, Repeat(peer, change.stream, change.number))

    def judge_room(self) -> None:
        full = any(telling.full for telling in self.tellings.values())
        if full and not self.full:
            self.out.note("reject", topic=self.everything.topic, detail="too many patterns")
        self.full = full
        instead = {pattern: None for telling in self.tellings.values() for pattern in telling.instead}
        if instead != self.instead:
            self.follow([each for each in self.instead if each not in instead], False)
            self.follow([each for each in instead if each not in self.instead], True)
            self.instead = instead

    def follow(self, patterns: Sequence[Pattern], on: bool) -> None:
        """What is asked for in place of others is counted for us too, or its losses would not be seen."""
        for pattern in patterns:
            if self.node.recover is not None and pattern not in self.node.interest.widest.shown:
                self.node.recover.follow(pattern, on)

    def on_told(self, peer: Peer, told: Told) -> None:
        telling = self.tellings.get(peer)
        if telling is None:
            return
        if not telling.heard(told):
            telling.begin(self.fresh_stream(told.stream))
        self.tell(peer)
        self.judge_room()

    def on_repeat(self, timer: Repeat) -> None:
        telling = self.tellings.get(timer.neighbour)
        if telling is None or telling.flying is None:
            return
        if (telling.stream, telling.number) == (timer.stream, timer.number):
            self.out.send([timer.neighbour], telling.flying)
            self.out.timer(self.params.repeat_us, timer)

    def on_agree(self, timer: Agree) -> None:
        self.agreeing = bool(self.tellings)
        if self.agreeing:
            self.out.timer(self.params.agree_every_us, timer)
        for peer in self.tellings:
            self.agree(peer)

    def agree(self, peer: Peer) -> None:
        """Makes sure that the neighbour's table is what we think, unless it has to answer anyway."""
        telling = self.tellings[peer]
        if telling.flying is None:
            self.out.send([peer], Tell(telling.stream, telling.number))

    # -- what neighbours tell -----------------------------------------------------------------------------------

    def on_tell(self, peer: Peer, tell: Tell) -> None:
        if peer not in self.tellings:
            return  # not a neighbour, not yet or not any more: what it says overtook what the tree says
        heard = self.heard.get(peer) or Told(0, 0)
        if tell.stream > heard.stream and tell.number == (1 if tell.add or tell.remove else 0):
            heard = self.begin(peer, tell.stream)
        if tell.stream == heard.stream and tell.number == heard.number + 1:
            if not self.read.take(peer, self.node.now_us, sum(len(pattern.where) for pattern in tell.add)):
                self.out.note("reject", peer=peer, detail="too many filters at once")
                return
            self.take(peer, tell)
            heard = self.heard[peer] = Told(tell.stream, tell.number)
            self.tell_all()
        if tell.stream > heard.stream:
            heard = Told(tell.stream, 0)  # we know nothing of what came before: it must begin anew
        self.out.send([peer], heard)

    def begin(self, peer: Peer, stream: int) -> Told:
        """A new life of the link, as the neighbour counts: nothing was told yet, and it may have forgotten us too."""
        for pattern in tuple(self.table.sources[peer]):
            self.forget(peer, pattern)
        heard = self.heard[peer] = Told(stream, 0)
        self.agree(peer)
        return heard

    def take(self, peer: Peer, tell: Tell) -> None:
        for pattern in tell.remove:
            self.forget(peer, pattern)
        for pattern in tell.add:
            if len(self.table.sources[peer]) >= self.params.patterns_max + SPARE:
                self.out.note("reject", peer=peer, topic=pattern.topic, detail="too many patterns")
                continue
            try:
                wanted = filter_of(pattern)
            except Misuse:
                self.out.note("reject", peer=peer, topic=pattern.topic, detail="bad filter")
                continue
            self.table.add(peer, pattern, wanted)
            self.want(pattern)
