"""What messages say of peers, for a driver that judges peers before the machine hears of them."""

from typing import Any, get_args

import pytest
from msgspec import Struct

from gossamer.core.events import Carried, Event
from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Received, Run, Started, Subscribe
from gossamer.core.messages import Said
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Topic
from gossamer.protocols import CATALOGUE
from gossamer.protocols.camcast.messages import Alive, Away, Carry, ContactList, NewProcess, Probe
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.catchup import messages as catchup
from gossamer.protocols.dispatch.messages import Offer, Part, Route, Tell, Told
from gossamer.protocols.flood import messages as flood
from gossamer.protocols.hpmcast import messages as hpmcast
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.interests import messages as interests
from gossamer.protocols.pgrid import messages as pgrid
from gossamer.protocols.recovery.messages import Again, Ask, Asked, Digest, Latest, Listed, Lost, Place, Want
from gossamer.protocols.scamp.layer import Scamp
from gossamer.protocols.scamp.messages import Accept, Beat, Forward, Gone, Here, Join, Kept, Marks
from gossamer.protocols.search.messages import AnsContact, ReqContact
from gossamer.protocols.spidercast import messages as spidercast
from protocols.member import LEASE, One
from protocols.towns import layer

SENDER: Peer = 7
EVENT = Event(EventId(9, 0, 1), ".d")
ROW = hpmcast.SubsystemRow((0,), 5, 1, (hpmcast.Seat((0, 1), 4), hpmcast.Seat((0, 2), 5)), (Pattern(".d"),), 2)

NODE = camcast_node(1, 1)

# a message · what it claims when SENDER says it · whom it names
REGISTRATION = pgrid.Registration("#x", "01", 6, 1)
BRANCH = pgrid.Branch("01", 1, (pgrid.LeafSeat(7, "01"),))
SAID: list[tuple[Said, tuple[tuple[Topic, Peer], ...], tuple[Peer, ...]]] = [
    (Join(".d", SENDER, 1, 3, LEASE), ((".d", SENDER),), (SENDER,)),
    (Join(".d", 5, 1, 3, LEASE), ((".d", 5), (".d", SENDER)), (5,)),
    (Accept(".d", 1), ((".d", SENDER),), ()),
    (Forward(".d", 5, 1, 3, LEASE), ((".d", 5), (".d", SENDER)), (5,)),
    (Kept(".d"), ((".d", SENDER),), ()),
    (Gone(".d"), (), ()),
    (Gone(".d", 5), ((".d", 5),), (5,)),
    (Beat(".d"), ((".d", SENDER),), ()),
    (Here(".d"), ((".d", SENDER),), ()),
    (Marks(".d", 1, b"abcd", None, True), ((".d", SENDER),), ()),
    (Carry(Carried(EVENT)), (), (9,)),
    (Probe(1, ".d"), (), ()),
    (Alive(1, "."), ((".", SENDER),), ()),
    (Alive(1, ".", here=False), (), ()),
    (Away(".d"), (), ()),
    (NewProcess(".", ".d", 2), (), ()),
    (ContactList(".d", ".", (4, 5), failed=(6,)), ((".", 4), (".", 5)), (4, 5)),
    (ReqContact(5, 1, (".d",), 3), (), (5,)),
    (AnsContact(".d", (4, 5)), (), (4, 5)),
    (Digest(Pattern(".d"), (EVENT.id,), 5, 1), (), (5,)),
    (Listed(".d", (EVENT.id,)), (), ()),
    (Want(Pattern(".d"), (EVENT.id,)), ((".d", SENDER),), ()),
    (Lost(Pattern(".d"), (Place(9, 0, 1),), 5, 1), ((".d", 5),), (5,)),
    (
        Ask(9, 0, (Asked(Pattern(".d"), 1), Asked(Pattern(".x"), 1), Asked(Pattern(".d"), 2)), (9, 4), 5, 1),
        ((".d", 5), (".x", 5)),
        (5, 4),
    ),
    (Ask(9, 0, (Asked(Pattern(".d"), 1),), (), 5, 1), ((".d", 5),), (5, 9)),
    (Again(Carried(EVENT)), (), (9,)),
    (Latest(9, 0, Pattern(".d"), 3, 0), (), (9,)),
    (Offer(".d", 1, 5, 1, 1, parent=6), ((".d", SENDER),), ()),
    (Part(".d"), (), ()),
    (
        Tell(1, 1, (Pattern(".d", "a"), Pattern(".x"), Pattern(".d")), remove=(Pattern(".y"),)),
        ((".d", SENDER), (".x", SENDER)),
        (),
    ),
    (Told(1, 1), (), ()),
    (Route(Carried(EVENT, 1, (9, 4))), (), (9,)),
    (interests.NodesDigest((interests.Mark(SENDER, 1, 0), interests.Mark(5, 1, 0)), True), (), (SENDER, 5)),
    (interests.AskWants((5,)), (), ()),
    (interests.TellWants((interests.Entry(interests.Mark(5, 1, 0), b""),)), (), (5,)),
    (interests.Gone(), (), ()),
    (spidercast.Connect(0, 1, 1, b""), (), ()),
    (spidercast.ConnectOk(0, 1, 1, b""), (), ()),
    (spidercast.Redirect(0, 5), (), (5,)),
    (spidercast.Redirect(0), (), ()),
    (spidercast.Disconnect(0), (), ()),
    (spidercast.DisconnectOk(0), (), ()),
    (spidercast.LeaveLink(0), (), ()),
    (spidercast.Beat(spidercast.Standing(1, 1, True), spidercast.Standing(1, 1, True), 1), (), ()),
    (spidercast.Seek(0, 1, 5, b""), (), (5,)),
    (spidercast.Found(0, 1, (spidercast.Other(4, b""), spidercast.Other(5, b""))), (), (4, 5)),
    (flood.Pass(Carried(EVENT)), (), (9,)),
    (flood.Have(".d", ()), ((".d", SENDER),), ()),
    (flood.Graft(".d"), ((".d", SENDER),), ()),
    (flood.Prune(".d"), ((".d", SENDER),), ()),
    (flood.Near(".d"), ((".d", SENDER),), ()),
    (flood.Part(".d"), (), ()),
    (hpmcast.LevelGossip(Carried(EVENT), 1, 1.0, 0), (), (9,)),
    (hpmcast.RowDigest((0, 1), (hpmcast.RowMark((0,), 5, 1),), True, True), ((".", SENDER),), ()),
    (hpmcast.LaterRows((ROW,)), ((".", SENDER),), (5, 4)),
    (hpmcast.PlaceRequest(ROW, 0), ((".", SENDER),), (5, 4)),
    (catchup.Compare(".d", 1, 2, catchup.Stream(".d", 5, 1)), ((".d", SENDER),), ()),
    (catchup.Holds(".d", 1, (catchup.StreamHeld(catchup.Stream(".d", 5, 1), (1, 2)),)), ((".d", SENDER),), ()),
    (catchup.Lacks(".d", 1, (Run(".d", 5, 1, 1, 2),)), ((".d", SENDER),), ()),
    (catchup.Brings(Carried(EVENT)), (), (9,)),
    (catchup.Answered(1, (Run(".d", 5, 1, 1, 2),)), (), ()),
    (pgrid.Meet("0", 1, 1, 1, 0, 1, (pgrid.LeafSeat(5, "1"),), True), (), (5,)),
    (pgrid.AskPlaces((pgrid.PlaceQuestion(1, "0", "", 1),)), (), ()),
    (
        pgrid.Answer(
            (pgrid.Reply(1, "0", (pgrid.LeafSeat(5, "0"),), True, 1, 1, 1, (REGISTRATION,), (BRANCH,)),),
        ),
        (),
        (5, 6, 7),
    ),
    (pgrid.Give((REGISTRATION,), (0,)), (), (6,)),
    (pgrid.Took((1,)), (), ()),
    (pgrid.CompareLeaf("0", (1,)), (), ()),
    (pgrid.ListHeld(((1, 1),)), (), ()),
    (pgrid.WantListed((1,)), (), ()),
    (pgrid.Hello(".d"), ((".d", SENDER),), ()),
    (pgrid.Gone(".d"), (), ()),
    (hpmcast.Ping(), ((".", SENDER),), ()),
    (hpmcast.Pong(), ((".", SENDER),), ()),
]


def test_every_message_is_judged_here() -> None:
    spoken = {kind for name in ("camcast", "dispatch", "spidercast", "hpmcast") for kind in CATALOGUE[name].spoken}
    assert {type(message) for message, _, _ in SAID} == spoken


@pytest.mark.parametrize(("message", "claimed", "named"), SAID, ids=lambda each: type(each).__name__)
def test_what_a_message_claims_and_whom_it_names(message: Said, claimed: Any, named: Any) -> None:
    assert message.claims(SENDER, NODE) == claimed
    assert message.names() == named


def test_what_only_members_say_claims_that_its_sender_is_one() -> None:
    for message, _, _ in SAID:
        if message.members_only:
            assert SENDER in [peer for _, peer in message.claims(SENDER, NODE)], message


def test_who_takes_part_in_a_hierarchy_claims_to_read_all_of_the_community() -> None:
    node = hpmcast_node(1, 1, (0, 1), (2, 2), community=".all")
    about = {type(message) for message, _, _ in SAID if node.claims(message, SENDER) == ((".all", SENDER),)}
    assert about == {*get_args(hpmcast.Message)} - {hpmcast.LevelGossip}


def test_an_answer_claims_members_of_the_topic_this_node_asked_for_and_of_no_other() -> None:
    node = camcast_node(1, 1, spell=lambda topic: f"hash of {topic}")
    node.step(Started((2,)), 0)
    node.step(Subscribe(".d"), 0)
    assert node.claims(AnsContact("hash of .d", (4, 5)), SENDER) == ((".d", 4), (".d", 5))
    assert node.claims(AnsContact("hash of .x", (4, 5)), SENDER) == ()


@pytest.mark.parametrize("message", [message for message, claimed, _ in SAID if not claimed], ids=str)
def test_a_message_that_claims_nothing_makes_nobody_known(message: Struct) -> None:
    """Or the driver would let peers in unjudged. An answer to a search claims what its asker reads in it."""
    one = One()
    one.take(Subscribe(".d"))
    scamp = layer(one.node, Scamp)
    if type(message) is not AnsContact:
        one.take(Received(SENDER, message))
    assert [*scamp.about("."), *scamp.about(".d")] == []
    assert not any(peers for tables in one.node.spread.links.tables(".d") for peers in tables)  # type: ignore[attr-defined]
