"""CAMCAST's communities brought to life: processes that find each other, a network and faults as the conditions say."""

from collections.abc import Sequence

from gossamer.core.draws import CHURN, PUBLISH, draw, fold
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Effect, Given, Message, Received
from gossamer.core.messages import Carrier
from gossamer.core.setting import Publication, Setting
from gossamer.core.stack import Stack
from gossamer.core.tally import ARRIVED, ARRIVED_UP, COLUMNS, LIVE, PARASITES, REACHED, ROUNDS_LAST, SENT_INTRA, SENT_UP
from gossamer.parts.bursts import GilbertElliott
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.sim.conditions import Conditions, us
from gossamer.sim.engine import Layout
from gossamer.sim.faults import schedule_churn, schedule_crash, schedule_partition
from gossamer.sim.network import Independent, Loss
from gossamer.sim.town import Town
from gossamer.sim.world import Watcher


class Both:
    """Loses what either model loses."""

    def __init__(self, first: Loss, second: Loss) -> None:
        self.first, self.second = first, second

    def lost(self, sender: Peer, target: Peer, key: int) -> bool:
        return self.first.lost(sender, target, key) or self.second.lost(sender, target, fold(key, 1))


class Told:
    """What became of one event."""

    def __init__(self, communities: int) -> None:
        self.rows = [[0] * len(COLUMNS) for _ in range(communities)]
        self.memory = [0.0] * communities
        self.reached: dict[Peer, int] = {}


class Tallying(Watcher):
    """Counts what each event took, community by community."""

    def __init__(self, setting: Setting, layout: Layout) -> None:
        self.setting, self.layout = setting, layout
        self.order = setting.hierarchy()
        self.events: dict[EventId, Told] = {}
        self.from_below: dict[Peer, int] = {}
        "Copies each process got from communities below."

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if (told := self._about(message)) is not None:
            home, there = self.layout.community(sender), self.layout.community(target)
            told.rows[home][SENT_INTRA if home == there else SENT_UP] += 1

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Received and (told := self._about(given.message)) is not None:
            self._arrived(told, given.peer, peer, given.message)

    def _about(self, message: Message) -> Told | None:
        return self.events.get(message.carried.event.id) if isinstance(message, Carrier) else None

    def _arrived(self, told: Told, sender: Peer, peer: Peer, message: Message) -> None:
        home, there = self.layout.community(sender), self.layout.community(peer)
        told.rows[there][ARRIVED] += 1
        if home != there:
            told.rows[home][ARRIVED_UP] += 1
            self.from_below[peer] = self.from_below.get(peer, 0) + 1
        topic = message.carried.event.topic  # type: ignore[attr-defined]
        if not self.order.includes(self.setting.communities[there].topic, topic):
            told.rows[there][PARASITES] += 1


class CommunitiesTown(Town):
    """The town of one trial. Nobody is told who is gone: the papers' networks tell nobody."""

    def __init__(self, setting: Setting, conditions: Conditions, seed: int) -> None:
        self.setting, self.conditions = setting, conditions
        self.params: dict[str, Params] = {c.topic: c.params for c in setting.communities}
        self.hierarchy = setting.hierarchy()
        self.layout = Layout(setting, climbs=True)
        super().__init__(
            self.make,
            CATALOGUE["camcast"].spoken,
            seed,
            latency=conditions.latency,
            loss=self._loss(seed),
            duplicated=conditions.duplicated,
            told_of_failures=False,
        )
        self.tallying = Tallying(setting, self.layout)
        self.world.watch(self.tallying)

    def _loss(self, seed: int) -> Loss:
        steady = Independent(self.layout.arrives)
        if (bursts := self.conditions.bursts) is None:
            return steady
        stormy = GilbertElliott(
            seed, worsens=bursts.worsens, improves=bursts.improves, good=bursts.good, bad=bursts.bad
        )
        return Both(steady, stormy)

    def make(self, me: Peer) -> Stack:
        fallback = next(iter(self.params.values()))
        return camcast_node(
            me,
            self.seed,
            self.hierarchy,
            lambda topic: self.params.get(topic, fallback),
            ScampParams(extra_copies=self.conditions.extra_copies),
            membership=self.conditions.membership,
        )

    def come(self, peer: Peer) -> None:
        """Brings a process up: it knows a few others that are, and subscribes to its topic."""
        topic = self.setting.communities[self.layout.community(peer)].topic
        self.start(peer, topic, of=self.conditions.contacts)

    def announce(self, publication: Publication, told: Told) -> None:
        """Some live process of the home community publishes; everybody interested and up should get it."""
        home = self.setting.communities[publication.home]
        up = [peer for peer in home.members if peer in self.world.up]
        if not up:
            return
        publisher = max(up, key=lambda peer: draw(fold(fold(self.seed, PUBLISH), publication.sequence), peer))
        told.memory = [self.entries(community.members, community.topic) for community in self.setting.communities]
        self.tallying.events[self.next_id(publisher)] = told
        event_id = self.publish(publisher, home.topic, payload=b"", climb=publication.climb)
        self.after(self.conditions.settle_s, lambda: self.close(event_id))

    def close(self, event_id: EventId) -> None:
        """Counts, once its time is over, who of those that stayed up the whole time got the event."""
        told, fate = self.tallying.events[event_id], self.fate(event_id)
        told.reached = {peer: got.hops for peer, got in fate.got.items()}
        for peer, life in fate.due.items():
            if self.world.is_alive(peer, life):
                row = told.rows[self.layout.community(peer)]
                row[LIVE] += 1
                if peer in told.reached:
                    row[REACHED] += 1
                    row[ROUNDS_LAST] = max(row[ROUNDS_LAST], told.reached[peer])

    def entries(self, members: range, topic: str) -> float:
        """Table entries a live process of a community keeps, on average."""
        kept = []
        for peer in members:
            node = self.world.up.get(peer)
            if isinstance(node, Stack) and node.members is not None and node.links is not None:
                kept.append(len(node.members.about(topic)) + sum(map(len, node.links.tables(topic))))
        return sum(kept) / len(kept) if kept else 0.0

    def load_spread(self) -> list[float | None]:
        """For each community, how many times its even part of all copies from below the busiest process got: 1 is even.
        None where nothing came."""
        got = [[self.tallying.from_below.get(peer, 0) for peer in c.members] for c in self.setting.communities]
        return [max(each) * len(each) / sum(each) if any(each) else None for each in got]

    def arrive(self, arrivals: Sequence[Peer]) -> float:
        """Has processes start one after the other. Says when the time begins that they have to find their places."""
        conditions = self.conditions
        every_s = conditions.join_every_s or conditions.warmup_s / 2 / len(arrivals)
        for number, peer in enumerate(arrivals):
            self.after(every_s * number, lambda peer=peer: self.come(peer))  # type: ignore[misc]
        return 0.0 if conditions.join_every_s is None else every_s * (len(arrivals) - 1)

    def play(self, publications: Sequence[Publication]) -> dict[int, Told]:
        """Lets everything happen; what became of each event, by its sequence (of one nobody could publish: nothing)."""
        conditions, groups = self.conditions, [c.members for c in self.setting.communities]
        everybody = [peer for group in groups for peer in group]
        came_s = self.arrive(sorted(everybody, key=lambda peer: draw(fold(self.seed, CHURN), peer)))
        first = us(came_s + conditions.warmup_s)
        events = {publication.sequence: Told(len(self.setting.communities)) for publication in publications}
        for number, each in enumerate(publications):
            at = first + us(conditions.every_s) * number
            self.world.at(at, lambda each=each: self.announce(each, events[each.sequence]))  # type: ignore[misc]
        end = first + us(conditions.every_s) * (len(publications) - 1) + us(conditions.settle_s)
        if conditions.churn is not None:
            schedule_churn(self.world, everybody, conditions.churn, self.seed, first, end, self.come)
        if conditions.crash is not None:
            schedule_crash(self.world, groups, conditions.crash, self.seed, self.come)
        if conditions.partition is not None:
            schedule_partition(self.world, groups, conditions.partition, self.seed)
        self.world.run(end)
        return events
