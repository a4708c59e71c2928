"""The links: what is said between neighbours, and between those who might be (Fig. 4).

Invariant: a task never has more than L^max + Margin neighbours as long as its needs stay the same; whoever is added is
told so, and whoever is removed was told or said so itself, or is believed dead. Heartbeats find what a lost message
leaves behind.
"""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

from gossamer.core.draws import CANDIDATE, DISCONNECT, REDIRECT, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets
from gossamer.parts.own_wants import OwnWants
from gossamer.parts.wants import PART_BYTES_MAX, Chain, Wants
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.messages import Connect, ConnectOk, Disconnect, DisconnectOk, LeaveLink, Redirect
from gossamer.protocols.spidercast.params import Params
from gossamer.protocols.spidercast.task import Task

ASKED_PER_S, ASKED_BURST = 20, 100
"""Requests and answers of one peer that are heard: each makes this node read what somebody wants, and counts as one for
every 16 KiB of it."""
WORDS_FREE, WORDS_MAX = 4096, 1 << 20
"Words in what a neighbour wants, whatever the others want; and in all of it together."


class Links(Layer):
    """Both tasks of a node; the overlay is the union of their neighbours."""

    def __init__(self, node: Stack, params: Params, own: OwnWants, wake: Callable[[], None]) -> None:
        self.params = params
        self.own = own
        self.wake = wake
        "There is something to do: called whenever a link or a hint changed."
        self.tasks = (
            Task(rules.GREEDY, params, params.greedy),
            Task(rules.RANDOM, params, 0 if params.adaptive else params.random),
        )
        self.asked = Buckets(ASKED_PER_S, ASKED_BURST)
        super().__init__(node)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {
            Connect: self.on_connect,
            ConnectOk: self.on_connect_ok,
            Redirect: self.on_redirect,
            Disconnect: self.on_disconnect,
            DisconnectOk: self.on_disconnect_ok,
            LeaveLink: self.on_leave,
        }

    # -- what others ask ----------------------------------------------------------------------------------------

    def bounds(self) -> Iterator[Bound]:
        yield "itself among its neighbours", int(self.linked(self.node.me)), 0
        for task in self.tasks:
            yield "nodes introduced", len(task.introduced), rules.INTRODUCED_MAX

    @property
    def wants(self) -> Wants:
        """What this node wants, as others are told."""
        return self.own.now()

    def neighbours(self) -> dict[Peer, Wants]:
        """Of both tasks, with what they want."""
        return {peer: link.wants for task in self.tasks for peer, link in task.neighbours.items()}

    def linked(self, peer: Peer) -> bool:
        return any(peer in task.neighbours for task in self.tasks)

    @property
    def turn(self) -> int:
        return self.node.now_us // self.params.round_us

    def key(self, why: int, task: Task, who: Peer | None = None) -> int:
        """Draws of a round and task: this node's, or those made for another one."""
        word = rules.word_of(self.turn, task.number)
        return self.node.key(why, word) if who is None else fold(fold(fold(self.node.seed, why), word), who)

    # -- maintenance --------------------------------------------------------------------------------------------

    def maintain(self, task: Task, entries: Mapping[Peer, Wants]) -> bool:
        """One iteration of Fig. 2. False: nobody was written to."""
        under, limit = task.under, task.limit
        task.release(self.turn)
        if under > 0:
            task.target = limit
        if rules.wants_more(under, task.degree, limit):
            return self.connect(task, entries)
        if task.needs_margin() and self.connect(task, entries):
            return True
        if rules.wants_fewer(under, task.degree, limit):
            task.target = rules.settled(task.degree, limit)
            return self.part(task)
        return False

    def connect(self, task: Task, entries: Mapping[Peer, Wants]) -> bool:
        peer = task.candidate(entries, self.key(CANDIDATE, task))
        if peer is None:
            return False
        task.introduced.pop(peer, None)
        task.shun(peer, self.turn)
        self.out.send([peer], Connect(task.number, task.degree, task.target, self.wants.packed))
        return True

    def part(self, task: Task) -> bool:
        peer = task.surplus(self.key(DISCONNECT, task))
        if peer is None:
            return False
        task.neighbours[peer].asked = True
        self.out.send([peer], Disconnect(task.number))
        return True

    def need(self, needs: tuple[Chain, ...]) -> None:
        """Other topics are to be covered. Whoever shares none with this node any more is left."""
        for task in self.tasks:
            if task.needs != needs:
                task.need(needs)
            for peer in [peer for peer, link in task.neighbours.items() if not self.suits(task, link.wants)]:
                self.leave(task, peer)

    def tune(self, params: Params) -> None:
        """A task that is no longer wanted leaves its neighbours."""
        self.params = params
        for task, coverage in zip(self.tasks, (params.greedy, params.random)):
            task.params = params
            if params.adaptive and task.number == rules.RANDOM:
                continue  # it chooses its own
            task.coverage = coverage
            for peer in () if coverage else tuple(task.neighbours):
                self.leave(task, peer)

    def suits(self, task: Task, wants: Wants) -> bool:
        return not task.by_likeness or self.wants.touches(wants)

    # -- links come and go --------------------------------------------------------------------------------------

    def add(self, task: Task, peer: Peer, wants: Wants, told: Connect | ConnectOk) -> None:
        news = not self.linked(peer)
        task.add(peer, wants, told.degree, told.target, self.node.now_us)
        if news:
            self.node.tell(lambda layer: layer.link_up(peer))
        else:
            self.rethink(peer, wants)

    def remove(self, task: Task, peer: Peer) -> None:
        if peer not in task.neighbours:
            return
        task.remove(peer)
        if not self.linked(peer):
            self.node.tell(lambda layer: layer.link_down(peer))
        self.wake()

    def leave(self, task: Task, peer: Peer) -> None:
        self.out.send([peer], LeaveLink(task.number))
        self.remove(task, peer)

    def rethink(self, peer: Peer, wants: Wants) -> None:
        """A neighbour tells what it wants."""
        changed = False
        for task in self.tasks:
            link = task.neighbours.get(peer)
            if link is not None and link.wants != wants:
                task.rethink(peer, wants)
                changed = True
                if not self.suits(task, wants):
                    self.leave(task, peer)
        if changed and self.linked(peer):
            self.node.tell(lambda layer: layer.wants_changed(peer))
            self.wake()

    def peer_down(self, peer: Peer) -> None:
        for task in self.tasks:
            task.introduced.pop(peer, None)
            self.remove(task, peer)

    def leaving(self) -> None:
        for task in self.tasks:
            for peer in tuple(task.neighbours):
                self.leave(task, peer)

    # -- what peers say -----------------------------------------------------------------------------------------

    def on_connect(self, peer: Peer, connect: Connect) -> None:
        task = self.tasks[connect.task]
        wants = self.heard(peer, connect)
        if wants is None:
            return
        if peer in task.neighbours:
            self.refresh(task, peer, wants, connect)
            self.accept(task, peer)
        elif task.has_room_for(wants) and self.suits(task, wants):
            self.add(task, peer, wants, connect)
            self.accept(task, peer)
            task.grow()
        else:
            self.send_on(task, peer, wants)

    def accept(self, task: Task, peer: Peer) -> None:
        self.out.send([peer], ConnectOk(task.number, task.degree, task.target, self.wants.packed))

    def send_on(self, task: Task, peer: Peer, wants: Wants) -> None:
        """There is no room: perhaps a neighbour has some."""
        better = task.better(peer, wants, self.key(REDIRECT, task, peer)) if self.suits(task, wants) else None
        known = b"" if better is None else task.neighbours[better].wants.for_one(wants).packed
        self.out.send([peer], Redirect(task.number, better, known))

    def refresh(self, task: Task, peer: Peer, wants: Wants, told: Connect | ConnectOk) -> None:
        task.neighbours[peer].tells(told.degree, told.target)
        self.rethink(peer, wants)

    def on_connect_ok(self, peer: Peer, ok: ConnectOk) -> None:
        task = self.tasks[ok.task]
        wants = self.heard(peer, ok)
        if wants is None:
            return
        if peer in task.neighbours:
            self.refresh(task, peer, wants, ok)
        elif task.has_room() and self.suits(task, wants):
            self.add(task, peer, wants, ok)
            task.grow()
        else:
            self.out.send([peer], LeaveLink(task.number))

    def on_redirect(self, peer: Peer, redirect: Redirect) -> None:
        """Believed of whoever was asked, and only as a hint."""
        task = self.tasks[redirect.task]
        if peer not in task.quarantine or not self.may_ask(peer):
            return
        task.shun(peer, self.turn)
        wants = Wants.read(redirect.wants)
        if redirect.peer is None or redirect.peer == self.node.me:
            return
        if wants is None:
            self.reject(peer)
            return
        task.introduce(redirect.peer, wants)
        self.wake()

    def on_disconnect(self, peer: Peer, disconnect: Disconnect) -> None:
        task = self.tasks[disconnect.task]
        if peer in task.neighbours:
            under = task.under_without(peer)
            if not rules.parts(task.degree, task.target, under) or task.is_vital(peer):
                return
            self.remove(task, peer)
            if under == 0:
                task.target = task.degree
        self.out.send([peer], DisconnectOk(task.number))

    def on_disconnect_ok(self, peer: Peer, ok: DisconnectOk) -> None:
        self.remove(self.tasks[ok.task], peer)

    def on_leave(self, peer: Peer, leave: LeaveLink) -> None:
        self.remove(self.tasks[leave.task], peer)

    def heard(self, peer: Peer, message: Connect | ConnectOk) -> Wants | None:
        """What the sender wants, if it is to be heard."""
        return None if peer == self.node.me else self.read(peer, message.wants)

    def read(self, peer: Peer, packed: bytes) -> Wants | None:
        if not self.may_ask(peer, len(packed)):
            return None
        wants = Wants.read(packed)
        if wants is None:
            self.reject(peer)
        elif not self.has_room(peer, wants):
            self.out.note("reject", peer=peer, detail="wants too much")
            return None
        return wants

    def has_room(self, peer: Peer, wants: Wants) -> bool:
        """Whether what all neighbours want can be held beside this: a few may want very much, not all of them."""
        others = sum(known.weight for other, known in self.neighbours().items() if other != peer)
        return wants.weight <= WORDS_FREE or others + wants.weight <= WORDS_MAX

    def may_ask(self, peer: Peer, size: int = 0) -> bool:
        """The longer what it wants is, the fewer are heard."""
        if self.asked.take(peer, self.node.now_us, 1 + size // PART_BYTES_MAX):
            return True
        self.out.note("reject", peer=peer, detail="too many requests")
        return False

    def reject(self, peer: Peer) -> None:
        self.out.note("reject", peer=peer, detail="not what a node could want")
