"""Overlays built by real machines, in supersteps: every node acts once in a round, on what the last one left.

Slow, and what the kernel is measured by: the same seed gives the same links.

A round: all maintain (1); requests are heard (2), then the answers (3) and the farewells they cause; DISCONNECTs are
heard (4), then the answers (5); heartbeats tell everybody how its neighbours do (6). What one node hears in one phase
comes in the order of the draws of its senders, task by task.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from gossamer.core import machine
from gossamer.core.draws import ORDER, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.machine import Effect, Fired, Message, PeerDown, Received, Send, SetTimer, Started, Subscribe
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.parts.seen import Seen
from gossamer.parts.wants import Wants, chain_of
from gossamer.protocols.flood.layer import Flood
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.beats import BeatDue
from gossamer.protocols.spidercast.experiment.setting import Overlay, OverlaySetting
from gossamer.protocols.spidercast.experiment.static import FixedView, homes, members
from gossamer.protocols.spidercast.homes import ToSelf
from gossamer.protocols.spidercast.layer import Maintain, Spidercast
from gossamer.protocols.spidercast.messages import (
    Beat,
    Connect,
    ConnectOk,
    Disconnect,
    DisconnectOk,
    Found,
    LeaveLink,
    Redirect,
    Seek,
)

KINDS: dict[type[Struct], str] = {
    Connect: "connect",
    ConnectOk: "connect_ok",
    Redirect: "redirect",
    LeaveLink: "leave",
    Disconnect: "disconnect",
    DisconnectOk: "disconnect_ok",
    Seek: "seek",
    Found: "found",
}
FRUITLESS = (Seek, Found, Beat)
"A run whose nodes say nothing else is at rest."


class Letter(NamedTuple):
    receiver: Peer
    sender: Peer
    message: Message


class Stage:
    """Nodes that know each other's interests from the start, and nothing else yet."""

    def __init__(self, setting: OverlaySetting, seed: int) -> None:
        self.setting, self.seed = setting, seed
        interests = setting.interests
        self.topics = {chain_of(name(topic), Hierarchy(), str)[-1]: topic for topic in range(interests.topic_count)}
        self.homes = homes(interests.nodes, interests.topic_count, seed)
        self.wants: dict[Peer, Wants] = {}
        "Of all who are up, as everybody knows."
        self.nodes: dict[Peer, Stack] = {}
        self.layers: dict[Peer, Spidercast] = {}
        self.turn = 0
        self.counts = dict.fromkeys(KINDS.values(), 0)
        self.covered = 0
        for who in range(interests.nodes):
            self.start(who, interests.of(who))

    def start(self, who: Peer, topics: Iterable[int]) -> None:
        """A node comes, and everybody knows what it wants."""
        params, named = self.setting.params, [name(topic) for topic in topics]
        known = members(params, self.setting.interests.nodes, self.seed, who)
        node = Stack(who, self.seed, Hierarchy(), Seen())
        self.wants[who] = Wants.of(named, Hierarchy(), str)
        view = FixedView(who, known, self.wants, lambda word: int(self.homes[self.topics[word]]))
        layer = Spidercast(node, view, params)
        spread = Flood(node, layer)
        node.use(layer, spread, members=layer, contacts=None, links=None, spread=spread, outside=None, recover=None)
        self.nodes[who], self.layers[who] = node, layer
        node.step(Started(), self.now_us)
        for topic in named:
            node.step(Subscribe(topic), self.now_us)

    def stop(self, who: Peer) -> None:
        """A node goes in good order, and everybody knows."""
        farewells = self.letters(who, self.nodes[who].step(machine.Leave(), self.now_us))
        del self.nodes[who], self.layers[who], self.wants[who]
        self.deal(farewells)
        for node in self.nodes.values():
            node.step(PeerDown(who), self.now_us)

    @property
    def now_us(self) -> int:
        return self.turn * self.setting.params.round_us

    # -- rounds -------------------------------------------------------------------------------------------------

    def run(self) -> Overlay:
        quiet = last = 0
        rest = self.setting.params.quarantine + 1
        while self.turn < self.setting.rounds_max and quiet < rest:
            busy = self.round()
            quiet, last = (0, self.turn) if busy else (quiet + 1, last)
        return self.result(last, quiet >= rest)

    def round(self) -> bool:
        """Whether anything was said but fruitless questions."""
        chosen = self.each(lambda layer: Maintain(layer.number))
        partings = [letter for letter in chosen if type(letter.message) is Disconnect]
        asked = [(peer, who, it.task) for peer, who, it in chosen if isinstance(it, Connect)]
        gains = {each: self.gain(*each) for each in asked}
        answers = self.deal([letter for letter in chosen if type(letter.message) is not Disconnect])
        self.covered += sum(gains[peer, who, it.task] for who, peer, it in answers if isinstance(it, ConnectOk))
        farewells = self.deal(answers)
        self.deal(farewells)
        answers_of_partings = self.deal(partings)
        self.deal(answers_of_partings)
        self.deal(self.each(lambda layer: BeatDue()))
        self.turn += 1
        return any(type(letter.message) not in FRUITLESS for letter in chosen)

    def gain(self, peer: Peer, who: Peer, number: int) -> int:
        """What a peer that is asked to connect would cover, of what is not covered well enough."""
        task = self.layers[who].links.tasks[number]
        return task.gain(self.wants[peer], task.sought())

    def each(self, timer: Callable[[Spidercast], Struct]) -> list[Letter]:
        """What all nodes write when a timer fires."""
        return [
            letter
            for who, node in self.nodes.items()
            for letter in self.letters(who, node.step(Fired(timer(self.layers[who])), self.now_us))
        ]

    def letters(self, sender: Peer, effects: Iterable[Effect]) -> list[Letter]:
        sent: list[Letter] = []
        for effect in effects:
            if type(effect) is Send:
                sent += [Letter(peer, sender, effect.message) for peer in effect.peers]
            elif type(effect) is SetTimer and type(effect.timer) is ToSelf:
                sent.append(Letter(sender, sender, effect.timer.message))
        for letter in sent:
            if type(letter.message) is not Beat:
                self.counts[KINDS[type(letter.message)]] += 1
        return sent

    def deal(self, letters: Iterable[Letter]) -> list[Letter]:
        """All of one phase are heard; what is written in answer comes in the next."""
        written: list[Letter] = []
        for letter in sorted(letters, key=self.order):
            given = Received(letter.sender, letter.message)
            step = Fired(ToSelf(letter.message)) if letter.sender == letter.receiver else given  # type: ignore[arg-type]
            written += self.letters(letter.receiver, self.nodes[letter.receiver].step(step, self.now_us))
        return written

    def order(self, letter: Letter) -> tuple[int, ...]:
        task = getattr(letter.message, "task", 0)
        if type(letter.message) is Found:
            return letter.receiver, task, self.topics[letter.message.topic]
        key = fold(fold(fold(self.seed, ORDER), rules.word_of(self.turn, task)), letter.receiver)
        return letter.receiver, task, -draw(key, letter.sender)

    # -- what came of it ----------------------------------------------------------------------------------------

    def result(self, rounds: int, at_rest: bool) -> Overlay:
        kinds: dict[tuple[Peer, Peer], int] = {}
        one_sided = over = 0
        degrees = np.zeros((2, self.setting.interests.nodes), np.int32)
        for who, layer in self.layers.items():
            for task in layer.links.tasks:
                over += task.degree > task.limit + self.setting.params.margin
                degrees[task.number, who] = task.degree
                for peer in task.neighbours:
                    one_sided += who not in self.layers[peer].links.tasks[task.number].neighbours
                    link = (min(who, peer), max(who, peer))
                    kinds[link] = kinds.get(link, 0) | 1 << task.number
        links = sorted(kinds)
        return Overlay(
            links=np.array(links, np.int32).reshape(-1, 2),
            kinds=np.array([kinds[link] for link in links], np.uint8),
            degree_greedy=degrees[rules.GREEDY],
            degree_random=degrees[rules.RANDOM],
            rounds=rounds,
            at_rest=at_rest,
            messages=self.counts,
            covered=self.covered,
            one_sided=one_sided,
            over_limit=over,
        )


def name(topic: int) -> str:
    return f".{topic}"


def build(setting: OverlaySetting, seed: int) -> Overlay:
    """One overlay, from nothing to rest."""
    return ring(setting) if setting.params.selection == "ring" else Stage(setting, seed).run()


def ring(setting: OverlaySetting) -> Overlay:
    """No machine makes these: the nodes of each topic in a ring, in the order of their numbers."""
    interests = setting.interests
    links: set[tuple[int, int]] = set()
    for topic in range(interests.topic_count):
        here = [who for who in range(interests.nodes) if topic in interests.of(who)]
        links |= {(min(pair), max(pair)) for pair in zip(here, [*here[1:], *here[:1]]) if pair[0] != pair[1]}
    degree = np.array([sum(who in link for link in links) for who in range(interests.nodes)], np.int32)
    return Overlay(
        links=np.array(sorted(links), np.int32).reshape(-1, 2),
        kinds=np.ones(len(links), np.uint8),
        degree_greedy=degree,
        degree_random=np.zeros(interests.nodes, np.int32),
        rounds=0,
        at_rest=True,
        messages=dict.fromkeys(KINDS.values(), 0),
    )
