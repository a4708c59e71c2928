"""Well-formed lies: they cost a bounded amount, and nothing is forgotten, skipped or given up because of them."""

from collections.abc import Callable

import pytest

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import (
    SECOND_US,
    Effect,
    FromLog,
    Given,
    GivenUp,
    Logged,
    Pruned,
    ReadLog,
    Received,
    Run,
    Send,
    Settled,
    Started,
    Subscribe,
    Unkept,
    Unsubscribe,
)
from gossamer.parts.ordinals import Ordinals
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.catchup import rules
from gossamer.protocols.catchup.layer import CatchUp, Wake
from gossamer.protocols.catchup.messages import (
    PAGE_MAX,
    RUNS_MAX,
    STRETCHES_MAX,
    Answered,
    Brings,
    Compare,
    Holds,
    Lacks,
    Stream,
    StreamHeld,
)
from gossamer.protocols.catchup.params import Params
from gossamer.protocols.catchup.serving import READING_MAX
from gossamer.protocols.catchup.shelves import STREAMS_MAX
from gossamer.protocols.scamp.messages import Forward, Here
from gossamer.wire.codec import Codec
from protocols.logged import catching, lacks, logged, logs, publish
from protocols.member import LEASE
from protocols.saying import ME
from protocols.towns import layer
from protocols.victims import Victim

TOP = 2**63 - 1
LIFE = 2**40
"A life that began after everybody subscribed."
CODEC = Codec(CATALOGUE["camcast"].spoken)


class Member(Victim):
    """A member of `.t` that sees a few others, and has ten events of publisher 7."""

    def __init__(self, *others: Peer) -> None:
        node = camcast_node(ME, 1, catchup=Params())
        super().__init__(node, CODEC, Started(), Subscribe(".t"))
        self.seen = 0
        for peer in others or (1, 2, 3, 4):
            self.see(peer)
        self.take(Logged((Run(".t", 7, LIFE, 1, 10),)))

    def see(self, peer: Peer) -> None:
        """It is a member, for a while."""
        self.seen += 1
        self.hear(peer, Forward(".t", peer, self.seen, 1, LEASE))
        self.hear(peer, Here(".t"))

    @property
    def catching(self) -> CatchUp:
        return layer(self.node, CatchUp)

    def seconds(self, count: float) -> list[Effect]:
        return [effect for _ in range(round(4 * count)) for effect in self.wait(SECOND_US // 4)]

    def check(self) -> None:
        for what, size, most in self.catching.bounds():
            assert size <= most, what


def said(effects: list[Effect], kind: type) -> list[tuple[Peer, object]]:
    return [
        (peer, each.message)
        for each in effects
        if type(each) is Send and type(each.message) is kind
        for peer in each.peers
    ]


def holds(*streams: StreamHeld, more: bool = False) -> Holds:
    return Holds(".t", 99, streams, None, more)


def test_who_claims_what_was_never_published_is_asked_three_times_and_left_alone() -> None:
    member = Member()
    asked = 0
    for _ in range(20):
        effects = member.hear(1, holds(StreamHeld(Stream(".t", 7, LIFE), (1, TOP))))
        for _ in range(10):
            for peer, question in said(effects, Lacks):
                asked += 1
                assert sum(run.last + 1 - run.first for run in question.runs) <= Params().ask  # type: ignore[attr-defined]
                member.hear(peer, Answered(question.number))  # type: ignore[attr-defined]
            effects = member.seconds(0.5)
    member.check()
    assert 0 < asked <= 3 * 5  # in a hundred seconds
    shelf = member.catching.shelves.shelves[Stream(".t", 7, LIFE)]
    assert ([*shelf.held], [*shelf.lost], shelf.older) == ([(1, 10)], [], 0)


def test_streams_that_somebody_makes_up_are_not_remembered() -> None:
    member = Member()
    for page in range(200):
        streams = [StreamHeld(Stream(".t", page * 100 + n, LIFE), (1, TOP)) for n in range(PAGE_MAX)]
        member.hear(1, holds(*streams, more=True))
        member.seconds(0.25)
    member.check()
    assert [*member.catching.shelves.shelves] == [Stream(".t", 7, LIFE)]


@pytest.mark.parametrize("ends", [(0, 0), (5,), (9, 3), (TOP, TOP), (3, 5, 1, 9, 4), tuple(range(2 * STRETCHES_MAX))])
def test_absurd_ranges_are_no_ranges(ends: tuple[int, ...]) -> None:
    member = Member()
    member.hear(1, holds(StreamHeld(Stream(".t", 7, LIFE), ends), StreamHeld(Stream(".elsewhere", 7, LIFE), (1, 9))))
    for _, question in said(member.seconds(3), Lacks):
        assert all(run.topic == ".t" and 0 < run.first <= run.last for run in question.runs)  # type: ignore[attr-defined]
    member.check()


def test_as_long_as_one_of_several_members_has_not_said_so_nothing_is_given_up() -> None:
    """Two liars of four, however often they lie."""
    member = Member(1, 2, 3, 4)
    member.take(Logged((Run(".t", 7, LIFE, 21, 30),)))  # 11 to 20 are missing
    told: list[Effect] = []
    for _ in range(30):
        for liar in (1, 2):
            told += member.hear(liar, holds(StreamHeld(Stream(".t", 7, LIFE), (1, 10, 21, 30))))
        for peer in (1, 2, 3, 4):
            member.hear(peer, Here(".t"))
        told += member.seconds(1)
    assert not [each for each in told if type(each) is GivenUp]
    for _ in range(20):
        for peer in (1, 2, 3):
            told += member.hear(peer, holds(StreamHeld(Stream(".t", 7, LIFE), (1, 10, 21, 30))))
            member.hear(peer, Here(".t"))
        told += member.seconds(1)
    (given_up,) = [each for each in told if type(each) is GivenUp]
    assert given_up == GivenUp(Run(".t", 7, LIFE, 11, 20))
    assert said(told, Lacks)[-1][0] == 7  # its publisher was the last to be asked
    member.check()


def lacking_all(member: Member, seconds: float, silent: Peer) -> list[Effect]:
    """Events 11 to 15 of publisher 7 are missing, since 16 to 20 came; all say so but one, who claims to have them and
    answers no question."""
    member.take(Logged((Run(".t", 7, LIFE, 16, 20),)))
    effects: list[Effect] = []
    stream = Stream(".t", 7, LIFE)
    for _ in range(round(seconds)):
        for peer in (1, 2, 3, 4):
            ends = (1, 20) if peer == silent else (1, 10, 16, 20)
            member.see(peer)
            effects += member.hear(peer, holds(StreamHeld(stream, ends)))
        effects += member.seconds(1)
    return effects


def test_nothing_is_given_up_that_somebody_in_sight_has_and_is_slow_to_bring() -> None:
    member = Member()
    effects = lacking_all(member, 60, silent=4)
    assert said(effects, Lacks)
    assert not any(type(each) is GivenUp for each in effects)


def test_who_claims_to_have_an_event_and_never_brings_it_keeps_nobody_from_being_told_for_ever() -> None:
    effects = lacking_all(Member(), 200, silent=4)
    assert [each.run for each in effects if type(each) is GivenUp] == [Run(".t", 7, LIFE, 11, 15)]


def test_as_long_as_missing_events_come_none_of_the_others_is_given_up() -> None:
    """They come from one who is slow; all others lack them."""
    member = Member()
    member.take(Logged((Run(".t", 7, LIFE, 41, 50),)))
    effects: list[Effect] = []
    for come in range(11, 31):
        for peer in (1, 2, 3, 4):
            effects += member.hear(peer, holds(StreamHeld(Stream(".t", 7, LIFE), (1, 10, 41, 50))))
            member.see(peer)
        effects += member.seconds(3)
        effects += member.take(Logged((Run(".t", 7, LIFE, come, come),)))
    assert not any(type(each) is GivenUp for each in effects)
    effects = []
    for _ in range(30):
        for peer in (1, 2, 3, 4):
            effects += member.hear(peer, holds(StreamHeld(Stream(".t", 7, LIFE), (1, 30, 41, 50))))
            member.see(peer)
        effects += member.seconds(1)
    assert [each.run for each in effects if type(each) is GivenUp] == [Run(".t", 7, LIFE, 31, 40)]


def test_an_answer_that_overtakes_its_events_waits_for_them_and_the_next_question_follows_the_last_at_once() -> None:
    member, stream = Member(), Stream(".t", 7, LIFE)
    effects = member.hear(1, holds(StreamHeld(stream, (1, 2000)))) + member.seconds(2)
    ((peer, first),) = said(effects, Lacks)
    assert not said(member.hear(peer, Answered(first.number, brought=3)), Lacks)  # type: ignore[attr-defined]
    for number in (11, 12):
        assert not said(member.hear(peer, Brings(Carried(event(number), 1))), Lacks)
    ((_, second),) = said(member.hear(peer, Brings(Carried(event(13), 1))), Lacks)
    assert second.number > first.number  # type: ignore[attr-defined]


def test_who_says_that_events_come_after_its_answer_and_sends_none_is_left_alone() -> None:
    member, stream, asked = Member(), Stream(".t", 7, LIFE), 0
    effects = member.hear(1, holds(StreamHeld(stream, (1, TOP))))
    for _ in range(200):
        for peer, question in said(effects, Lacks):
            asked += 1
            member.hear(peer, Answered(question.number, brought=TOP))  # type: ignore[attr-defined]
        effects = member.seconds(0.5)
    assert asked == 3
    member.check()


def test_what_a_former_life_missed_before_the_first_it_kept_is_asked_for_too() -> None:
    """The stream began before the subscription, its first events were lost, and then the node was killed."""
    node = camcast_node(ME, 1, catchup=Params())
    member = Victim(node, CODEC)
    began_us = 2
    member.wait(SECOND_US)
    member.take(Started())
    member.take(Logged((Run(".t", 7, began_us - 1, 17, 80),), former=True))
    member.take(Subscribe(".t", since_us=began_us))
    member.hear(1, Forward(".t", 1, 1, 1, LEASE))
    whole = Ordinals([(1, 80)])
    shelves = layer(node, CatchUp).shelves
    word = shelves.shelves[Stream(".t", 7, began_us - 1)].stream_word
    assert shelves.digest(".t") != rules.digest_of([rules.word_of(word, whole)])  # so they will be compared
    effects = member.hear(1, holds(StreamHeld(Stream(".t", 7, began_us - 1), (1, 80))))
    effects += [effect for _ in range(12) for effect in member.wait(SECOND_US // 4)]
    ((_, question), *_) = said(effects, Lacks)
    assert [(run.first, run.last) for run in question.runs] == [(1, 16)]  # type: ignore[attr-defined]


def event(ordinal: int) -> Event:
    return Event(EventId(7, LIFE, ordinal), ".t", b"", published_us=LIFE + ordinal, ordinal=ordinal)


def test_what_nobody_proved_to_exist_is_not_missed() -> None:
    member = Member()
    for peer in (1, 2, 3, 4):
        member.hear(peer, holds(StreamHeld(Stream(".t", 7, LIFE), (500, TOP))))
    told = member.seconds(60)
    assert not [each for each in told if type(each) is GivenUp]


def test_a_question_costs_what_one_answer_may_and_only_what_is_in_the_log_is_read() -> None:
    member = Member()
    member.take(Logged((Run(".t", 7, LIFE, 1, 100_000),)))
    runs = tuple(Run(".t", 7, LIFE, 1 + n, TOP) for n in range(RUNS_MAX))
    read: list[ReadLog] = []
    for number in range(200):
        read += [each for each in member.hear(1, Lacks(".t", number, runs)) if type(each) is ReadLog]
    assert len(read) == 1  # until it is answered, there is no other
    assert sum(run.last + 1 - run.first for run in read[0].runs) <= 256
    effects = member.take(FromLog(1, 0, (Event(EventId(7, LIFE, 1), ".t", ordinal=1),)))
    assert [type(message) for _, message in said(effects, Brings) + said(effects, Answered)] == [Brings, Answered]
    (answer,) = (message for _, message in said(effects, Answered))
    assert answer.left  # type: ignore[attr-defined]
    member.check()


def test_nobody_is_told_more_often_than_a_few_times_a_second() -> None:
    member = Member()
    replies = [said(member.hear(1, Compare(".t", number)), Holds) for number in range(500)]
    assert sum(map(len, replies)) <= 40
    assert not said(member.hear(2, Compare(".elsewhere", 5)), Holds)


def test_only_so_many_questions_wait_for_the_log() -> None:
    member = Member()
    for peer in range(100, 400):
        member.hear(peer, Lacks(".t", 1, (Run(".t", 7, LIFE, 1, 5),)))
    assert len(member.catching.serving.reading) == READING_MAX
    member.check()


def test_what_is_in_the_log_of_a_topic_that_was_left_is_not_passed_on() -> None:
    member = Member()
    member.take(Logged((Run(".other", 8, LIFE, 1, 5),)))
    effects = member.hear(1, Lacks(".other", 1, (Run(".other", 8, LIFE, 1, 5),)))
    assert not [each for each in effects if type(each) is ReadLog]
    ((_, answer),) = said(effects, Answered)
    assert answer.lacks == (Run(".other", 8, LIFE, 1, 5),)  # type: ignore[attr-defined]


def test_events_that_nobody_asked_for_or_that_are_too_old_do_not_come_in() -> None:
    member = Member()
    stranger = Event(EventId(8, LIFE, 1), ".elsewhere", ordinal=1)
    assert member.hear(1, Brings(Carried(stranger))) == []
    assert not member.node.knows(stranger.id)


def test_a_publisher_of_very_many_streams_pushes_out_its_oldest() -> None:
    member = Member()
    for life in range(STREAMS_MAX + 50):
        member.take(Logged((Run(".t", 9, life + 1, 1, 1),)))
    member.check()
    assert len(member.catching.shelves.shelves) == STREAMS_MAX


def test_what_came_late_is_known_to_be_held_though_later_events_were_pruned_before_it() -> None:
    member = Member()
    stream = Stream(".t", 8, LIFE)
    member.take(Pruned((Run(".t", 8, LIFE, 1, 60),)))  # as far as the log remembers
    member.take(Logged((Run(".t", 8, LIFE, 1, 49),), former=True))
    assert [*member.catching.shelves.shelves[stream].held] == [(1, 49)]
    assert not member.catching.shelves.lacking(stream, Ordinals([(1, 60)]))[0]


def test_who_has_no_log_says_so_once_and_asks_for_nothing() -> None:
    node = camcast_node(ME, 1, catchup=Params(log=False))
    victim = Victim(node, CODEC, Started(), Subscribe(".t"))
    ((_, answer),) = said(victim.hear(1, Compare(".t", 5)), Holds)
    assert answer.streams == ()  # type: ignore[attr-defined]
    assert victim.hear(1, Compare(".t", 5, seen=answer.digest)) == []  # type: ignore[attr-defined]
    assert victim.hear(1, holds(StreamHeld(Stream(".t", 7, LIFE), (1, 9)))) == []
    ((_, lacked),) = said(victim.hear(1, Lacks(".t", 3, (Run(".t", 7, LIFE, 1, 9),))), Answered)
    assert lacked == Answered(3, (), (Run(".t", 7, LIFE, 1, 9),))


# Among others


def lying(step: Callable[[Given, int], list[Effect]]) -> Callable[[Given, int], list[Effect]]:
    """A machine that claims to hold everything there could be, and brings nothing."""

    def answers(given: Given, now_us: int) -> list[Effect]:
        if type(given) is Received and type(given.message) is Compare:
            streams = [StreamHeld(Stream(".t", n, 1 + n // 5), (1, TOP)) for n in range(PAGE_MAX)]
            return [Send((given.peer,), Holds(".t", now_us, tuple(streams), None, True))]
        if type(given) is Received and type(given.message) is Lacks:
            return [Send((given.peer,), Answered(given.message.number))]
        return step(given, now_us)

    return answers


def test_a_hostile_member_keeps_nobody_from_catching_up() -> None:
    town = logged("camcast", 6)
    town.node(5).step = lying(town.node(5).step)  # type: ignore[method-assign]
    before = publish(town, 0, 10)
    town.leave(4)
    town.run(1)
    missed = publish(town, 0, 200)
    town.run(3)
    town.restart(4, memory=True)
    assert town.seconds_until(lambda: not lacks(town, 4, before + missed), at_most=60) <= 15
    town.run(30)
    assert not logs(town).gaps
    assert len(catching(town, 4).shelves.shelves) == 1


def test_the_timer_is_the_only_thing_it_lives_by() -> None:
    member = Member()
    assert [*member.catching.lives_by(None)] == [Wake()]
    assert not member.catching.lives_by(".t")


@pytest.mark.parametrize("where", ["", "x > 5"])
def test_what_somebody_has_and_did_not_bring_is_asked_for_again_though_nothing_happens_anymore(where: str) -> None:
    """Where filters are asked, nothing but that shows that something is lacking."""
    member = Member()
    member.take(Subscribe(".t", where)) if where else None
    stream = Stream(".t", 7, LIFE)
    member.hear(1, holds(StreamHeld(stream, (1, 30))))
    alike = member.catching.shelves.digest(".t")
    effects = member.seconds(8)
    assert said(effects, Lacks)  # and no answer
    assert member.catching.shelves.digest(".t") != alike
    ((peer, question),) = said(member.hear(2, holds(StreamHeld(stream, (1, 30)))) + member.seconds(2), Lacks)
    for number in range(11, 31):
        member.hear(peer, Brings(Carried(event(number), 1)))
    member.take(Logged((Run(".t", 7, LIFE, 11, 30),)))
    member.hear(peer, Answered(question.number, brought=20))  # type: ignore[attr-defined]
    assert not member.catching.shelves.shelves[stream].promised


def test_where_filters_are_asked_a_log_that_begins_in_the_midst_is_unlike_others_until_that_is_looked_at() -> None:
    member = Member()
    shelves = member.catching.shelves
    shelves.wishes.wheres = lambda topic: ("x > 5",)  # type: ignore[method-assign]
    member.take(Logged((Run(".t", 8, LIFE, 161, 240),)))
    tops = {7: 10, 8: 240}
    words = [shelves.shelves[Stream(".t", peer, LIFE)].stream_word for peer in tops]
    whole = [rules.word_of(word, Ordinals([(1, top)])) for word, top in zip(words, tops.values(), strict=True)]
    assert shelves.digest(".t") != rules.digest_of(whole)
    shelf = shelves.shelves[Stream(".t", 8, LIFE)]
    shelf.done.add(1, 160)  # others said that none of these matches
    shelf.word = None
    assert shelves.digest(".t") == rules.digest_of(whole)


def test_what_the_disk_had_no_room_for_is_asked_for_though_filters_hide_the_hole() -> None:
    member, stream = Member(), Stream(".t", 7, LIFE)
    member.take(Unsubscribe(".t"))
    member.take(Subscribe(".t", "x > 5"))
    shelves = member.catching.shelves
    member.take(Logged((Run(".t", 7, LIFE, 11, 20),)))
    member.take(Unkept((EventId(7, LIFE, 15),), (Run(".t", 7, LIFE, 21, 25),)))
    effects = [*member.take(Logged((Run(".t", 7, LIFE, 26, 30),))), *member.seconds(40)]
    assert not [each for each in effects if type(each) is Settled and any(run.last > 20 for run in each.runs)]
    assert shelves.shelves[stream].examined <= 20
    shelf = shelves.shelves[stream]
    alike = rules.digest_of([rules.word_of(shelf.stream_word, Ordinals([(1, 30)]))])
    shelf.done.add(1, 30)  # two others said so
    shelf.word = None
    assert shelves.digest(".t") != alike
    assert shelves.missing(shelf) == Ordinals([(21, 25)])
    assert shelves.lacking(stream, Ordinals([(1, 30)])) == (Ordinals([(21, 25)]), False)
    member.take(Logged((Run(".t", 7, LIFE, 21, 25),)))
    assert not shelves.missing(shelf)
    assert shelves.digest(".t") == alike


def test_a_node_is_sure_of_what_it_published_itself_and_the_log_need_not_remember_that() -> None:
    """What its disk could not keep of its own goes out again after a restart, and is news to its readers then."""
    member = Member()
    member.take(Unsubscribe(".t"))
    member.take(Subscribe(".t", "x > 5"))
    member.take(Logged((Run(".t", ME, 5, 3, 9),), former=True))
    assert member.catching.shelves.shelves[Stream(".t", ME, 5)].examined == 9
    for first in (1, 11):
        member.take(Logged((Run(".t", ME, LIFE, first, first), Run(".t", 7, LIFE, 20 + first, 20 + first))))
        effects = member.seconds(25)
    settled = {run.publisher for each in effects if type(each) is Settled for run in each.runs}
    assert settled == {7}


@pytest.mark.parametrize(("life", "speaks"), [(LIFE, True), (1, False)])
def test_who_asked_with_a_filter_only_after_a_stream_began_does_not_speak_for_what_it_lacks_of_it(
    life: int, speaks: bool
) -> None:
    """It may never have wanted what somebody else asks for now."""
    member = Member()
    member.take(Unsubscribe(".t"))
    member.seconds(1)
    member.take(Subscribe(".t", "x > 5"))
    runs = tuple(Run(".t", 8, life, first, last) for first, last in ((1, 10), (11, 20), (21, 30), (31, 31)))
    member.take(Logged((runs[1], runs[3])))
    member.catching.shelves.shelves[Stream(".t", 8, life)].examined = 30
    ((_, answer),) = said(member.hear(2, Lacks(".t", 1, (runs[0], runs[2]), ("x > 5",))), Answered)
    assert answer.lacks == (() if speaks else (runs[0], runs[2]))  # type: ignore[attr-defined]
