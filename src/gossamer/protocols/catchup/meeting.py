"""With whom logs are compared, and when: with everybody who is new in sight, and in turn with somebody drawn.

Who comes back, a half that heals, a link upwards that was found, a place in the community at the start: all of them
show as somebody whom this node did not see at its last look.
"""

from collections.abc import Callable, Iterator, Sequence

from gossamer.core.draws import CATCH_UP, distinct, draw, fold
from gossamer.core.ids import Peer, peer_of
from gossamer.core.layer import Bound
from gossamer.core.machine import SECOND_US
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.bucket import Buckets
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols.catchup import rules
from gossamer.protocols.catchup.messages import PAGE_MAX, Compare, Holds, Stream
from gossamer.protocols.catchup.params import Params
from gossamer.protocols.catchup.shelves import Shelf, Shelves, claimed, held
from gossamer.protocols.catchup.visiting import Visits
from gossamer.protocols.catchup.wishes import Wishes

COMPARES_PER_S = 20
"Comparisons of one peer that are answered per second, twice as many at once; and as many answers that are heard."
NEW_MAX = 16
"Of those that are new in a topic at one look, so many are compared with."
DUE_MAX = 1000
"Comparisons that wait for their turn."
GONE_MAX = 256
"Those that went out of sight, and are tried now and then,"
GONE_US = 600 * SECOND_US
"for so long."
FEW = 4
"Who sees more others than this tries those that are gone less often: the others do so, too."
BEATS = 8
"Within so many beats whoever waits is compared with, however many there are."
TOPICS_A_LOOK = 64
"Topics looked at in one beat; of more, these many have their turn."
SETTLED_MAX = 4096
"Peers and topics of which it is known how their log compared."


class Meeting:
    """`partners`: whom this node knows that may have events of a topic in their logs."""

    def __init__(
        self,
        node: Stack,
        shelves: Shelves,
        wishes: Wishes,
        visits: Visits,
        partners: Callable[[Topic], Sequence[Peer]],
        params: Params,
    ) -> None:
        self.node, self.shelves, self.wishes, self.visits, self.params = node, shelves, wishes, visits, params
        self.know = partners
        self.met: dict[Topic, frozenset[Peer]] = {}
        self.due: dict[rules.Who, None] = {}
        self.gone: dict[rules.Who, int] = {}
        "Who went out of sight, and when. It may be us who are apart: then nobody else would find out when that ends."
        self.settled: dict[rules.Who, int] = {}
        "What somebody's log came to when this node last had all that it wanted of it."
        self.heard = Buckets(COMPARES_PER_S, 2 * COMPARES_PER_S)
        self.looks = self.rests = 0
        self.rested_us = 0
        self.disturbed_us = 0
        "When somebody new was last seen."

    def bounds(self) -> Iterator[Bound]:
        yield "comparisons due", len(self.due), DUE_MAX
        yield "peers out of sight", len(self.gone), GONE_MAX
        yield "comparisons settled", len(self.settled), SETTLED_MAX
        yield "topics compared", len(self.met), len(self.topics())

    def topics(self) -> list[Topic]:
        """What our users read; and what they publish, for somebody above may lack it."""
        return [*dict.fromkeys((*self.wishes.topics(), *self.node.interest.publishing))]

    def partners(self, topic: Topic) -> list[Peer]:
        return [peer for peer in dict.fromkeys(self.know(topic)) if peer != self.node.me]

    # -- when ---------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """A beat: who is new is compared with; if nobody is, now and then somebody."""
        topics = self.topics()
        if len(self.met) > len(topics):
            self.met = {topic: met for topic, met in self.met.items() if topic in topics}
        if not topics:
            return
        self.looks += 1
        first = self.looks * TOPICS_A_LOOK % len(topics) if len(topics) > TOPICS_A_LOOK else 0
        for topic in topics[first : first + TOPICS_A_LOOK]:
            self._see(topic)
        waiting = rules.in_turn([who for who in self.due if not self.visits.doubts(who[0])])
        begun = waiting[: max(self.params.at_once, len(waiting) // BEATS)]
        for who in begun:
            del self.due[who]
            self.compare(*who)
        if not begun and self.node.now_us >= self.rested_us + self.params.rest_us:
            self._rest(topics)

    def _see(self, topic: Topic) -> None:
        partners, met = self.partners(topic), self.met.get(topic, frozenset())
        new = [peer for peer in partners if peer not in met]
        self.met[topic] = frozenset(partners)
        for peer in sorted(met - self.met[topic]):
            self._lose(peer, topic)
        if new:
            self.disturbed_us = self.node.now_us
            key = self.node.key(CATCH_UP, fold(peer_of(topic), self.looks))
            for i in distinct(key, len(new), NEW_MAX):
                self.expect(new[i], topic)
            for peer in new if self.gone else ():
                self.gone.pop((peer, topic), None)

    def _lose(self, peer: Peer, topic: Topic) -> None:
        self.gone[peer, topic] = self.node.now_us
        if len(self.gone) > GONE_MAX:
            del self.gone[next(iter(self.gone))]

    def _try_gone(self) -> bool:
        """Somebody who went out of sight, if it is time for that."""
        self.gone = {who: us for who, us in self.gone.items() if self.node.now_us < us + GONE_US}
        who = next((who for who in self.gone if not self.visits.doubts(who[0])), None)
        if who is None:
            return False
        self.gone[who] = self.gone.pop(who)
        seen = len(self.met.get(who[1], ()))
        if draw(self.node.key(CATCH_UP, 2), self.rests) % max(FEW, seen) >= FEW:
            return False
        self.compare(*who)
        return True

    def expect(self, peer: Peer, topic: Topic) -> None:
        if len(self.due) < DUE_MAX:
            self.due[peer, topic] = None

    def _rest(self, topics: Sequence[Topic]) -> None:
        self.rests += 1
        self.rested_us = self.node.now_us
        if self.gone and self.rests % 2 and self._try_gone():
            return
        for turn in range(min(len(topics), TOPICS_A_LOOK)):  # some may have nobody else
            topic = topics[(self.rests + turn) % len(topics)]
            partners = [peer for peer in self.partners(topic) if not self.visits.doubts(peer)]
            if partners:
                self.rests += turn
                self.compare(partners[draw(self.node.key(CATCH_UP, 0), self.rests) % len(partners)], topic)
                return

    def forget(self, peer: Peer) -> None:
        """Whoever it is, it is news the next time it is seen."""
        for topic, met in self.met.items():
            if peer in met:
                self.met[topic] = met - {peer}
                self._lose(peer, topic)

    # -- comparing ----------------------------------------------------------------------------------------------

    def compare(self, peer: Peer, topic: Topic, after: Stream | None = None, demand: bool = False) -> None:
        """`demand`: an answer is wanted even if nothing has changed."""
        seen = 0 if demand else self.settled.get((peer, topic), 0)
        digest = self.shelves.digest(topic, after) ^ demand  # no log comes to that
        self.node.out.send([peer], Compare(topic, digest, seen, after))

    def on_compare(self, peer: Peer, asked: Compare) -> None:
        node, topic, after = self.node, asked.topic, asked.after
        if not (node.spread.relays or node.interest.communities(topic)) or not self.heard.take(peer, node.now_us):
            return
        mine = self.shelves.digest(topic, after)
        if mine == asked.digest:
            return
        if after is None and asked.seen == mine and self.settled.get((peer, topic)) == asked.digest:
            return  # both have what they want of each other
        streams, more = self.shelves.page(topic, after)
        whole = mine if after is None else self.shelves.digest(topic)
        node.out.send([peer], Holds(topic, whole, tuple(streams), after, more))

    def on_holds(self, peer: Peer, holds: Holds) -> None:
        if self.visits.doubts(peer) or not self.heard.take(~peer, self.node.now_us):
            return
        topic, includes = holds.topic, self.node.hierarchy.includes
        claims = {each.stream: claimed(each) for each in holds.streams if includes(topic, each.stream.topic)}
        if holds.answer:
            self._offer(peer, holds, claims)
        if self.visits.full():
            self.expect(peer, topic)
            return
        self.visits.begin(peer, topic, claims, lambda: self._over(peer, holds))

    def _over(self, peer: Peer, holds: Holds) -> None:
        """All of a page that is wanted was asked for: the next, or that is it."""
        if not holds.more:
            self.settled.pop((peer, holds.topic), None)
            self.settled[peer, holds.topic] = holds.digest
            if len(self.settled) > SETTLED_MAX:
                del self.settled[next(iter(self.settled))]
        elif holds.answer and holds.streams:
            self.compare(peer, holds.topic, holds.streams[-1].stream)

    def _offer(self, peer: Peer, holds: Holds, claims: dict[Stream, Ordinals]) -> None:
        """Tells the other what it lacks in turn, and what this log comes to."""
        lacked = []
        for shelf in self._told_of(holds):
            theirs = claims.get(shelf.stream, Ordinals())
            if shelf.stream in self.shelves.torn:
                shelf.lackers[peer] = self.node.now_us, self.shelves.missing(shelf).without(theirs)
            if shelf.held.without(theirs):
                lacked.append(held(shelf.stream, shelf.held))
        digest, page = self.shelves.digest(holds.topic), tuple(lacked[:PAGE_MAX])
        self.node.out.send([peer], Holds(holds.topic, digest, page, None, holds.more or len(lacked) > PAGE_MAX, False))

    def _told_of(self, holds: Holds) -> Iterator[Shelf]:
        """Our own streams of those that an answer is about."""
        last = holds.streams[-1].stream if holds.more and holds.streams else None
        for shelf in self.shelves.below(holds.topic, holds.after):
            if last is not None and shelf.stream > last:
                return
            yield shelf
