"""One workload through one design: nodes that find each other, lose messages and crash, and what that cost."""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.draws import JOIN, distinct, draw, fold
from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US, Publish, Subscribe
from gossamer.core.stack import Stack
from gossamer.core.trace import Kind
from gossamer.parts.tagging import Tagger
from gossamer.sim.compared import DEGREES, LEVELS_SHOWN, Comparison
from gossamer.sim.conditions import us
from gossamer.sim.crowd import Crowd
from gossamer.sim.designs import node_of, patterns_kept, peers_kept
from gossamer.sim.ledger import Compared, Fate, Ledger
from gossamer.sim.network import Independent, Latency, Network
from gossamer.sim.world import World

CONTACTS = 3
"Nodes each one knows when it starts."
NOTED: tuple[Kind, Kind] = ("relay", "parasite")


class Town:
    """The world of one run."""

    def __init__(self, setting: Comparison, seed: int) -> None:
        self.setting, self.seed = setting, seed
        self.crowd = Crowd(setting.workload, setting.network.crashed, seed)
        links = setting.network
        latency = Latency(median_us=max(1, round(links.latency_ms * 1000)), shape="lognormal", spread=0.3)
        self.ledger = Ledger()
        loss = Independent(lambda sender, target: 1 - links.loss)
        self.world = World(self.make, Network(seed, latency, loss), [self.ledger])
        self.taggers: dict[Peer, Tagger] = {}

    def make(self, me: Peer) -> Stack:
        setting, address = self.setting, self.crowd.address(me)
        return node_of(setting.design, setting.params, me, self.seed, address, setting.workload.branching)

    def start(self, peer: Peer) -> None:
        """Brings a node up: it knows a few others that are, and subscribes."""
        up = [*self.world.up]
        picked = distinct(fold(fold(self.seed, JOIN), peer), len(up), CONTACTS)
        self.world.start(peer, [up[i] for i in picked])
        for pattern in self.crowd.wants[peer]:
            self.world.give(peer, Subscribe(pattern.topic, pattern.where))

    def publish(self, event: Event) -> None:
        node, publisher = self.node(event.id.publisher), event.id.publisher
        watched = Compared(event.attributes, self.ledger)
        tags = self.taggers.setdefault(publisher, Tagger()).tags(node.patterns(event.topic, watched))
        tagged = replace(event, attributes=watched, tags=tags)
        self.ledger.fates[event.id] = Fate(tagged, self.crowd.audience(event), self.world.now_us)
        self.world.give(publisher, Publish(tagged))

    def node(self, peer: Peer) -> Stack:
        node = self.world.machines[peer]
        assert isinstance(node, Stack)
        return node

    def run(self) -> None:
        links, work, world = self.setting.network, self.setting.workload, self.world
        arrivals = sorted(self.crowd.peers, key=lambda peer: draw(fold(self.seed, JOIN), peer))
        for number, peer in enumerate(arrivals):
            at = us(links.warmup_s / 2 * number / len(arrivals))
            world.at(at, lambda peer=peer: self.start(peer))  # type: ignore[misc]
        events, first, every = self.crowd.events(), us(links.warmup_s), us(work.every_s)
        world.at(first, lambda: setattr(self.ledger, "open", True))
        for number, event in enumerate(events):
            world.at(first + every * number, lambda event=event: self.publish(event))  # type: ignore[misc]
        for peer in self.crowd.crashed:
            world.at(first + self.setting.crash_us, lambda peer=peer: world.crash(peer))  # type: ignore[misc]
        world.run(first + every * len(events) + us(links.settle_s))


def run(setting: Comparison, seeds: Sequence[int]) -> list[dict[str, float]]:
    return [measured(setting, seed) for seed in seeds]


def measured(setting: Comparison, seed: int) -> dict[str, float]:
    """One run, in numbers."""
    town = Town(setting, seed)
    town.run()
    return measures(town)


def measures(town: Town) -> dict[str, float]:
    """What happened in it, in numbers."""
    fates = [*town.ledger.fates.values()]
    wanted = [fate for fate in fates if fate.audience]
    return {
        **_reached(wanted),
        **_traffic(town, fates, sum(fate.reached for fate in fates)),
        **_bothered(town, fates),
        **_compared(town, fates),
        **_kept(town),
        **_borne(town, fates),
        "audience": _mean([len(fate.audience) for fate in fates]),
        "nodes": float(town.setting.workload.nodes),
    }


def _reached(wanted: Sequence[Fate]) -> dict[str, float]:
    """How surely and how soon. Only events that somebody wants besides their publisher."""
    if not wanted:
        return {}
    took = sorted(us for fate in wanted for peer, us in fate.delivered.items() if peer in fate.audience)
    said = {"delivery": sum(fate.reached for fate in wanted) / sum(len(fate.audience) for fate in wanted)}
    said |= {name: _mean([fate.share >= least for fate in wanted]) for name, least in DEGREES.items()}
    if took:
        said |= {f"latency_p{p}_ms": took[min(len(took) - 1, len(took) * p // 100)] / 1000 for p in (50, 99)}
    return said


def _traffic(town: Town, fates: Sequence[Fate], deliveries: int) -> dict[str, float]:
    ledger, links, work = town.ledger, town.setting.network, town.setting.workload
    node_seconds = len(town.crowd.stayers) * (work.events * work.every_s + links.settle_s)
    node_seconds += len(town.crowd.crashed) * town.setting.crash_us / SECOND_US
    about = ledger.copy_bytes + ledger.word_bytes
    said = {
        "copies": ledger.copies / len(fates),
        "words": ledger.words / len(fates),
        "copy_bytes": ledger.copy_bytes / len(fates),
        "word_bytes": ledger.word_bytes / len(fates),
        "upkeep": ledger.upkeep / node_seconds,
        "upkeep_bytes": ledger.upkeep_bytes / node_seconds,
    }
    return said | ({"bytes_delivery": about / deliveries} if deliveries else {})


def _bothered(town: Town, fates: Sequence[Fate]) -> dict[str, float]:
    """Of those that stayed: who got what it did not want, and copies for one who had it, as the publisher has."""
    stayers = dict.fromkeys(town.crowd.stayers)
    unwanted = off_topic = others = again = 0
    for fate in fates:
        publisher = fate.event.id.publisher
        wanting = {publisher: None, **fate.audience}
        came = {peer: copies for peer, copies in fate.copies.items() if peer in stayers}
        bothered = [peer for peer in came if peer not in wanting]
        unwanted += len(bothered)
        off_topic += sum(not town.crowd.interests[peer].wants(fate.event.topic) for peer in bothered)
        others += len(stayers) - len(wanting)
        again += sum(copies - (peer != publisher) for peer, copies in came.items())
    count = len(fates)
    relays, parasites = (sum(town.ledger.noted.get((kind, peer), 0) for peer in stayers) for kind in NOTED)
    return {
        "spurious": unwanted / others if others else 0.0,
        "unwanted": unwanted / count,
        "off_topic": off_topic / count,
        "relays": relays / count,
        "parasites": parasites / count,
        "duplicates": again / count,
    }


def _compared(town: Town, fates: Sequence[Fate]) -> dict[str, float]:
    """How often somebody asked a filter about an event: everybody, and the stayer who did so most."""
    matches = town.ledger.matches
    most = max(matches.get(peer, 0) for peer in town.crowd.stayers)
    return {"matches": sum(matches.values()) / len(fates), "matches_max": most / len(fates)}


def _kept(town: Town) -> dict[str, float]:
    nodes = [town.node(peer) for peer in town.crowd.stayers]
    peers, patterns = [peers_kept(node) for node in nodes], [patterns_kept(node) for node in nodes]
    entries = [one + other for one, other in zip(peers, patterns, strict=True)]
    return {"peers": _mean(peers), "patterns": _mean(patterns), "entries": _mean(entries), "entries_max": max(entries)}


def _borne(town: Town, fates: Sequence[Fate]) -> dict[str, float]:
    """Copies each bore per event, and the share of all events it had in its hands, by its place in the hierarchy."""
    stayers, ranks = town.crowd.stayers, town.crowd.rank(town.setting.params.delegates)
    load = {peer: town.ledger.load.get(peer, 0) / len(fates) for peer in stayers}
    said = {"load": _mean([*load.values()]), "load_max": max(load.values())}
    for level in range(1, LEVELS_SHOWN + 1):
        there = [peer for peer in stayers if ranks[peer] == level]
        if there:
            held = [fate.event.id.publisher == peer or peer in fate.copies for fate in fates for peer in there]
            said[f"load_level_{level}"] = _mean([load[peer] for peer in there])
            said[f"held_level_{level}"] = _mean(held)
    return said


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
