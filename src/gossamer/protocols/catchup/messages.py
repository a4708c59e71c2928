"""What nodes say to each other about their logs. All of it is about a topic and what is below it, so that grants can be
checked: who may read that is told what is there, and given it."""

from typing import Annotated, ClassVar, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.ids import Count, Peer
from gossamer.core.machine import Run
from gossamer.core.messages import Carrier, OfMember, Said
from gossamer.core.topics import Topic

PAGE_MAX = 64
"Streams told of in one message."
STRETCHES_MAX = 16
"Stretches told of one stream: where there are more, the smallest holes are not told."
RUNS_MAX = 32
"Runs named in one question, or in its answer."
WHERES_MAX = 8
WHERE_MAX = 512
"Filters that stand in a question, and the letters of each: who wants more asks for everything."

Runs: TypeAlias = Annotated[tuple[Run, ...], Meta(max_length=2 * RUNS_MAX)]


class Stream(Struct, frozen=True, array_like=True, order=True, gc=False):
    """What one publisher publishes on one topic in one life."""

    topic: Topic
    publisher: Peer
    incarnation: Count


class StreamHeld(Struct, frozen=True, array_like=True, gc=False):
    """What somebody has of a stream: first and last ordinal of each stretch, one after the other."""

    stream: Stream
    ends: Annotated[tuple[Count, ...], Meta(max_length=2 * STRETCHES_MAX)]


class Compare(OfMember, frozen=True, tag="catchup.compare"):
    """My log of this topic comes to this. If yours does not, tell me what you hold."""

    digest: Count
    seen: Count = 0
    "What yours came to when I last had all of it that is for me; 0: it never was so."
    after: Stream | None = None
    "Of the streams after this one only, both the digest and the answer."


class Holds(OfMember, frozen=True, tag="catchup.holds"):
    """This is what I hold of the topic's streams: of all of them after one, up to the last that stands here if there
    are `more`. Not an `answer`: of some of them, because you seem to lack it."""

    digest: Count
    "Of all of them."
    streams: Annotated[tuple[StreamHeld, ...], Meta(max_length=PAGE_MAX)]
    after: Stream | None = None
    more: bool = False
    answer: bool = True


class Lacks(OfMember, frozen=True, tag="catchup.lacks"):
    """Bring me these, of what matches any of the filters."""

    number: Count
    runs: Runs
    wheres: Annotated[tuple[Annotated[str, Meta(max_length=WHERE_MAX)], ...], Meta(max_length=WHERES_MAX)] = ()
    "None: everything."
    one: bool = False
    "Only the first you have of each run, whatever it says: I want to know how old it is."


class Brings(Carrier, frozen=True, tag="catchup.brings", gc=False):
    """An event from my log, for whoever lacked it. It is not spread further."""

    packs: ClassVar[bool] = False


class Answered(Said, frozen=True, tag="catchup.answered"):
    """That was all I have of what you asked for; but these I did not look at, it was enough for once."""

    number: Count
    left: Runs = ()
    lacks: Runs = ()
    "These I do not have, and cannot say whether they match."
    brought: Count = 0
    "So many events went before this, or come after it: what is short may overtake what is long."


Message: TypeAlias = Compare | Holds | Lacks | Brings | Answered
