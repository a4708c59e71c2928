"""Giving up what nobody has any more: our users are told how many, once.

Several members must say that they lack it, after it was looked for a while; then its publisher, if it answers. What is
given up and turns up after all is welcome.
"""

from gossamer.core.ids import Peer
from gossamer.core.machine import GivenUp
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols.catchup import rules
from gossamer.protocols.catchup.meeting import Meeting
from gossamer.protocols.catchup.params import Params
from gossamer.protocols.catchup.shelves import Shelf, Shelves
from gossamer.protocols.catchup.visiting import Visits
from gossamer.protocols.catchup.wishes import Wishes

FILTERED = 3
"Where filters are asked it takes so many times as long: others must first be sure that what they lack does not match."
BELIEVED = 20
"""So many times as long nothing is given up that somebody in sight says it has, though it does not bring it: it may be
slow. For ever would let a liar keep a loss from being told."""
TORN_A_LOOK = 64
"Streams with holes that are looked at in one beat; of more, these many have their turn."


class Conceding:
    def __init__(
        self, node: Stack, shelves: Shelves, wishes: Wishes, visits: Visits, meeting: Meeting, params: Params
    ) -> None:
        self.node, self.shelves, self.wishes, self.params = node, shelves, wishes, params
        self.visits, self.meeting = visits, meeting

    def look(self) -> None:
        torn = self.shelves.torn
        for stream in [*torn][:TORN_A_LOOK]:
            del torn[stream]
            shelf = self.shelves.shelves[stream]
            missing = self.shelves.missing(shelf)
            if missing:
                torn[stream] = None
                self._look_at(shelf, missing)
            else:
                self._forget(shelf)

    def _forget(self, shelf: Shelf) -> None:
        shelf.lost_us, shelf.publisher_us = None, None
        shelf.lackers.clear()
        shelf.promised.clear()
        shelf.word = None

    def _look_at(self, shelf: Shelf, missing: Ordinals) -> None:
        now_us = self.node.now_us
        if shelf.lost_us is None:
            shelf.lost_us, shelf.lost_top, shelf.lost_count = now_us, missing.top, missing.count
        missing = missing.between(1, shelf.lost_top)
        if not missing:  # what was missing came; what is missing now was not then
            self._forget(shelf)
            return
        if missing.count < shelf.lost_count:  # some of it came: there are those who have it
            shelf.lost_us, shelf.lost_count = now_us, missing.count
        patience_us = self.params.give_up_us * (FILTERED if self.wishes.wheres(shelf.stream.topic) else 1)
        asked_us, topic = shelf.lost_us + patience_us // 2, self._topic(shelf)
        if now_us < asked_us or topic is None:
            return
        believed = now_us < shelf.lost_us + BELIEVED * patience_us
        agreed = self._agreed(shelf, missing, topic, asked_us)
        if believed:
            agreed = agreed.without(self.visits.promised(shelf, self.meeting.partners(topic)))
        if agreed and now_us >= shelf.lost_us + patience_us and self._publisher_asked(shelf, topic, agreed, believed):
            self._give_up(shelf, agreed)

    def _topic(self, shelf: Shelf) -> Topic | None:
        """Under which of our topics a stream is compared."""
        above = (shelf.stream.topic, *self.node.hierarchy.ancestors(shelf.stream.topic))
        return next((each for each in above if each in self.wishes.begun_us), None)

    def _agreed(self, shelf: Shelf, missing: Ordinals, topic: Topic, asked_us: int) -> Ordinals:
        """What enough of those in sight lack, as they said lately; others are asked until they are enough."""
        partners = self.meeting.partners(topic)
        lately = {peer: what for peer, (said_us, what) in shelf.lackers.items() if said_us >= asked_us}
        said = {peer: lately[peer] for peer in partners if peer in lately}
        needed = rules.enough(self.params.witnesses, len(partners))
        agreed = missing.within(rules.said_by(said.values(), needed))
        silent = [peer for peer in partners if peer not in said and not self.visits.doubts(peer)]
        if not agreed:
            for peer in silent[:needed]:
                self._ask(peer, topic, shelf, missing)
        return agreed

    def _ask(self, peer: Peer, topic: Topic, shelf: Shelf, missing: Ordinals) -> None:
        """Where filters are asked, what somebody holds does not say what it lacks: it is asked for it."""
        if self.wishes.wheres(shelf.stream.topic):
            if (peer, topic) not in self.visits.under_way:
                self.visits.begin(peer, topic, {shelf.stream: missing}, lambda: None, at_once=True)
        else:
            self.meeting.compare(peer, topic, demand=True)

    def _publisher_asked(self, shelf: Shelf, topic: Topic, agreed: Ordinals, patient: bool) -> bool:
        """The last to ask. Who does not answer is not there, unless it is in sight: then it is slow."""
        publisher = shelf.stream.publisher
        if publisher == self.node.me or publisher in shelf.lackers:
            return True
        if shelf.publisher_us is None:
            shelf.publisher_us = self.node.now_us
            self.visits.begin(publisher, topic, {shelf.stream: agreed}, lambda: None, at_once=True)
        silent = self.node.now_us > shelf.publisher_us + self.params.wait_us
        return silent and not (patient and publisher in self.meeting.partners(topic))

    def _give_up(self, shelf: Shelf, agreed: Ordinals) -> None:
        at_most = bool(self.wishes.wheres(shelf.stream.topic))
        shelf.lost.add_all(agreed)
        shelf.word = None
        self.node.out.effects += [GivenUp(run, at_most) for run in rules.runs_of(shelf.stream, agreed)]
        self._forget(shelf)
