"""SpiderCast: an overlay in which the nodes interested in each topic are connected, with few links (002).

A node links to others until every topic of its interest is covered: wanted by K of its neighbours. What it is
interested in are the topics it reads or publishes on, and those below them that others are interested in: who wants a
topic wants what it includes. `links.py` has the links, `task.py` the choice of them, `beats.py` the heartbeats,
`homes.py` the remedy for topics so rare that nobody of the view wants them.
"""

from collections.abc import Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct

from gossamer.core.draws import distinct
from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.roles import InterestView
from gossamer.core.stack import Handler, Layer, Stack
from gossamer.core.topics import Topic, remember
from gossamer.parts.wants import Chain, Spell, Wants, chain_of
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.beats import Beats
from gossamer.protocols.spidercast.homes import Homes
from gossamer.protocols.spidercast.links import Links
from gossamer.protocols.spidercast.params import Params


class Maintain(Struct, frozen=True):
    """Timer: time for a round. Stale after the node was woken before."""

    number: int


class Spidercast(Layer):
    """The neighbours that want a topic are its peers here: whatever spreads events over them stays among those who are
    interested."""

    def __init__(self, node: Stack, view: InterestView[Wants], params: Params, spell: Spell | None = None) -> None:
        if params.selection == "ring":
            raise Misuse('nodes make no rings: selection = "ring" is for experiments to compare with')
        self.view = view
        self.params = params
        self.spell: Spell = spell or (lambda topic: topic)
        self.chains: dict[Topic, Chain] = {}
        self.since_us: dict[Topic, int] = {}
        "Topics of this node that wait for their place, and since when."
        self.number = 0
        self.resting = True
        self.seen = -1
        "Which state of the view the needs are from."
        self.links = Links(node, params)
        self.links.wake = self.wake
        self.beats = Beats(node, self.links)
        self.homes = Homes(node, self.links, view)
        super().__init__(node)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Maintain: self.on_maintain}

    # -- Peers --------------------------------------------------------------------------------------------------

    def about(self, topic: Topic) -> Sequence[Peer]:
        chain = self.chain(topic)
        return [peer for peer, wants in self.links.neighbours().items() if wants.covers(chain)]

    def sample(self, topic: Topic, k: int, key: int) -> list[Peer]:
        known = self.about(topic)
        return [known[i] for i in distinct(key, len(known), k)]

    def size(self, topic: Topic) -> int:
        """Those known to this node, no more: views are partial."""
        chain = self.chain(topic)
        known = {**self.view.entries(), **self.links.neighbours()}
        return 1 + sum(wants.covers(chain) for wants in known.values())

    def ready(self, topic: Topic) -> bool:
        return topic not in self.since_us

    def chain(self, topic: Topic) -> Chain:
        known = self.chains.get(topic)
        if known is None:
            known = remember(self.chains, topic, chain_of(topic, self.node.hierarchy, self.spell))
        return known

    # -- interest -----------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        self.since_us[topic] = self.node.now_us

    def left(self, topic: Topic) -> None:
        self.since_us.pop(topic, None)

    def interest_changed(self) -> None:
        """What this node wants, it and its neighbours learn at once; links that are no longer worth it go."""
        wants = Wants.of(self.node.interest.mine(), self.node.hierarchy, self.spell)
        if wants != self.links.wants:
            self.links.wants = wants
            self.review()
            for task in self.links.tasks:
                task.seek_anew()
            self.beats.tell()
            self.wake()

    def review(self) -> None:
        """Which topics are to be covered: one's own, then those below them that others are interested in."""
        mine = self.links.wants
        self.seen = self.view.changes
        others = {**self.view.entries(), **self.links.neighbours()}
        below = in_turn([mine.below(wants) for wants in others.values()], self.params.below_max)
        own = [self.chain(topic) for topic in self.node.interest.mine()]
        told = [chain for chain in own if mine.covers(chain)]
        self.links.need((*told, *sorted(below)))

    def wants_changed(self, peer: Peer) -> None:
        self.seen = -1

    def link_up(self, peer: Peer) -> None:
        self.seen = -1

    def tuned(self, topic: Topic, params: Struct) -> None:
        """K, Margin and the rest change, for all topics at once."""
        if isinstance(params, Params) and params.selection == self.params.selection:
            self.params = params
            self.links.tune(params)
            self.wake()

    def leaving(self) -> None:
        self.number += 1
        self.since_us.clear()

    # -- rounds -------------------------------------------------------------------------------------------------

    def started(self, contacts: Sequence[Peer]) -> None:
        self.wake()

    def wake(self) -> None:
        """There is something to do: the next round comes soon."""
        if self.resting:
            self.resting = False
            self.number += 1
            self.out.timer(self.params.round_us, Maintain(self.number))

    def on_maintain(self, timer: Maintain) -> None:
        if timer.number != self.number:
            return
        self.resting = not self.maintain()
        self.out.timer(self.params.rest_us if self.resting else self.params.round_us, timer)
        self.take_places()

    def maintain(self) -> bool:
        """One round of both tasks. False: nothing was done."""
        if self.seen != self.view.changes:
            self.review()
        entries = self.view.entries()
        busy = False
        for task in self.links.tasks:
            if self.params.adaptive and task.number == rules.RANDOM:
                self.adapt()
            if task.coverage == 0:
                continue
            wrote = self.links.maintain(task, entries)
            busy |= wrote
            looks = rules.wants_more(task.under, task.degree, task.limit) or task.needs_margin()
            if not wrote and self.params.rendezvous and looks:
                self.homes.seek(task, entries)
        return busy

    def adapt(self) -> None:
        """K_r (3.3.1)."""
        greedy, random = self.links.tasks
        random.coverage = rules.random_coverage(
            random.coverage,
            greedy.coverage,
            greedy.under,
            greedy.degree,
            random.under,
            len(self.links.neighbours()),
            len(random.needs),
        )

    def take_places(self) -> None:
        """Topics whose place was found: a neighbour wants them, and enough do or nobody else is known to; or nobody was
        found for so long that this node seems to be the first."""
        for topic in [topic for topic in self.since_us if self.found_place(topic)]:
            self.since_us.pop(topic, None)
            self.node.is_ready(topic)  # who waited for it may leave the topic at once

    def found_place(self, topic: Topic) -> bool:
        if self.node.now_us - self.since_us[topic] >= self.params.alone_us:
            return True
        chain, neighbours = self.chain(topic), self.links.neighbours()
        linked = sum(wants.covers(chain) for wants in neighbours.values())
        if not 0 < linked < self.params.greedy:
            return linked > 0
        known = self.view.entries().items()
        return not any(peer not in neighbours and wants.covers(chain) for peer, wants in known)


def in_turn(named: Sequence[Sequence[Chain]], most: int) -> list[Chain]:
    """One topic of each peer, then another one of each, until there are enough: whoever names very many leaves room for
    those of all others."""
    return [*dict.fromkeys(chain for turn in zip_longest(*named) for chain in turn if chain is not None)][:most]
