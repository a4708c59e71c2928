"""What our user publishes: spread at once where the node has its place, kept until then where it has not."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from gossamer.core import shortcuts
from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import SECOND_US, Note, Run
from gossamer.core.topics import Topic

if TYPE_CHECKING:
    from gossamer.core.stack import Stack

Told = TypeVar("Told", Peer, Topic)
PENDING_MAX = 1000
PENDING_BYTES = 64 << 20
"Publications that may wait for the node to find its place in a community, and their payloads; others are dropped."
PUBLISHED_MAX = 100
"""Topics that are kept up only because our user published there: communities this node is in, or has members of at
hand. Beyond that, the one used longest ago is left. Topics it was told to publish on do not count."""
IDLE_US = 120 * SECOND_US
"How long one is kept up after the last event."
PRUNED_MAX = 10_000
"Streams of our own of which it is remembered how far they are gone from the log; those told first are forgotten."


class LookForIdle(Struct, frozen=True):
    """Timer: communities in which nothing was published lately are left."""


class Publications:
    """Those that wait, by topic, and the topics that will be published on no more."""

    def __init__(self, node: "Stack") -> None:
        self.node = node
        self.out = node.out
        self.pending: dict[EventId, Event] = {}
        self.pending_bytes = 0
        self.by_topic: dict[Topic, dict[EventId, None]] = {}
        "The same ones."
        self.went_to: dict[EventId, dict[Peer | Topic, None]] = {}
        """Peers, or communities, that one of them went to already: it goes to others as they are found. Published
        again, it goes to all of them once more: what went out may have been lost."""
        self.stopping: dict[Topic, None] = {}
        self.used: dict[Topic, int] = {}
        "Topics kept up because of what was published on them, and when that last happened; longest ago first."
        self.looking = False
        self.gone: dict[tuple[Topic, int], int] = {}
        "Of each topic and life of ours the last that was in the log and is no more: all up to it were delivered."

    def topics(self) -> tuple[Topic, ...]:
        """Those on which something waits."""
        return tuple(self.by_topic)

    # -- publishing ---------------------------------------------------------------------------------------------

    def publish(self, events: Sequence[Event], join: bool) -> None:
        """Events of our own: at once where the same holds for all of them, or one by one."""
        for event in events if self.gone else ():
            if 0 < event.ordinal <= self.gone.get((event.topic, event.id.incarnation), 0):
                self.node.door.seen.add(event.id)  # in a former life, maybe, that still has to be handed over
        if len(events) > 1 and self._flows(events):
            self._use(events[0].topic, join)
            self._note(events)
            if self.node.spread.publish(events):
                return
            for event in events:
                self._keep(event)
            return
        for event in events:
            self._publish(event, join)
        if self.used and not self.looking:
            self.looking = True
            self.out.timer(IDLE_US, LookForIdle())

    def _flows(self, events: Sequence[Event]) -> bool:
        """Whether all of these are new, of one topic that is published on already, and nothing stands before them."""
        topic, node = events[0].topic, self.node
        ready = topic in node.interest.publishing and not self.stopping and not self.pending
        return ready and node.spread.has_place(topic) and shortcuts.alike(node.interest, node.door.seen, events)

    def _publish(self, event: Event, join: bool) -> None:
        """Spreads an event, now or once the node has its place. One that went out before and was not taken is no use of
        its topic, which may have been left: it is offered from where this node is."""
        topic = event.topic
        if self.node.lacks(event.id):
            self.node.accept(Carried(event), via=self.node.me)
        if event.id in self.pending:
            self.went_to.pop(event.id, None)
            if self._spread(event):
                self._forget(event)
            return
        if not (again := self.node.knows(event.id)):
            self._use(topic, join)
        elif topic not in self.used and not self.node.interest.takes_part(topic):
            self._keep_up(topic)  # whoever is found to hand it to is forgotten again sometime
        full = len(self.pending) >= PENDING_MAX or self.pending_bytes >= PENDING_BYTES
        if full and not self._has_place(topic):
            # Not published until it is taken: whoever wants it kept offers it again.
            self.out.note("drop", event=event.id, topic=topic, detail="too many publications wait to join")
            return
        if not again:
            self._note([event])
        if not self._spread(event):
            self._keep(event)

    def _note(self, events: Sequence[Event]) -> None:
        self.out.effects += [Note("publish", each.id, topic=each.topic) for each in events]

    def _has_place(self, topic: Topic) -> bool:
        node = self.node
        if node.outside is None or node.interest.takes_part(topic):
            return node.spread.has_place(topic)
        return node.outside.has_place(topic)

    def _spread(self, event: Event) -> bool:
        node = self.node
        inside = node.outside is None or node.interest.takes_part(event.topic)
        over = node.spread.publish([event]) if inside else node.outside.publish(event)  # type: ignore[union-attr]
        if over:
            self.went_to.pop(event.id, None)
        return over

    def pruned(self, runs: Sequence[Run]) -> None:
        """What the log no longer has was in it: though it still waits for others, it is no news to our readers."""
        for run in runs:
            if run.publisher == self.node.me:
                stream = run.topic, run.incarnation
                self.gone[stream] = max(run.last, self.gone.pop(stream, 0))
        for first in [*self.gone][: max(0, len(self.gone) - PRUNED_MAX)]:
            del self.gone[first]

    # -- waiting ------------------------------------------------------------------------------------------------

    def _keep(self, event: Event) -> None:
        self.pending[event.id] = event
        self.pending_bytes += len(event.payload)
        self.by_topic.setdefault(event.topic, {})[event.id] = None

    def _forget(self, event: Event) -> None:
        kept = self.pending.pop(event.id)  # whatever else is called by its name now
        del self.by_topic[kept.topic][event.id]
        self.pending_bytes -= len(kept.payload)
        if not self.by_topic[kept.topic]:
            del self.by_topic[kept.topic]

    def not_yet(self, event: Event, told: Sequence[Told]) -> list[Told]:
        """Those of them that an event which waits did not go to yet; from now on it did."""
        before = self.went_to.setdefault(event.id, {})
        fresh = [each for each in told if each not in before]
        before.update(dict.fromkeys(fresh))
        return fresh

    def go_on(self, topic: Topic) -> None:
        """This node has found its place, or members to hand events to: what waited for that goes out."""
        for event_id in [*self.by_topic.get(topic, ())]:
            if self._spread(event := self.pending[event_id]):
                self._forget(event)
        self._let_go(topic)

    def drop_all(self) -> None:
        """The node leaves."""
        for event in self.pending.values():
            self.out.note("drop", event=event.id, topic=event.topic, detail="the node left before it found its place")
        self.pending.clear()
        self.pending_bytes = 0
        self.by_topic.clear()
        self.went_to.clear()

    # -- topics -------------------------------------------------------------------------------------------------

    def start(self, topic: Topic) -> None:
        """Our user is going to publish there: it stays until it is told to stop."""
        self.stopping.pop(topic, None)
        self.used.pop(topic, None)
        self.node.change_publishing(topic, True)

    def stop(self, topic: Topic) -> None:
        self.used.pop(topic, None)
        self.stopping[topic] = None
        self._let_go(topic)

    def _use(self, topic: Topic, join: bool) -> None:
        """Our user publishes on a topic: joins its community where that is wanted. Who was told to stay there, stays;
        otherwise it is left when nothing was published for a while."""
        publishing = self.node.interest.publishing
        stays = topic in publishing and topic not in self.used and topic not in self.stopping
        self.stopping.pop(topic, None)
        if join and topic not in publishing:
            self.node.change_publishing(topic, True)
        if not stays:
            self._keep_up(topic)

    def _keep_up(self, topic: Topic) -> None:
        self.used.pop(topic, None)
        self.used[topic] = self.node.now_us
        for idle in [*self.used][: max(0, len(self.used) - PUBLISHED_MAX)]:
            self.stop(idle)

    def on_look_for_idle(self, timer: LookForIdle) -> None:
        for topic in [topic for topic, used_us in self.used.items() if self.node.now_us - used_us >= IDLE_US]:
            self.stop(topic)
        self.looking = bool(self.used)
        if self.looking:
            self.out.timer(IDLE_US, timer)

    def _let_go(self, topic: Topic) -> None:
        """A publisher may go after one hand-over, but not before."""
        if topic in self.stopping and topic not in self.by_topic:
            del self.stopping[topic]
            self.node.change_publishing(topic, False)
            if self.node.outside is not None:
                self.node.outside.close(topic)
