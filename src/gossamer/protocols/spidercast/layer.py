"""SpiderCast: an overlay in which the nodes interested in each topic are connected, with few links (002).

A node links to others until every topic of its interest is covered: wanted by K of its neighbours. What it is
interested in are the topics it reads or publishes on, and those below them that others are interested in: who wants a
topic wants what it includes. `links.py` has the links, `task.py` the choice of them, `beats.py` the heartbeats,
`homes.py` the remedy for topics so rare that nobody of the view wants them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from msgspec import Struct

from gossamer.core.draws import distinct
from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.interest import Change
from gossamer.core.layer import Handler, Layer
from gossamer.core.roles import InterestView
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic, remember
from gossamer.parts.needs import Needs
from gossamer.parts.own_wants import OwnWants
from gossamer.parts.wants import Chain, Wants, chain_of
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.beats import Beats
from gossamer.protocols.spidercast.homes import Homes
from gossamer.protocols.spidercast.links import Links
from gossamer.protocols.spidercast.params import Params
from gossamer.protocols.spidercast.task import Task

FEW, GATHER_US = 64, 4000
"""Topics up to which neighbours are told of each change at once; and for every so many that there are, how long further
changes are waited for: telling all of them takes longer the more there are."""


class Maintain(Struct, frozen=True):
    """Timer: time for a round. Stale after the node was woken before."""

    number: int


class Gather(Struct, frozen=True):
    """Timer: time to tell neighbours what this node wants by now."""


class Spidercast(Layer):
    """The neighbours that want a topic are its peers here: whatever spreads events over them stays among those who are
    interested."""

    def __init__(self, node: Stack, view: InterestView[Wants], params: Params, own: OwnWants | None = None) -> None:
        super().__init__(node)
        if params.selection == "ring":
            raise Misuse('nodes make no rings: selection = "ring" is for experiments to compare with')
        self.view = view
        self.params = params
        self.own = own or OwnWants(node.hierarchy)
        self.chains: dict[Topic, Chain] = {}
        self.since_us: dict[Topic, int] = {}
        "Topics of this node that wait for their place, and since when."
        self.number = 0
        self.resting = True
        self.seen = -1
        "Which state of the view the needs are from."
        self.gathering = False
        "Whether neighbours are told soon that this node wants something else."
        self.links = Links(node, params, self.own, self.wake)
        self.beats = Beats(node, self.links)
        self.homes = Homes(node, self.links, view)
        self.within = (self.links, self.beats, self.homes)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Maintain: self.on_maintain, Gather: self.on_gather}

    # -- Members ------------------------------------------------------------------------------------------------

    def about(self, topic: Topic) -> Sequence[Peer]:
        chain = self.chain(topic)
        return [peer for peer, wants in self.links.neighbours().items() if wants.covers(chain)]

    def sure(self, topic: Topic) -> Sequence[Peer]:
        return self.about(topic)

    def wanted_topics(self, packed: bytes) -> Sequence[Topic]:
        """Topics stand in what neighbours say as words: those of our own, and of those above them, can be told."""
        wants, interest, ancestors = Wants.read(packed), self.node.interest, self.node.hierarchy.ancestors
        if wants is None:
            return ()
        known = dict.fromkeys(each for mine in interest.mine() for each in (mine, *ancestors(mine)))
        return [topic for topic in known if wants.names(self.chain(topic))]

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
        known = self.own.chains.get(topic) or self.chains.get(topic)
        if known is None:
            known = remember(self.chains, topic, chain_of(topic, self.node.hierarchy, self.own.spell))
        return known

    def gauges(self) -> Mapping[str, int]:
        greedy, random = self.links.tasks
        return {
            "overlay_neighbours": len(self.links.neighbours()),
            "overlay_greedy": greedy.degree,
            "overlay_random": random.degree,
            "overlay_uncovered": greedy.under,
            "view_nodes": len(self.view.entries()),
        }

    def lives_by(self, topic: Topic | None) -> Iterator[Struct]:
        if topic is None and self.number:
            yield Maintain(self.number)
            if self.gathering:
                yield Gather()

    # -- interest -----------------------------------------------------------------------------------------------

    def joined(self, topic: Topic) -> None:
        self.since_us[topic] = self.node.now_us

    def left(self, topic: Topic) -> None:
        self.since_us.pop(topic, None)

    def interest_changed(self, change: Change) -> None:
        """What this node wants, it and its neighbours learn at once; where it is much, what changes in a short time is
        learned together."""
        self.own.take(change)
        if not change.joined and not change.left:
            return
        self.seen = -1
        for task in self.links.tasks:
            task.seek_anew()
        self.wake()
        if len(self.own) <= FEW:
            self.tell()
        elif not self.gathering:
            self.gathering = True
            self.out.timer(GATHER_US * len(self.own) // FEW, Gather())

    def on_gather(self, timer: Gather) -> None:
        self.gathering = False
        self.tell()

    def tell(self) -> None:
        """Links that are no longer worth it go; the other neighbours are told."""
        self.review()
        self.beats.tell()

    def review(self) -> None:
        """Which topics are to be covered: one's own, then those below them that others are interested in."""
        mine = self.links.wants
        self.seen = self.view.changes
        others = {**self.view.entries(), **self.links.neighbours()}
        below = in_turn([mine.below(wants) for wants in others.values()], self.params.below_max)
        self.links.need((*self.own.chains.values(), *sorted(below)))

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
                busy |= self.wind_down(task, busy)
                continue
            wrote = self.links.maintain(task, entries)
            busy |= wrote
            looks = rules.wants_more(task.under, task.degree, task.limit) or task.needs_margin()
            if not wrote and self.params.rendezvous and looks:
                self.homes.seek(task, entries)
        return busy

    def wind_down(self, task: Task, busy: bool) -> bool:
        """Where random coverage began anew and greedy links alone are to do, those that were taken before are asked to
        part, one a round. Not while greedy coverage is still `busy`: until then K_r may come back. False: nobody was
        asked."""
        if task.left_over and not busy:
            task.left_over = self.links.part(task)
            return task.left_over
        return False

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
        for topic in self.found_places() if self.since_us else ():
            self.since_us.pop(topic, None)
            self.node.is_ready(topic)  # who waited for it may leave the topic at once

    def found_places(self) -> list[Topic]:
        waiting = Needs(map(self.chain, self.since_us))
        linked, others = [0] * len(waiting), [False] * len(waiting)
        neighbours = self.links.neighbours()
        for wants in neighbours.values():
            for at in waiting.covered(wants):
                linked[at] += 1
        for peer, wants in self.view.entries().items():
            for at in waiting.covered(wants) if peer not in neighbours else ():
                others[at] = True
        long_ago_us = self.node.now_us - self.params.alone_us
        return [
            topic
            for (topic, since_us), links, more in zip(self.since_us.items(), linked, others)
            if since_us <= long_ago_us or (links > 0 and (links >= self.params.greedy or not more))
        ]


def in_turn(named: Sequence[Sequence[Chain]], most: int) -> list[Chain]:
    """One topic of each peer, then another one of each, until there are enough: whoever names very many leaves room for
    those of all others."""
    return [*dict.fromkeys(chain for turn in zip_longest(*named) for chain in turn if chain is not None)][:most]
