"""Homes of rare topics: asking them, and being one."""

from itertools import pairwise

from gossamer.core.machine import Fired, Subscribe
from gossamer.parts.wants import Wants, word_of
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.homes import ANSWERED_BURST, BOARDS_MAX, FOUND_BYTES, SEEKS_BURST, ToSelf
from gossamer.protocols.spidercast.messages import (
    Connect,
    Found,
    Other,
    Seek,
)
from protocols.overlays import CODEC, One, only, wants

# -- homes ----------------------------------------------------------------------------------------------------------


def home(*topics: str, **homes: int) -> One:
    return One(*topics, rendezvous=True, greedy=1, homes={word_of("." + name): peer for name, peer in homes.items()})


def seek(topic: str, seeker: int, *wanted: str, task: int = 0) -> Seek:
    return Seek(task, word_of(topic), seeker, wants(*(wanted or (topic,))).packed)


def test_whoever_knows_nobody_for_a_topic_asks_its_home_less_and_less_often() -> None:
    one = home(".a", ".rare", a=3, rare=5)
    one.view.put(7, ".a")
    one.round()
    one.accept(7, ".a")
    asked = [one.node.now_us // one.params.round_us for _ in range(100) if one.round()]
    assert [later - earlier for earlier, later in pairwise(asked)] == [4, 8, 16]
    assert {peer for peer, _ in one.sent()} <= {5}


def test_a_patient_node_goes_on_asking_at_the_longest_interval() -> None:
    one = One(".rare", rendezvous=True, patient=True, homes={word_of(".rare"): 5})
    asked = [one.node.now_us // one.params.round_us for _ in range(200) if one.round()]
    assert [later - earlier for earlier, later in pairwise(asked)] == [4, 8, 16, 32, 32, 32, 32, 32]


def test_a_home_names_the_latest_seekers_and_itself_and_remembers_who_asks() -> None:
    one = home(".rare")
    for seeker in range(1, 12):
        answer = only(one.hear(50 + seeker, seek(".rare", seeker)))
        assert one.sent()[0][0] == seeker
    assert isinstance(answer, Found)
    assert [other.peer for other in answer.others] == [*range(10, 2, -1), 0]
    again = only(one.hear(8, seek(".rare", 8)))
    assert [other.peer for other in again.others] == [11, 10, 9, 7, 6, 5, 4, 0]  # type: ignore[attr-defined]
    assert len(one.overlay.homes.boards[0][word_of(".rare")]) == rules.BOARD_MAX


def test_a_home_that_does_not_want_the_topic_does_not_name_itself() -> None:
    assert only(home(".a").hear(7, seek(".rare", 7))) == Found(0, word_of(".rare"), ())


def test_a_request_is_passed_on_towards_its_home_and_not_in_circles() -> None:
    one = home(rare=5)
    assert only(one.hear(7, seek(".rare", 9))).hops == 1  # type: ignore[attr-defined]
    assert one.sent()[0][0] == 5
    assert type(only(one.hear(5, seek(".rare", 9)))) is Found


def test_who_was_found_is_asked_to_connect() -> None:
    one = home(".rare", rare=5)
    one.round()
    one.hear(5, Found(0, word_of(".rare"), (Other(9, wants(".rare").packed), Other(0, wants(".rare").packed))))
    one.round()
    assert one.sent() == [(9, Connect(0, 0, 1, wants(".rare").packed))]


def test_nobody_is_believed_who_was_not_asked() -> None:
    one = home(".rare", rare=5)
    one.hear(5, Found(0, word_of(".rare"), (Other(9, wants(".rare").packed),)))
    assert not one.greedy.introduced


def test_a_node_that_is_the_home_itself_looks_at_its_own_board() -> None:
    one = home(".rare")
    one.hear(9, seek(".rare", 9))
    one.round()
    (errand,) = [each.timer for each in one.timers if type(each.timer) is ToSelf]
    one.give(Fired(errand))
    (found,) = [each.timer for each in one.timers if type(each.timer) is ToSelf and each.timer is not errand]
    one.give(Fired(found))
    assert [*one.greedy.introduced] == [9]


def test_notices_are_left_at_the_homes_of_all_topics_above() -> None:
    one = One(".a.b", rendezvous=True, homes={word_of(".a"): 5, word_of(".a.b"): 6})
    one.round()
    assert [(peer, message.topic) for peer, message in one.sent()] == [(6, word_of(".a.b")), (5, word_of(".a"))]  # type: ignore[attr-defined]
    board = home()
    board.hear(7, seek(".a", 7, ".a.c"))
    board.hear(8, seek(".a", 8, ".a.b"))
    assert only(board.hear(9, seek(".a", 9, ".a"))).others == (  # type: ignore[attr-defined]
        Other(8, wants(".a.b").packed),
        Other(7, wants(".a.c").packed),
    )
    assert [other.peer for other in only(board.hear(8, seek(".a", 8, ".a.b"))).others] == [9]  # type: ignore[attr-defined]


def test_topics_below_ones_own_are_left_to_those_who_want_them() -> None:
    """Otherwise one peer that says it wants very many would make everybody ask as many homes."""
    one = One(".a", rendezvous=True, patient=True, homes={word_of(".a"): 5, word_of(".a.b"): 6})
    one.link(7, ".a.b", ".a.c")
    one.round()
    assert len(one.greedy.needs) == 3
    assert [(peer, type(message), message.topic) for peer, message in one.sent()] == [(5, Seek, word_of(".a"))]  # type: ignore[attr-defined]


def test_what_others_want_does_not_make_a_node_ask_sooner_and_what_it_wants_itself_does() -> None:
    one = One(".a", rendezvous=True, patient=True, homes={word_of(".a"): 5})
    assert len(one.round()) == 1
    asked = 0
    for number in range(rules.SEEK_AGAIN - 1):
        one.view.put(7, f".a.t{number}")
        one.hear(7, Connect(0, 1, 9, wants(f".a.t{number}").packed))
        asked += sum(type(each) is Seek for each in one.round())
    assert asked == 0
    one.give(Subscribe(".b"))
    assert [each.topic for each in one.round() if type(each) is Seek] == [word_of(".a")]


def test_a_home_is_no_gun_to_point_at_others() -> None:
    """Anybody may ask in the name of another, and the answer is longer than the question."""
    one = home()
    long = Wants([(word_of(".rare"),), *((number,) for number in range(1900))])
    for seeker in range(20, 28):
        one.hear(9, Seek(0, word_of(".rare"), seeker, long.packed))
    sent, question = 0, seek(".rare", 77)
    assert len(CODEC.encode(question)) < 100
    for _ in range(SEEKS_BURST - 8):
        answers = one.hear(9, question)
        assert all(len(CODEC.encode(each)) < FOUND_BYTES + len(long.packed) for each in answers)
        sent += sum(len(CODEC.encode(each)) for each in answers)
    assert 0 < sent <= ANSWERED_BURST
    assert one.hear(77, seek(".rare", 77)), "what it asks itself is not used up"


def test_one_peer_that_answers_without_end_is_not_read_without_end() -> None:
    one = home(".rare", rare=5)
    one.round()
    long = Other(9, Wants([(number,) for number in range(1900)]).packed)
    read = 0
    for _ in range(60):
        one.greedy.introduced.clear()
        one.hear(66, Found(0, word_of(".rare"), (long,) * 9))
        read += bool(one.greedy.introduced)
    assert 0 < read < 30


def test_boards_are_bounded() -> None:
    one = home()
    for number in range(3 * BOARDS_MAX):
        one.now_us += 100_000
        one.hear(7, Seek(0, number, number, wants(".a").packed))
    assert len(one.overlay.homes.boards[0]) == BOARDS_MAX
