"""A heap that performs effects: the same machines as live, in virtual time, repeatable from a seed."""

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Effect, Fired, Given, Leave, Machine, Message, Received, Send, SetTimer, Started
from gossamer.sim.network import Network
from gossamer.wire.codec import Codec

Action: TypeAlias = Callable[[], object]


class Watcher:
    """Sees everything from outside; override what you need."""

    def sent(self, sender: Peer, target: Peer, message: Message) -> None:
        """A message left."""

    def lost(self, sender: Peer, target: Peer, message: Message) -> None:
        """It never arrives: the network lost it, or the target was down."""

    def stepped(self, peer: Peer, given: Given, effects: list[Effect], now_us: int) -> None:
        """A machine took a step."""

    def crashed(self, peer: Peer, now_us: int) -> None:
        """A process is gone, without a word."""


class World:
    """Machines joined by a network. `make` builds the machine of a process, also when it restarts."""

    def __init__(
        self,
        make: Callable[[Peer], Machine],
        network: Network,
        watchers: Iterable[Watcher] = (),
        codec: Codec | None = None,
    ) -> None:
        self.make = make
        self.network = network
        self.codec = codec
        self._on_sent: list[Callable[[Peer, Peer, Message], None]] = []
        self._on_lost: list[Callable[[Peer, Peer, Message], None]] = []
        self._on_step: list[Callable[[Peer, Given, list[Effect], int], None]] = []
        self._on_crash: list[Callable[[Peer, int], None]] = []
        self.watch(*watchers)
        self.now_us = 0
        self.steps = 0
        self.machines: dict[Peer, Machine] = {}
        self.lives: dict[Peer, int] = {}
        self._heap: list[tuple[int, int, Peer, int, Given | Action]] = []
        self._order = 0

    def watch(self, *watchers: Watcher) -> None:
        """From now on these are told, after those that came before them; each only of what it wants to see."""
        for watcher in watchers:
            kind = type(watcher)
            if kind.sent is not Watcher.sent:
                self._on_sent.append(watcher.sent)
            if kind.lost is not Watcher.lost:
                self._on_lost.append(watcher.lost)
            if kind.stepped is not Watcher.stepped:
                self._on_step.append(watcher.stepped)
            if kind.crashed is not Watcher.crashed:
                self._on_crash.append(watcher.crashed)

    @property
    def up(self) -> Mapping[Peer, Machine]:
        return self.machines

    def is_alive(self, peer: Peer, life: int) -> bool:
        """Whether a process is up, and has been since this life of it began."""
        return peer in self.machines and self.lives[peer] == life

    def start(self, peer: Peer, contacts: Iterable[Peer] = (), memory: Iterable[EventId] = ()) -> None:
        """Brings a process up, for the first time or again; what it met in a former life it may remember."""
        self.machines[peer] = self.make(peer)
        self.lives[peer] = self.lives.get(peer, 0) + 1
        self.give(peer, Started(tuple(contacts), tuple(memory)))

    def crash(self, peer: Peer) -> None:
        """Takes a process down without a word; its timers die with it."""
        if self.machines.pop(peer, None) is not None:
            for crashed in self._on_crash:
                crashed(peer, self.now_us)

    def leave(self, peer: Peer) -> None:
        """Takes a process down in good order."""
        self.give(peer, Leave())
        self.machines.pop(peer, None)

    def give(self, peer: Peer, given: Given) -> list[Effect]:
        """Feeds a machine now and performs what it answers. Says what. A process that is down hears nothing."""
        machine = self.machines.get(peer)
        if machine is None:
            return []
        self.steps += 1
        try:
            effects = machine.step(given, self.now_us)
        except Exception as wrong:
            wrong.add_note(f"process {peer} at {self.now_us} µs, given {given}")
            raise
        for stepped in self._on_step:
            stepped(peer, given, effects, self.now_us)
        self.perform(peer, effects)
        return effects

    def perform(self, peer: Peer, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if type(effect) is Send:
                self._send(peer, effect)
            elif type(effect) is SetTimer:
                self._push(self.now_us + effect.after_us, peer, self.lives[peer], Fired(effect.timer))

    def at(self, when_us: int, action: Action) -> None:
        """Does something at a given time: a fault, a publication."""
        self._push(when_us, -1, 0, action)

    def run(self, until_us: int | None = None) -> None:
        """Lets time pass until then, or until nothing is left to happen."""
        while self._heap and (until_us is None or self._heap[0][0] <= until_us):
            self.now_us, _, peer, life, what = heapq.heappop(self._heap)
            if peer < 0:
                what()  # type: ignore[operator]
            elif life == self.lives[peer] and peer in self.machines:
                self.give(peer, what)  # type: ignore[arg-type]
            elif type(what) is Received:
                self._lost(what.peer, peer, what.message)
        if until_us is not None:
            self.now_us = max(self.now_us, until_us)

    def _send(self, sender: Peer, effect: Send) -> None:
        message, transit, machines = effect.message, self.network.transit, self.machines
        heard = message if self.codec is None else self.codec.decode(self.codec.encode(message))
        received = Received(sender, heard)
        for target in effect.peers:
            for sent in self._on_sent:
                sent(sender, target, message)
            delays = transit(sender, target, message)
            if not delays or target not in machines:
                self._lost(sender, target, message)
                continue
            for delay_us in delays:
                self._push(self.now_us + delay_us, target, self.lives[target], received)

    def _lost(self, sender: Peer, target: Peer, message: Message) -> None:
        for lost in self._on_lost:
            lost(sender, target, message)

    def _push(self, when_us: int, peer: Peer, life: int, what: Given | Action) -> None:
        self._order += 1
        if when_us < self.now_us:
            when_us = self.now_us  # what is late happens now: the clock never runs backwards
        heapq.heappush(self._heap, (when_us, self._order, peer, life, what))
