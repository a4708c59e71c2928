"""A setting brought to life: processes that find each other, a network and faults as the conditions say."""

from collections.abc import Sequence

from gossamer.core.draws import CHURN, PUBLISH, distinct, draw, fold
from gossamer.core.events import Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Deliver, Effect, Given, Message, Publish, Received, Started, Subscribe
from gossamer.core.setting import Publication, Setting
from gossamer.core.stack import Stack
from gossamer.core.tally import ARRIVED, ARRIVED_UP, COLUMNS, LIVE, PARASITES, REACHED, ROUNDS_LAST, SENT_INTRA, SENT_UP
from gossamer.parts.bursts import GilbertElliott
from gossamer.protocols.assemble import DYNAMIC_MESSAGES, dynamic_node
from gossamer.protocols.camcast.layer import Camcast
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.sim.checkers import Promises
from gossamer.sim.conditions import Conditions, us
from gossamer.sim.engine import Layout
from gossamer.sim.faults import schedule_churn, schedule_crash, schedule_partition
from gossamer.sim.network import Independent, Loss, Network
from gossamer.sim.world import Watcher, World
from gossamer.wire.codec import Codec


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
        self.expected: dict[Peer, int] = {}
        self.reached: dict[Peer, int] = {}


class Chronicle(Watcher):
    """Follows every event: who should get it, who did, what it took."""

    def __init__(self, setting: Setting, layout: Layout) -> None:
        self.setting = setting
        self.layout = layout
        self.lives: dict[Peer, int] = {}
        self.events: dict[EventId, Told] = {}

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        if (told := self._about(message)) is not None:
            home, there = self.layout.community(sender), self.layout.community(target)
            told.rows[home][SENT_INTRA if home == there else SENT_UP] += 1

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        if type(given) is Started:
            self.lives[peer] = self.lives.get(peer, 0) + 1
        elif type(given) is Received and (told := self._about(given.message)) is not None:
            self._arrived(told, given.peer, peer, given.message)
        for effect in effects:
            if type(effect) is Deliver and effect.event.id in self.events:
                self.events[effect.event.id].reached.setdefault(peer, effect.hops)

    def _about(self, message: Message) -> Told | None:
        carried = getattr(message, "carried", None)
        return None if carried is None else self.events.get(carried.event.id)

    def _arrived(self, told: Told, sender: Peer, peer: Peer, message: Message) -> None:
        home, there = self.layout.community(sender), self.layout.community(peer)
        told.rows[there][ARRIVED] += 1
        if home != there:
            told.rows[home][ARRIVED_UP] += 1
        topic = message.carried.event.topic  # type: ignore[attr-defined]
        if not self.setting.hierarchy().includes(self.setting.communities[there].topic, topic):
            told.rows[there][PARASITES] += 1

    def close(self, event_id: EventId) -> None:
        """Counts, once its time is over, who of those that stayed up the whole time got the event."""
        told = self.events[event_id]
        for peer, life in told.expected.items():
            if self.lives.get(peer) == life:
                row = told.rows[self.layout.community(peer)]
                row[LIVE] += 1
                if peer in told.reached:
                    row[REACHED] += 1
                    row[ROUNDS_LAST] = max(row[ROUNDS_LAST], told.reached[peer])

    def crashed(self, peer: Peer, now_us: int) -> None:
        self.lives[peer] = self.lives.get(peer, 0) + 1


class Town:
    """The world of one trial."""

    def __init__(self, setting: Setting, conditions: Conditions, seed: int) -> None:
        self.setting, self.conditions, self.seed = setting, conditions, seed
        self.params: dict[str, Params] = {c.topic: c.params for c in setting.communities}
        self.hierarchy = setting.hierarchy()
        self.layout = Layout(setting, climbs=True)
        loss: Loss = Independent(self.layout.arrives)
        if (bursts := conditions.bursts) is not None:
            stormy = GilbertElliott(
                seed, worsens=bursts.worsens, improves=bursts.improves, good=bursts.good, bad=bursts.bad
            )
            loss = Both(loss, stormy)
        network = Network(seed, conditions.latency, loss, conditions.duplicated)
        self.chronicle = Chronicle(setting, self.layout)
        self.world = World(self.make, network, [self.chronicle], Codec(DYNAMIC_MESSAGES))
        Promises(self.world, ScampParams().view_max)

    def make(self, me: Peer) -> Stack:
        fallback = next(iter(self.params.values()))
        return dynamic_node(me, self.seed, self.hierarchy, lambda topic: self.params.get(topic, fallback))

    def start(self, peer: Peer) -> None:
        """Brings a process up: it knows a few others that are, and subscribes to its topic."""
        up = [other for other in self.world.up if other != peer]
        key = fold(fold(self.seed, CHURN), fold(self.world.now_us, peer))
        self.world.start(peer, [up[i] for i in distinct(key, len(up), self.conditions.contacts)])
        self.world.give(peer, Subscribe(self.setting.communities[self.layout.community(peer)].topic))

    def publish(self, publication: Publication) -> None:
        """Some live process of the home community publishes; everybody interested and up should get it."""
        home = self.setting.communities[publication.home]
        up = [peer for peer in home.members if peer in self.world.up]
        if not up:
            return
        publisher = max(up, key=lambda peer: draw(fold(fold(self.seed, PUBLISH), publication.sequence), peer))
        event_id = EventId(publisher, self.chronicle.lives[publisher], publication.sequence)
        told = self.chronicle.events[event_id] = Told(len(self.setting.communities))
        for wants, community in zip(self.setting.interested(publication.home), self.setting.communities, strict=True):
            if wants:
                present = [peer for peer in community.members if peer in self.world.up]
                told.expected.update({peer: self.chronicle.lives[peer] for peer in present})
        told.memory = [self.entries(community.members, community.topic) for community in self.setting.communities]
        self.world.give(publisher, Publish(Event(event_id, home.topic, climb=publication.climb)))
        self.world.at(self.world.now_us + us(self.conditions.settle_s), lambda: self.chronicle.close(event_id))

    def entries(self, members: range, topic: str) -> float:
        """Table entries a live process of a community keeps, on average."""
        kept = []
        for peer in members:
            node = self.world.up.get(peer)
            if isinstance(node, Stack) and isinstance(node.spread, Camcast):
                spread = node.spread
                kept.append(len(spread.members.about(topic)) + sum(map(len, spread.links.tables(topic))))
        return sum(kept) / len(kept) if kept else 0.0

    def run(self, publications: Sequence[Publication]) -> dict[int, Told]:
        """Lets everything happen; what became of each event, by its sequence (one nobody could publish is left out)."""
        conditions, groups = self.conditions, [c.members for c in self.setting.communities]
        everybody = [peer for group in groups for peer in group]
        arrivals = sorted(everybody, key=lambda peer: draw(fold(self.seed, CHURN), peer))
        for number, peer in enumerate(arrivals):
            at = us(conditions.warmup_s / 2 * number / len(everybody))
            self.world.at(at, lambda peer=peer: self.start(peer))  # type: ignore[misc]
        first = us(conditions.warmup_s)
        for number, publication in enumerate(publications):
            at = first + us(conditions.every_s) * number
            self.world.at(at, lambda each=publication: self.publish(each))  # type: ignore[misc]
        end = first + us(conditions.every_s) * (len(publications) - 1) + us(conditions.settle_s)
        if conditions.churn is not None:
            schedule_churn(self.world, everybody, conditions.churn, self.seed, first, end, self.start)
        if conditions.crash is not None:
            schedule_crash(self.world, groups, conditions.crash, self.seed, self.start)
        if conditions.partition is not None:
            schedule_partition(self.world, groups, conditions.partition, self.seed)
        self.world.run(end)
        return {event_id.sequence: told for event_id, told in self.chronicle.events.items()}
