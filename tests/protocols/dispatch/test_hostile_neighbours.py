"""Whatever a neighbour says, nothing breaks, nothing grows without end, and others are not told of nonsense."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from counting import lines_run
from gossamer.core.filters import parse
from gossamer.core.ids import Peer
from gossamer.core.interest import Interest
from gossamer.core.machine import SECOND_US, Effect, Note, Received, Send
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy
from gossamer.protocols.dispatch.messages import CHANGES_MAX, Tell, Told
from gossamer.protocols.dispatch.params import Params
from gossamer.protocols.dispatch.subscriptions import SPARE
from gossamer.protocols.dispatch.table import Table
from gossamer.protocols.dispatch.telling import STREAM_MAX
from protocols.dispatch.networks import CODEC, Dispatchers, linked
from protocols.saying import messages_of

HOSTILE, GOOD, ME = 0, 2, 1


def between() -> Dispatchers:
    """Node 1, between a hostile neighbour and a good one."""
    net = linked([(HOSTILE, ME), (ME, GOOD)], 3, params=Params(patterns_max=100))
    net.run(1)
    return net


def hear(net: Dispatchers, peer: Peer, message: Struct) -> list[Effect]:
    return net.world.give(ME, Received(peer, CODEC.decode(CODEC.encode(message))))


def rejects(effects: list[Effect]) -> list[str | None]:
    return [effect.detail for effect in effects if type(effect) is Note and effect.kind == "reject"]


def sent(effects: list[Effect], kind: type[Struct]) -> list[tuple[Peer, Struct]]:
    return [(p, e.message) for e in effects if type(e) is Send and type(e.message) is kind for p in e.peers]


def test_a_bad_filter_is_noted_told_to_nobody_and_the_good_ones_beside_it_are_kept() -> None:
    net = between()
    wheres = ["x >", "x > 1", "(" * 2000, "", "x > 1 and", "\x00"]
    effects = hear(net, HOSTILE, Tell(1, 1, tuple(Pattern(".a", where) for where in wheres)))
    assert len(rejects(effects)) == 4
    assert all(why is not None and "bad filter" in why and len(why) <= 200 for why in rejects(effects))
    assert [*net.table(ME)[HOSTILE]] == [Pattern(".a", "x > 1"), Pattern(".a")]
    ((told, tell),) = sent(effects, Tell)
    assert told == GOOD
    assert isinstance(tell, Tell)
    assert tell.add == (Pattern(".a", "x > 1"), Pattern(".a"))
    assert sent(effects, Told) == [(HOSTILE, Told(1, 1))]


def test_no_neighbour_fills_more_of_the_table_than_it_may() -> None:
    net = between()
    noted = []
    for part in range(10):
        patterns = tuple(Pattern(f".a.n{part}x{number}") for number in range(CHANGES_MAX))
        noted += rejects(hear(net, HOSTILE, Tell(1, part + 1, patterns)))
    held = 100 + SPARE
    assert len(net.table(ME)[HOSTILE]) == held
    assert noted == ["too many patterns"] * (10 * CHANGES_MAX - held)
    assert len(net.dispatch(ME).table.filters) == held


def test_only_so_much_text_of_a_neighbour_is_read_in_a_second() -> None:
    net = between()
    wheres = [f'a{part} == "{"x" * 3000}"' for part in range(200)]
    taken = 0
    for part in range(50):
        tell = Tell(1, taken + 1, tuple(Pattern(".a", where) for where in wheres[part * 4 : part * 4 + 4]))
        effects = hear(net, HOSTILE, tell)
        taken += not rejects(effects)
        assert sent(effects, Told) or rejects(effects) == ["too many filters at once"]
    assert 0 < taken < 25
    net.world.now_us += 5 * SECOND_US
    assert sent(hear(net, HOSTILE, Tell(1, taken + 1, (Pattern(".b", "x"),))), Told) == [(HOSTILE, Told(1, taken + 1))]


def test_a_stranger_tells_nothing() -> None:
    net = between()
    assert hear(net, 77, Tell(1, 1, (Pattern(".a"),))) == []
    assert hear(net, 77, Told(1, 1)) == []
    assert 77 not in net.table(ME)


def test_taking_back_what_was_never_told_changes_nothing() -> None:
    net = between()
    net.subscribe(GOOD, ".a")
    net.run(1)
    hear(net, HOSTILE, Tell(1, 1, remove=(Pattern(".a"), Pattern(".b"))))
    assert [*net.table(ME)[GOOD]] == [Pattern(".a")]


def test_answers_nobody_could_give_start_a_table_anew_at_most() -> None:
    net = between()
    net.subscribe(GOOD, ".a")
    net.subscribe(GOOD, ".b")
    net.run(1)
    telling = net.dispatch(ME).subscriptions.tellings[HOSTILE]
    assert hear(net, HOSTILE, Told(STREAM_MAX, 3)) == []
    assert hear(net, HOSTILE, Told(2**63 - 1, 3)) == []
    before = telling.stream
    ((_, tell),) = sent(hear(net, HOSTILE, Told(before + 10**9, 3)), Tell)
    assert isinstance(tell, Tell)
    assert (tell.stream, tell.number) == (before + 10**9 + 1, 1)
    assert sorted(tell.add) == [Pattern(".a"), Pattern(".b")]


def test_stale_changes_of_a_former_life_of_the_link_are_not_taken() -> None:
    net = between()
    hear(net, HOSTILE, Tell(5, 1, (Pattern(".a"),)))
    hear(net, HOSTILE, Tell(4, 1, (Pattern(".b"),)))
    hear(net, HOSTILE, Tell(5, 3, (Pattern(".c"),)))
    hear(net, HOSTILE, Tell(5, 1, (Pattern(".d"),)))
    assert [*net.table(ME)[HOSTILE]] == [Pattern(".a")]
    assert sent(hear(net, HOSTILE, Tell(9, 4, (Pattern(".e"),))), Told) == [(HOSTILE, Told(9, 0))]
    hear(net, HOSTILE, Tell(9, 1, (Pattern(".e"),)))
    assert [*net.table(ME)[HOSTILE]] == [Pattern(".e")]


@settings(max_examples=100)
@given(st.lists(messages_of(Tell) | messages_of(Told), max_size=12))
def test_others_hear_only_of_what_is_in_the_table_whatever_one_says(heard: list[Struct]) -> None:
    net = between()
    net.subscribe(ME, ".mine")
    for message in heard:
        hear(net, HOSTILE, message)
    net.run(5)
    wanted = {Pattern(".mine"), *net.table(ME)[HOSTILE]}
    assert {*net.table(GOOD)[ME]} == wanted
    for pattern in net.table(ME)[HOSTILE]:
        net.interests[HOSTILE].subscribe(pattern)
    net.near = {GOOD: [ME], ME: [HOSTILE, GOOD], HOSTILE: [ME]}
    assert net.table(GOOD) == net.expected(GOOD)


def test_a_neighbour_with_nested_filters_is_gone_as_cheaply_as_it_came() -> None:
    def steps(filters: int) -> tuple[int, int]:
        table = Table(Interest(Hierarchy()))
        table.open(5)
        wanted = [(Pattern(".a", f"x > {number}"), parse(f"x > {number}")) for number in range(filters)]
        came = lines_run(lambda: [table.add(5, *each) for each in wanted])
        return came, lines_run(lambda: table.haunt(5))

    came, gone = steps(600)
    assert gone <= came
    assert gone <= 3.3 * steps(200)[1]
