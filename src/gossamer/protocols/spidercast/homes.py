"""Rendezvous for rare topics. Whoever knows nobody for a topic asks the topic's home, a node that anybody can find by
the topic's word alone; there it learns who looked for the same, and leaves its own name.

Notices are left at the homes of all topics above as well, where those wait who want one of these and nothing below.
Everything kept for others is bounded: boards, notices on one board, and requests of one peer.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.roles import InterestView
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets, first_hand
from gossamer.parts.wants import Chain, Wants
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.links import Links
from gossamer.protocols.spidercast.messages import HOPS_MAX, Found, Other, Seek
from gossamer.protocols.spidercast.task import Task

BOARDS_MAX = 256
"Boards a node keeps for each task; the one used longest ago gives way."
SEEKS_PER_S, SEEKS_BURST = 100, 1000
"Requests of one peer that are heard, its own and those it passes on: a node may look for hundreds of topics at once."
SOUGHT_MAX = 500
"Topics that are looked for at once: half of what a peer hears, for it may pass on those of others."
FOUND_BYTES = 16_384
"Of wants in one answer; those of the last one named may exceed it."
ANSWERED_PER_S, ANSWERED_BURST = 50_000, 500_000
"""Bytes of answers to one node. A short question has a long answer, and anybody may ask in the name of another; what
others pass on has a bucket of its own."""
READ_PER_S, READ_BURST = 200_000, 2_000_000
"Bytes of answers of one peer that are read."
OVERHEAD = 64
"Bytes of an answer beside wants, about."
ROOT_WORD = 0


class ToSelf(Struct, frozen=True):
    """Timer: this node is the home it asks. Given back at once, as any message would arrive."""

    message: Seek | Found


class Homes(Layer):
    """Asks homes, and is one. A board holds seekers with what they want, the latest last."""

    def __init__(self, node: Stack, links: Links, view: InterestView[Wants]) -> None:
        super().__init__(node)
        self.links = links
        self.view = view
        self.boards: tuple[dict[int, dict[Peer, Wants]], ...] = ({}, {})
        self.seeks = Buckets(SEEKS_PER_S, SEEKS_BURST)
        self.answered = Buckets(ANSWERED_PER_S, ANSWERED_BURST)
        self.reading = Buckets(READ_PER_S, READ_BURST)

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Seek: self.on_seek, Found: self.on_found, ToSelf: self.on_to_self}

    def bounds(self) -> Iterator[Bound]:
        for boards in self.boards:
            yield "boards", len(boards), BOARDS_MAX
            yield "notices on a board", max(map(len, boards.values()), default=0), rules.BOARD_MAX

    def peer_down(self, peer: Peer) -> None:
        for boards in self.boards:
            for board in boards.values():
                board.pop(peer, None)

    # -- asking -------------------------------------------------------------------------------------------------

    def seek(self, task: Task, entries: Mapping[Peer, Wants]) -> None:
        """Asks for whatever this task needs and nobody it knows wants, if it is time to. Not for topics below this
        node's own: those who want them ask themselves, at the homes of all topics above."""
        attempts = min(task.attempts, rules.SEEKS - 1) if self.links.params.patient else task.attempts
        if not rules.seeks(attempts, self.links.turn, task.seek_due):
            return
        sought = [need for need in task.unknown(entries) if self.links.wants.names(need)]
        if sought:
            task.attempts = attempts + 1
            task.seek_due = rules.seek_next(task.attempts, self.links.turn)
            for word in self.in_turn(words(sought), task.attempts):
                self.route(Seek(task.number, word, self.node.me, self.links.wants.about(word).packed))

    def in_turn(self, sought: list[int], attempts: int) -> list[int]:
        """As many as homes hear at once; the next time, others."""
        first = (attempts - 1) * SOUGHT_MAX % len(sought) if len(sought) > SOUGHT_MAX else 0
        return [*sought[first:], *sought[:first]][:SOUGHT_MAX]

    def route(self, seek: Seek) -> None:
        hop = self.view.towards_home(seek.topic) if seek.hops < HOPS_MAX else None
        if hop is not None:
            self.out.send([hop], seek)
        else:
            self.out.timer(1, ToSelf(seek))

    # -- being asked --------------------------------------------------------------------------------------------

    def on_seek(self, peer: Peer, seek: Seek) -> None:
        if not self.seeks.take(peer, self.node.now_us):
            self.out.note("reject", peer=peer, detail="too many requests")
            return
        hop = self.view.towards_home(seek.topic) if seek.hops < HOPS_MAX else None
        if hop is None or hop == peer:
            self.serve(seek, peer)
        else:
            self.out.send([hop], replace(seek, hops=seek.hops + 1))

    def on_to_self(self, timer: ToSelf) -> None:
        if isinstance(timer.message, Seek):
            self.serve(timer.message, self.node.me)
        else:
            self.on_found(self.node.me, timer.message)

    def serve(self, seek: Seek, via: Peer) -> None:
        """Names those who want it, and remembers who asks."""
        wants = Wants.read(seek.wants)
        if wants is None:
            self.links.reject(seek.seeker)
            return
        boards = self.boards[seek.task]
        board = boards.pop(seek.topic, {})
        boards[seek.topic] = board
        if len(boards) > BOARDS_MAX:
            del boards[next(iter(boards))]
        board.pop(seek.seeker, None)
        self.answer(seek, self.others(seek, wants, board), via)
        board[seek.seeker] = wants
        if len(board) > rules.BOARD_MAX:
            del board[next(iter(board))]

    def others(self, seek: Seek, wants: Wants, board: dict[Peer, Wants]) -> tuple[Other, ...]:
        named = [(peer, theirs) for peer, theirs in reversed(board.items()) if theirs.touches(wants)]
        if seek.seeker != self.node.me and self.wants(seek.topic, wants):
            named.append((self.node.me, self.links.wants.about(seek.topic)))
        found: list[Other] = []
        size = 0
        for peer, theirs in named:
            if size < FOUND_BYTES:
                found.append(Other(peer, theirs.packed))
                size += len(theirs.packed)
        return tuple(found)

    def wants(self, word: int, seeker: Wants) -> bool:
        """Whether this node wants a topic of which it knows the word, and the chain if it is one of the seeker's."""
        mine = self.links.wants
        return (
            mine.everything
            or word in mine.words
            or any(mine.covers(chain) for chain in seeker.chains if chain and chain[-1] == word)
        )

    def answer(self, seek: Seek, others: tuple[Other, ...], via: Peer) -> None:
        found = Found(seek.task, seek.topic, others)
        if seek.seeker == self.node.me:
            self.out.timer(1, ToSelf(found))
        elif self.answered.take(first_hand(seek.seeker, via), self.node.now_us, bytes_of(found)):
            self.out.send([seek.seeker], found)

    def on_found(self, peer: Peer, found: Found) -> None:
        """A hint: whoever is named is asked, and may refuse."""
        task = self.links.tasks[found.task]
        if not task.attempts:
            return
        if not self.reading.take(peer, self.node.now_us, bytes_of(found)):
            self.out.note("reject", peer=peer, detail="too many requests")
            return
        for other in found.others:
            wants = Wants.read(other.wants)
            if wants is None:
                self.links.reject(peer)
            elif other.peer != self.node.me:
                task.introduce(other.peer, wants)
        self.links.wake()


def words(chains: Iterable[Chain]) -> list[int]:
    """What stands for these topics and for those above them, each once."""
    return [*dict.fromkeys(word for chain in chains for word in reversed(chain or (ROOT_WORD,)))]


def bytes_of(found: Found) -> int:
    return OVERHEAD + sum(OVERHEAD + len(other.wants) for other in found.others)
