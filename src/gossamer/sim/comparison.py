"""One workload through one design: nodes that find each other, lose messages and crash, and what that cost."""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.core.draws import JOIN, draw, fold
from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.core.machine import SECOND_US
from gossamer.core.stack import Stack
from gossamer.core.trace import Kind
from gossamer.sim.chronicle import Fate
from gossamer.sim.compared import DEGREES, LEVELS_SHOWN, Comparison
from gossamer.sim.conditions import us
from gossamer.sim.crowd import Crowd
from gossamer.sim.designs import node_of, patterns_kept, peers_kept
from gossamer.sim.ledger import Compared, Ledger
from gossamer.sim.network import Latency
from gossamer.sim.town import Town

NOTED: tuple[Kind, Kind] = ("relay", "parasite")


class Outcome:
    """What became of one event."""

    def __init__(self, fate: Fate, stayers: Sequence[Peer], copies: dict[Peer, int]) -> None:
        self.event, self.publisher = fate.event, fate.event.id.publisher
        self.audience = {peer: None for peer in fate.due if peer in stayers and peer != self.publisher}
        "Who wants it, of those that stay; its publisher has it."
        self.took_us = {peer: got.after_us for peer, got in fate.got.items()}
        self.copies = copies
        "Copies that came to each."

    @property
    def reached(self) -> int:
        return sum(peer in self.took_us for peer in self.audience)

    @property
    def share(self) -> float:
        return self.reached / len(self.audience)


class ComparedTown(Town):
    """The town of one run. Nobody is told who is gone."""

    def __init__(self, setting: Comparison, seed: int) -> None:
        self.setting = setting
        self.crowd = Crowd(setting.workload, setting.network.crashed, seed)
        links = setting.network
        latency = Latency(median_us=max(1, round(links.latency_ms * 1000)), shape="lognormal", spread=0.3)
        super().__init__(self.make, None, seed, latency=latency, loss=links.loss, told_of_failures=False)
        self.ledger = Ledger()
        self.world.watch(self.ledger)

    def make(self, me: Peer) -> Stack:
        setting, address = self.setting, self.crowd.address(me)
        return node_of(setting.design, setting.params, me, self.seed, address, setting.workload.branching)

    def reads(self, peer: Peer, event: Event) -> bool:
        """That the town looks is nobody's comparison."""
        return super().reads(peer, replace(event, attributes={**event.attributes}))

    def announce(self, event: Event) -> None:
        attributes = Compared(event.attributes, self.ledger)
        self.publish(event.id.publisher, event.topic, attributes, payload=event.payload)

    def play(self) -> None:
        links, work, world = self.setting.network, self.setting.workload, self.world
        arrivals = sorted(self.crowd.peers, key=lambda peer: draw(fold(self.seed, JOIN), peer))
        for number, peer in enumerate(arrivals):
            at = links.warmup_s / 2 * number / len(arrivals)
            self.after(at, lambda peer=peer: self.start(peer, *self.crowd.wants[peer]))  # type: ignore[misc]
        events, first, every = self.crowd.events(), us(links.warmup_s), us(work.every_s)
        world.at(first, lambda: setattr(self.ledger, "open", True))
        for number, event in enumerate(events):
            world.at(first + every * number, lambda event=event: self.announce(event))  # type: ignore[misc]
        for peer in self.crowd.crashed:
            world.at(first + self.setting.crash_us, lambda peer=peer: self.crash(peer))  # type: ignore[misc]
        world.run(first + every * len(events) + us(links.settle_s))

    def outcomes(self) -> list[Outcome]:
        came = self.ledger.came
        return [Outcome(fate, self.crowd.stayers, came.get(event, {})) for event, fate in self.chronicle.fates.items()]


def run(setting: Comparison, seeds: Sequence[int]) -> list[dict[str, float]]:
    return [measured(setting, seed) for seed in seeds]


def measured(setting: Comparison, seed: int) -> dict[str, float]:
    """One run, in numbers."""
    town = ComparedTown(setting, seed)
    town.play()
    return measures(town)


def measures(town: ComparedTown) -> dict[str, float]:
    """What happened in it, in numbers."""
    fates = town.outcomes()
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


def _reached(wanted: Sequence[Outcome]) -> dict[str, float]:
    """How surely and how soon. Only events that somebody wants besides their publisher."""
    if not wanted:
        return {}
    took = sorted(us for fate in wanted for peer, us in fate.took_us.items() if peer in fate.audience)
    said = {"delivery": sum(fate.reached for fate in wanted) / sum(len(fate.audience) for fate in wanted)}
    said |= {name: _mean([fate.share >= least for fate in wanted]) for name, least in DEGREES.items()}
    if took:
        said |= {f"latency_p{p}_ms": took[min(len(took) - 1, len(took) * p // 100)] / 1000 for p in (50, 99)}
    return said


def _traffic(town: ComparedTown, fates: Sequence[Outcome], deliveries: int) -> dict[str, float]:
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


def _bothered(town: ComparedTown, fates: Sequence[Outcome]) -> dict[str, float]:
    """Of those that stayed: who got what it did not want, and copies for one who had it, as the publisher has."""
    stayers = dict.fromkeys(town.crowd.stayers)
    unwanted = off_topic = others = again = 0
    for fate in fates:
        publisher = fate.publisher
        wanting = {publisher: None, **fate.audience}
        came = {peer: copies for peer, copies in fate.copies.items() if peer in stayers}
        bothered = [peer for peer in came if peer not in wanting]
        unwanted += len(bothered)
        off_topic += sum(not town.interests[peer].wants(fate.event.topic) for peer in bothered)
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


def _compared(town: ComparedTown, fates: Sequence[Outcome]) -> dict[str, float]:
    """How often somebody asked a filter about an event: everybody, and the stayer who did so most."""
    matches = town.ledger.matches
    most = max(matches.get(peer, 0) for peer in town.crowd.stayers)
    return {"matches": sum(matches.values()) / len(fates), "matches_max": most / len(fates)}


def _kept(town: ComparedTown) -> dict[str, float]:
    nodes = [town.node(peer) for peer in town.crowd.stayers]
    peers, patterns = [peers_kept(node) for node in nodes], [patterns_kept(node) for node in nodes]
    entries = [one + other for one, other in zip(peers, patterns, strict=True)]
    return {"peers": _mean(peers), "patterns": _mean(patterns), "entries": _mean(entries), "entries_max": max(entries)}


def _borne(town: ComparedTown, fates: Sequence[Outcome]) -> dict[str, float]:
    """Copies each bore per event, and the share of all events it had in its hands, by its place in the hierarchy."""
    stayers, ranks = town.crowd.stayers, town.crowd.rank(town.setting.params.delegates)
    load = {peer: town.ledger.load.get(peer, 0) / len(fates) for peer in stayers}
    said = {"load": _mean([*load.values()]), "load_max": max(load.values())}
    for level in range(1, LEVELS_SHOWN + 1):
        there = [peer for peer in stayers if ranks[peer] == level]
        if there:
            held = [fate.publisher == peer or peer in fate.copies for fate in fates for peer in there]
            said[f"load_level_{level}"] = _mean([load[peer] for peer in there])
            said[f"held_level_{level}"] = _mean(held)
    return said


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
