"""Looking something up: whoever wants to know asks peer by peer, each nearer than the one before.

All that is known of a search is known to who began it, so a peer on the way that is silent, or lies, costs another
question and not the answer. What is spread over many leaves is drawn from by weight: every member has the same chance.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Struct

from gossamer.core.draws import SAMPLE, draw, fold
from gossamer.core.ids import Peer
from gossamer.core.layer import Bound, Handler, Layer
from gossamer.core.stack import Stack
from gossamer.parts.liveness import Unanswered
from gossamer.protocols.pgrid import rules
from gossamer.protocols.pgrid.answering import NEARER, Answers
from gossamer.protocols.pgrid.lookup import Lookup, OpenPlace, Target, both
from gossamer.protocols.pgrid.messages import (
    MEMBERS_MAX,
    QUESTIONS_MAX,
    SEATS_MAX,
    Answer,
    AskPlaces,
    LeafSeat,
    PlaceQuestion,
    Reply,
)
from gossamer.protocols.pgrid.params import Params
from gossamer.protocols.pgrid.places import Bits
from gossamer.protocols.pgrid.trie import Trie

ASKED_MAX = 32
"Peers asked about one place before the search is given up."
BEGUN_MAX = 3
"So often a search begins again from here when all it was told of are silent."
OPEN_MAX = 20_000
"Places being looked up."


class ReplyDue(Struct, frozen=True):
    """Timer: a question was not answered in time. Stale once it was."""

    number: int
    asked: int


class Lookups(Layer):
    def __init__(self, node: Stack, trie: Trie, answering: Answers, params: Params) -> None:
        super().__init__(node)
        self.trie, self.answering, self.params = trie, answering, params
        self.unanswered = Unanswered()
        "Questions of all kinds that peers of the trie were asked in vain."
        self.open: dict[int, OpenPlace] = {}
        self.numbers = 0
        self.contacts: tuple[Peer, ...] = ()
        "Some of the peers to begin with."
        self.queue: dict[Peer, list[PlaceQuestion]] = {}
        "Questions of the step under way: those to one peer go together."

    def hears(self) -> Mapping[type[Struct], Handler]:
        return {Answer: self.on_answer, ReplyDue: self.on_answer_due}

    def bounds(self) -> Iterator[Bound]:
        yield "places looked up", len(self.open), OPEN_MAX

    def lives_by(self, topic: str | None) -> Iterator[Struct]:
        if topic is None:
            for number, each in self.open.items():
                yield ReplyDue(number, len(each.asked))

    def started(self, contacts: Sequence[Peer]) -> None:
        self.contacts = tuple(peer for peer in contacts if peer != self.node.me)[:NEARER] or self.contacts

    def look_up(self, targets: Sequence[Target], done: Callable[[Lookup], None]) -> None:
        """Looks these up, all at once; tells of each when it is done."""
        for place, name, count in targets:
            lookup = Lookup((place, name, min(count, MEMBERS_MAX)), done)
            self.begin(lookup, place, lookup.count)
        self.flush()

    def begin(
        self,
        lookup: Lookup,
        place: Bits,
        count: int,
        seats: Sequence[LeafSeat] = (),
        asked: Sequence[Peer] = (),
        depth: int = 0,
    ) -> None:
        if len(self.open) >= OPEN_MAX:
            if not lookup.open:
                self.finish(lookup)
            return
        self.numbers += 1
        number = fold(fold(self.node.now_us, self.numbers), self.node.me) >> 1
        lookup.open += 1
        self.open[number] = OpenPlace(lookup, place, count, seats, depth, asked)
        self.go_on(number)

    # -- one place ----------------------------------------------------------------------------------------------

    def go_on(self, number: int) -> None:
        """Asks the next peer, or oneself; or gives up."""
        each = self.open[number]
        while each.next:
            seat = each.next.pop(0)
            if seat.peer not in each.asked and seat.peer != self.node.me and len(each.asked) < ASKED_MAX:
                self.ask(number, each, seat.peer)
                return
        if each.opinion is not None:
            self.settle(number, each.opinion)
        elif each.begun < BEGUN_MAX and len(each.asked) < ASKED_MAX:
            each.begun += 1
            self.consider(number, self.from_here(number, each), None)
        else:
            self.close(number)

    def from_here(self, number: int, each: OpenPlace) -> Reply:
        """What this peer knows itself. One that has just come knows nobody of the trie, and asks those it began with:
        else it would think itself alone."""
        first = [LeafSeat(peer, "") for peer in self.contacts if peer not in each.silent]
        if first and not self.trie.level_of:
            return Reply(number, self.trie.path, tuple(first))
        return self.answering.reply(self.question(number, each))

    def question(self, number: int, each: OpenPlace) -> PlaceQuestion:
        avoid = [*each.silent][-SEATS_MAX:]
        return PlaceQuestion(number, each.place, each.lookup.name, each.count, tuple(avoid))

    def ask(self, number: int, each: OpenPlace, peer: Peer) -> None:
        each.asked[peer] = None
        each.now = peer
        if each.first:
            each.lookup.hops += 1
        self.queue.setdefault(peer, []).append(self.question(number, each))
        self.out.timer(self.params.patience_us, ReplyDue(number, len(each.asked)))

    def flush(self) -> None:
        queue, self.queue = self.queue, {}
        for peer, questions in queue.items():
            for start in range(0, len(questions), QUESTIONS_MAX):
                self.out.send([peer], AskPlaces(tuple(questions[start : start + QUESTIONS_MAX])))

    def on_answer(self, peer: Peer, answer: Answer) -> None:
        for reply in answer.replies:
            each = self.open.get(reply.number)
            if each is None or each.now != peer:
                continue  # late, or never asked for
            self.unanswered.heard(peer)
            self.consider(reply.number, reply, peer)
        self.flush()

    def consider(self, number: int, reply: Reply, peer: Peer | None) -> None:
        each = self.open[number]
        each.now = None
        fresh = [seat for seat in reply.seats[:NEARER] if seat.peer not in each.asked]
        if not reply.holds:
            each.next = [*fresh, *each.next]
            self.go_on(number)
            return
        if peer is not None and each.first:
            each.lookup.holders.append(LeafSeat(peer, reply.path))
        reply = each.asked_for(reply)
        few = len(reply.members) < each.count and not each.within(reply)
        if few and each.lookup.name and each.opinion is None:  # one that lies could name itself alone
            each.opinion, each.next = reply, [*each.next, *fresh]  # those named by others come first
            self.go_on(number)
        else:
            self.settle(number, reply if each.opinion is None or not few else both(each.opinion, reply))

    def settle(self, number: int, reply: Reply) -> None:
        """Who holds the place has answered. The rest of what was asked for is looked up where it is."""
        each, lookup = self.open[number], self.open[number].lookup
        branches = each.within(reply)
        heaps = [reply.count, *(branch.count for branch in branches)]
        taken = rules.parts(each.count, heaps, self.node.key(SAMPLE, number))
        lookup.found += reply.members[: taken[0]]
        if each.first:
            lookup.total = sum(heaps)
            lookup.holders += [seat for seat in reply.seats if seat not in lookup.holders]
            lookup.load, lookup.replicas = reply.load, reply.replicas
            lookup.sent_on_by = tuple(each.asked)[-1:] if branches else ()
        short = max(0, each.count - sum(heaps))
        for branch, drawn in zip(branches, taken[1:], strict=True):
            if count := drawn + short:  # where all are wanted: more may have come since somebody counted
                self.begin(lookup, branch.place, count, branch.seats, depth=each.depth + 1)
        self.close(number)

    def close(self, number: int) -> None:
        lookup = self.open.pop(number).lookup
        lookup.open -= 1
        if lookup.open:
            return
        if lookup.is_doubtful():
            lookup.doubt()
            self.begin(lookup, lookup.place, lookup.count, asked=lookup.sent_on_by)
        else:
            self.finish(lookup)

    def finish(self, lookup: Lookup) -> None:
        lookup.agree()
        key = self.node.key(SAMPLE, fold(self.node.now_us, self.numbers))
        lookup.found.sort(key=lambda said: draw(key, said.member))  # who takes some takes the first: any should be
        lookup.done(lookup)

    # -- those who do not answer ----------------------------------------------------------------------------------

    def on_answer_due(self, timer: ReplyDue) -> None:
        each = self.open.get(timer.number)
        if each is not None and len(each.asked) == timer.asked and each.now is not None:
            self.pass_over(timer.number, each)
            self.flush()

    def pass_over(self, number: int, each: OpenPlace) -> None:
        """The peer asked is silent, or gone."""
        assert each.now is not None
        each.silent[each.now] = None
        if self.trie.get(each.now) is not None:
            self.unanswered.asked([each.now])
        each.now = None
        self.go_on(number)

    def peer_down(self, peer: Peer) -> None:
        for number, each in [(number, each) for number, each in self.open.items() if each.now == peer]:
            if number in self.open:
                self.pass_over(number, each)
        self.flush()
