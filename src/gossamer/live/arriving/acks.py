"""What publishers are told of their events, and when: decisions without a disk, a link or a clock.

An event is acknowledged from the commit that keeps it, never on arrival. One that is there already is acknowledged at
once; one that nobody here wants is answered with just that; one that could not be kept, not at all.
"""

from collections.abc import Callable, Collection, Sequence

from gossamer.core.ids import EventId
from gossamer.live.links.control import How


class AckQueue:
    """Fed with what arrives, what is on its way to the disk, and what became of that. What is kept together is counted
    together: nearly always all of it came the same way."""

    def __init__(self, how: How, was_kept: Callable[[EventId], bool]) -> None:
        self.how, self.was_kept = how, was_kept
        "How this node keeps what it keeps, and whether it ever gave an event to the disk, and that did not fail."
        self.jobs: dict[EventId, list[EventId]] = {}
        "Events on their way to the disk, by the first of those that go together."
        self.whole: set[EventId] = set()
        "Of which of these all came straight from their publishers;"
        self.waiting: set[EventId] = set()
        "and single events that did."
        self.undecided: list[EventId] = []
        "What came straight from its publisher in this turn of the loop,"
        self.turn: list[EventId] = []
        "and what was given to the disk last."
        self.due: dict[How, list[EventId]] = {}
        "What is to be told now."
        self._underway: set[EventId] | None = None

    def arrived(self, events: Sequence[EventId]) -> None:
        """Events came straight from their publishers, for the first time or again."""
        self.undecided += events

    def keeping(self, events: list[EventId]) -> None:
        """These go to the disk, and will be committed or fail together."""
        self.jobs[events[0]] = self.turn = events
        self._underway = None

    def decide(self) -> None:
        """A turn of the loop is over: whatever of its arrivals is to be kept is on its way by now."""
        undecided, turn = self.undecided, self.turn
        self.undecided, self.turn = [], []
        if turn and undecided == turn and turn[0] in self.jobs:  # the usual case
            self.whole.add(turn[0])
            return
        underway = self.underway()
        for event_id in undecided:
            if event_id in underway:
                self.waiting.add(event_id)
            else:
                self._tell(self.how if self.was_kept(event_id) else "not", [event_id])

    def underway(self) -> set[EventId]:
        """All of them, one by one."""
        if self._underway is None:
            self._underway = {each for events in self.jobs.values() for each in events}
        return self._underway

    def committed(self, events: Sequence[EventId], without: Collection[EventId] = ()) -> None:
        """What was given to the disk together is there, but for some of it."""
        straight = self._straight(events)
        if without:
            straight = [each for each in straight if each not in without]
        if straight:
            self._tell(self.how, straight)

    def failed(self, events: Sequence[EventId]) -> None:
        """What was given to the disk together is not there: publishers hear nothing, and offer it again."""
        self._straight(events)

    def _straight(self, events: Sequence[EventId]) -> Sequence[EventId]:
        """These are under way no longer. Those of them that came straight from their publishers."""
        self.jobs.pop(events[0], None)
        self._underway = None
        straight = [each for each in events if each in self.waiting] if self.waiting else []
        self.waiting.difference_update(straight)
        if events[0] in self.whole:
            self.whole.remove(events[0])
            return events
        return straight

    def _tell(self, how: How, events: Sequence[EventId]) -> None:
        self.due.setdefault(how, []).extend(events)

    def take(self) -> dict[How, list[EventId]]:
        """What is to be told, once."""
        due, self.due = self.due, {}
        return due
