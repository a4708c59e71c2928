"""Whatever peers say, in whatever order: a node never raises, and nothing it keeps grows beyond its bound."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from gossamer.core.machine import Given, PeerDown, Received, Subscribe, Unsubscribe
from gossamer.parts.wants import Wants
from gossamer.protocols import CATALOGUE
from gossamer.protocols.spidercast import rules
from gossamer.protocols.spidercast.homes import BOARDS_MAX
from gossamer.protocols.spidercast.links import ASKED_BURST
from gossamer.protocols.spidercast.messages import Redirect
from protocols.overlays import CODEC, One, wants
from protocols.saying import TOPICS, any_of

PEERS = st.integers(1, 12)
PACKED = st.lists(st.sampled_from(TOPICS), max_size=4).map(lambda topics: wants(*topics).packed)


@st.composite
def messages(draw: st.DrawFn) -> Struct:
    """Any message; what it wants is often something a node could want."""
    message: Struct = draw(any_of(CATALOGUE["spidercast"].messages))
    if hasattr(message, "wants") and draw(st.booleans()):
        message = replace(message, wants=draw(PACKED))
    return message


GIVENS: st.SearchStrategy[Given] = st.one_of(
    *[st.builds(Received, PEERS, messages())] * 5,
    st.builds(Subscribe, st.sampled_from(TOPICS)),
    st.builds(Unsubscribe, st.sampled_from(TOPICS)),
    st.builds(PeerDown, PEERS),
)


def check(one: One) -> None:
    for task in one.tasks:
        assert 0 not in task.neighbours
        assert len(task.introduced) <= rules.INTRODUCED_MAX
        assert all(count >= 0 for count in task.cover)
        counted = [sum(link.wants.covers(need) for link in task.neighbours.values()) for need in task.needs]
        assert task.cover == counted
    for boards in one.overlay.homes.boards:
        assert len(boards) <= BOARDS_MAX
        assert all(len(board) <= rules.BOARD_MAX for board in boards.values())
    assert one.overlay.beats.unanswered.asks.keys() <= one.overlay.links.neighbours().keys()
    assert one.overlay.beats.ignorant.keys() <= one.overlay.links.neighbours().keys()
    up = [peer for what, peer in one.link_notes.told if what == "up"]
    down = [peer for what, peer in one.link_notes.told if what == "down"]
    assert all(up.count(peer) - down.count(peer) == one.overlay.links.linked(peer) for peer in {*up, *down})


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(GIVENS, min_size=10, max_size=40), st.sampled_from(TOPICS), st.booleans())
def test_anything_said_at_any_time_is_taken_within_bounds(history: list[Given], first: str, adaptive: bool) -> None:
    one = One(first, random=0 if adaptive else 1, adaptive=adaptive, rendezvous=True, patient=True, margin=2)
    one.view.put(3, ".d", ".x")
    for given_now in history:
        if type(given_now) is Received:
            one.give(Received(given_now.peer, CODEC.decode(CODEC.encode(given_now.message))))
        else:
            one.give(given_now)
        one.round()
        check(one)


def test_a_peer_that_names_very_many_topics_below_ours_leaves_room_for_those_of_others() -> None:
    one = One(".a", below_max=16)
    one.view.put(10, ".a.b", ".a.c")
    honest = wants(".a.b", ".a.c").chains
    one.view.known[9] = Wants([(honest[0][0], number) for number in range(1, 900)])
    one.round()
    assert len(one.greedy.needs) == 1 + 16
    assert all(chain in one.greedy.needs for chain in honest)


def test_nobody_is_introduced_without_end() -> None:
    one = One(".a")
    one.view.put(7, ".a")
    one.round()
    for number in range(3 * ASKED_BURST):
        one.hear(7, Redirect(0, 1000 + number, wants(".a").packed))
    assert max(one.greedy.introduced) < 1000 + ASKED_BURST


def test_nobody_gets_more_than_limit_and_margin_links_however_many_ask() -> None:
    one = One(".d", greedy=3, margin=5)
    for peer in range(1, 1000):
        one.link(peer, ".d")
    assert one.greedy.degree == 3 + 5
