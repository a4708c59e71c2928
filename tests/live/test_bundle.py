"""Bundles: a pack goes whole if all of it goes the same way, and event by event otherwise."""

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.links.bundle import Bundle
from gossamer.wire.frame import HEADER, Batch, read_batch
from gossamer.wire.pack import Pack, pack, unpack
from gossamer.wire.proof import Proofs, Stamp, leaf, levels
from gossamer.wire.sealed import head_of, unseal
from wire.test_pack import packed
from wire.test_proof import verify


def pack_of(first: int, count: int) -> Pack:
    return packed([Event(EventId(7, 1, first + i), ".a", b"%d" % i) for i in range(count)])


def sent(bundle: Bundle) -> Batch:
    bundle.close()
    return read_batch(bundle.frame(1)[HEADER.size :])


def test_packs_of_which_everything_goes_the_same_way_go_as_they_are() -> None:
    one, other = pack_of(1, 5), pack_of(11, 3)
    bundle = Bundle((1, 2), 7)
    bundle.add_from(one, one.ids, 2, "camcast.carry", ())
    for event_id in other.ids:
        bundle.add_from(other, [event_id], 2, "camcast.carry", ())
    batch = sent(bundle)
    assert [bytes(each.content) for each in batch.packs] == [one.content, other.content]
    assert [(each.mark, each.hops) for each in batch.packs] == [(one.mark, 2), (other.mark, 2)]
    assert batch.copies == []
    assert bundle.count == 8
    assert bundle.size >= len(one) + len(other)


def test_events_of_a_pack_that_is_not_whole_go_alone_each_with_its_proof() -> None:
    pack = pack_of(1, 5)
    bundle = Bundle((1, 2), 7)
    for ids in (pack.ids[:3], pack.ids[2:4], pack.ids[:1]):  # some twice: it is still not whole
        bundle.add_from(pack, ids, 2, "camcast.carry", ())
    batch = sent(bundle)
    assert batch.packs == []
    assert [each.id for each in batch.copies] == [*pack.ids[:4]]
    for copy, body in zip(batch.copies, batch.bodies, strict=True):
        event, leaf, proof = unseal(body)
        assert (event.id, leaf) == (copy.id, copy.leaf)
        assert proof is not None
        assert Proofs().holds(leaf, proof, verify)


def test_events_that_came_by_different_ways_do_not_make_a_pack() -> None:
    pack = pack_of(1, 4)
    bundle = Bundle((1, 2), 7)
    for hops, event_id in enumerate(pack.ids):
        bundle.add_from(pack, [event_id], hops // 2, "camcast.carry", ())
    batch = sent(bundle)
    assert batch.packs == []
    assert [(each.id, each.hops) for each in batch.copies] == [(each, i // 2) for i, each in enumerate(pack.ids)]


def test_events_that_cannot_be_proved_alone_go_with_their_pack_or_not_at_all() -> None:
    events = [Event(EventId(7, 1, i), ".a", b"%d" % i) for i in range(3)]
    tree = levels([leaf(b"of other", b"events")] * 3)
    made = pack([*map(head_of, events)], events, tree, lambda *signs: Stamp(b"k" * 8, b"s" * 64))
    for ids in (made.ids[:2], made.ids):
        bundle = Bundle((1, 2), 7)
        bundle.add_from(made, ids, 1, "camcast.carry", ())
        bundle.close()
        assert (bundle.copies, len(bundle.packs)) == ([], len(ids) // 3)


def test_a_pack_takes_its_bytes_once_and_gives_them_back_whole() -> None:
    one, other = pack_of(1, 5), pack_of(11, 5)
    bodies = Bodies(bytes_max=len(one) + len(other) + 10)
    bodies.add_pack(one)
    bodies.add_pack(other)
    assert bodies.size == len(one) + len(other)
    assert bodies.get(one.ids[3]) is one
    bodies.add(EventId(7, 1, 99), b"l" * 16, bytes(11))
    assert [bodies.get(each) for each in one.ids] == [None] * 5
    assert bodies.get(other.ids[0]) is other
    assert bodies.size == len(other) + 11
    assert bodies.packs[one.mark] == one.ids  # known nevertheless
    assert unseal(bodies.sealed(other.ids[2]))[0] == unpack(other.content)[1][2]
    assert bodies.sealed(one.ids[0]) == b""
    bodies.add(other.ids[1], b"l" * 16, b"alone")
    assert bodies.sealed(other.ids[1]) == b"alone"
    assert bodies.size == 11 + 5
