"""What a peer answers: who is nearer to a place, or what it holds there itself."""

from collections.abc import Mapping

from msgspec import Struct

from gossamer.core.draws import SAMPLE, distinct, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Handler, Layer
from gossamer.core.stack import Stack
from gossamer.parts.bucket import Buckets
from gossamer.protocols.pgrid.messages import (
    BRANCHES_MAX,
    Answer,
    AskPlaces,
    Branch,
    PlaceQuestion,
    Registration,
    Reply,
)
from gossamer.protocols.pgrid.places import across
from gossamer.protocols.pgrid.store import Store
from gossamer.protocols.pgrid.trie import Trie, some

QUESTIONS_PER_S, QUESTIONS_BURST = 200, 2_000
"Questions of one peer that are answered: who joins a thousand topics at once asks a few of each peer on its way."
AT_LARGE = 10
"A question that names no topic counts as so many: all that is here is looked through."
NEARER = 4
"Peers named to who asks: beyond these it comes back."


class Answers(Layer):
    def __init__(self, node: Stack, trie: Trie, store: Store) -> None:
        super().__init__(node)
        self.trie, self.store = trie, store
        self.asked = Buckets(QUESTIONS_PER_S, QUESTIONS_BURST)
        self.answered = 0

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {AskPlaces: self.on_ask}

    def on_ask(self, peer: Peer, ask: AskPlaces) -> None:
        cost = sum(1 if question.name else AT_LARGE for question in ask.questions)
        if not self.asked.take(peer, self.node.now_us, cost):
            self.out.note("reject", peer=peer, detail="too many questions")
            return
        self.out.send([peer], Answer(tuple(map(self.reply, ask.questions))))

    def reply(self, question: PlaceQuestion) -> Reply:
        trie, place = self.trie, question.place
        nearer = trie.towards(place, question.avoid)
        if nearer is not None:
            return Reply(question.number, trie.path, tuple(nearer[:NEARER]))
        members = [said for said in self.store.members(question.name) if self.belongs(said, question)]
        self.answered += 1
        key = self.node.key(SAMPLE, fold(fold(self.node.now_us, self.answered), question.number))
        return Reply(
            question.number,
            trie.path,
            seats=tuple(some(trie.seats(trie.fellows, question.avoid), key, NEARER)),
            holds=True,
            load=self.store.load(trie.path),
            replicas=trie.replicas,
            count=len(members),
            members=tuple(self.drawn(members, question.count, key)),
            branches=tuple(self.branches(question)) if question.count else (),
        )

    def belongs(self, said: Registration, question: PlaceQuestion) -> bool:
        """Whether a registration was asked for, and is not merely on its way to another leaf."""
        if not question.name and not said.place.startswith(question.place):
            return False
        return self.trie.holds(said.place)

    @staticmethod
    def drawn(members: list[Registration], count: int, key: int) -> list[Registration]:
        return [members[i] for i in distinct(key, len(members), count)]

    def branches(self, question: PlaceQuestion) -> list[Branch]:
        """What begins like the place asked for and lies in other leaves, and who knows more about it; also where
        nothing is, as far as is known: it may have come since."""
        trie = self.trie
        if not trie.path.startswith(question.place):
            return []  # it is in this leaf, or in an empty half that this leaf holds all of
        levels = [level for level in trie.levels if len(question.place) <= level < len(trie.path)]
        return [
            Branch(across(trie.path, level), trie.count(level), tuple(seats[:NEARER]))
            for level in sorted(levels)[:BRANCHES_MAX]
            if (seats := trie.seats(trie.levels[level], question.avoid))
        ]
