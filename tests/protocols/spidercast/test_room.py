"""Links that others asked for, and a topic of one's own that none of them wants."""

from gossamer.protocols.spidercast.messages import Connect, ConnectOk, Disconnect, DisconnectOk, Redirect
from protocols.overlays import One, only


def crowded(insist: bool, neighbours: int) -> One:
    """A node of two topics, to which so many connected that want the common one."""
    one = One(".common", ".rare", greedy=2, margin=3, insist=insist)
    for peer in range(10, 10 + neighbours):
        one.link(peer, ".common", degree=1, target=9)
    one.view.put(7, ".rare")
    one.view.put(8, ".common")
    return one


def test_links_that_others_asked_for_leave_room_for_a_topic_that_no_neighbour_wants() -> None:
    assert crowded(insist=False, neighbours=4).round() == []
    for neighbours in range(4, 12):
        one = crowded(insist=True, neighbours=neighbours)
        one.round()
        assert [peer for peer, message in one.sent() if type(message) is Connect] == [7]
        one.accept(7, ".rare")
        assert one.overlay.about(".rare") == [7]
        assert one.greedy.degree <= one.greedy.limit + 3
        assert not any(type(message) is Connect for message in one.round()), "the rest can wait for room"


def test_the_last_place_is_kept_for_whoever_wants_a_topic_that_no_neighbour_wants() -> None:
    one = crowded(insist=True, neighbours=6)
    assert type(only(one.link(20, ".common"))) is Redirect
    assert type(only(one.link(21, ".rare"))) is ConnectOk
    one = crowded(insist=False, neighbours=6)
    assert type(only(one.link(20, ".common"))) is ConnectOk


def test_the_only_neighbour_that_wants_a_topic_is_kept_even_by_a_node_with_too_many() -> None:
    one = crowded(insist=True, neighbours=5)
    one.link(7, ".rare", degree=9, target=9)
    assert one.round() == []
    assert one.hear(7, Disconnect(0)) == []
    assert one.hear(10, Disconnect(0)) == [DisconnectOk(0)]
    assert 7 in one.greedy.neighbours
    paper = crowded(insist=False, neighbours=5)
    paper.link(7, ".rare", degree=9, target=9)
    assert paper.round() == [Disconnect(0)]
    assert paper.hear(7, Disconnect(0)) == [DisconnectOk(0)]
