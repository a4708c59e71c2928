"""What travels, byte for byte, as version 1 has it. A change here is a change of the format: raise VERSION instead,
add fields last and with a default, and keep what stands here readable."""

from msgspec import Struct

from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.machine import Run
from gossamer.core.patterns import Pattern, Tag
from gossamer.live.links.control import (
    Acked,
    Answer,
    Await,
    Bye,
    Copies,
    Delete,
    Enough,
    Handled,
    Item,
    Items,
    ListThem,
    Look,
    Looked,
    Mark,
    Offer,
    Ping,
    Pong,
    Read,
    Reply,
    Revoked,
    Taken,
    Through,
)
from gossamer.live.reading.bookmarks import Bookmark, StreamRead
from gossamer.live.reading.listing import SubscriptionInfo
from gossamer.protocols.camcast.messages import Alive, Away, ContactList, NewProcess, Probe
from gossamer.protocols.catchup.messages import Answered, Compare, Holds, Lacks, Stream, StreamHeld
from gossamer.protocols.recovery.messages import Ask, Asked, Digest, Latest, Listed, Lost, Place, Want
from gossamer.protocols.scamp.messages import Accept, Beat, Forward, Gone, Here, Join, Kept, Marks
from gossamer.protocols.search.messages import AnsContact, ReqContact
from gossamer.wire.frame import Copy, Hello, PackCopy
from gossamer.wire.proof import Proof, leaf
from wire import golden_pgrid

HELLO = Hello(1, 1, "default", "node", b"record", 7, "camcast")
HELLO_FRAME = (
    bytes.fromhex("00000023 01 0197 01 01") + b"\xa7default\xa4node" + b"\xc4\x06record" + b"\x07" + b"\xa7camcast"
)

EVENT = Event(EventId(1, 2, 3), ".a", b"payload", {"minute": 88}, None, 1_000_000, 4, (Tag(9, 5, 7),))
HEAD = (
    b"\x97" + b"\x93\x01\x02\x03" + b"\xa2.a" + b"\x81\xa6minute\x58" + b"\xc0" + b"\xce\x00\x0f\x42\x40" + b"\x04"
    + b"\x91\x93\x09\x05\x07"
)  # fmt: skip
UNSIGNED = b"\x93" + b"\xc4\x1d" + HEAD + b"\xc4\x07payload" + b"\xc0"
PROOF = Proof(b"k" * 8, b"s" * 64, 2, 1, b"h" * 16)
SIGNED = (
    UNSIGNED[:-1]
    + b"\x95"
    + b"\xc4\x08" + b"k" * 8
    + b"\xc4\x40" + b"s" * 64
    + b"\x02\x01"
    + b"\xc4\x10" + b"h" * 16
)  # fmt: skip

MARK = Bookmark(".a", "p > 1", 9, (StreamRead(1, 2, ".a", ((3, 4),)),))
PACKED_MARK = b"\x94\xa2.a\xa5p > 1\x09\x91\x94\x01\x02\xa2.a\x91\x92\x03\x04"

COPY = Copy(EventId(1, 2, 3), b"l" * 16, 6, "camcast.carry", (7,))
PACKED_COPY = b"\x95" + b"\x93\x01\x02\x03" + b"\xc4\x10" + b"l" * 16 + b"\x06" + b"\xadcamcast.carry" + b"\x91\x07"
IN_PACK = b"\x92" + b"\x91" + HEAD + b"\x91" + b"\xc4\x07payload"
"One event: the heads as they were signed, the payloads."
PACK_PROOF = Proof(b"k" * 8, b"s" * 64, 1, 1, leaf(HEAD, b"payload"))
CONTENT = (
    b"\x92"
    + b"\x95"
    + b"\xc4\x08" + b"k" * 8
    + b"\xc4\x40" + b"s" * 64
    + b"\x01\x01"
    + b"\xc4\x10" + PACK_PROOF.path
    + b"\xc4\x29" + IN_PACK
)  # fmt: skip
"""A pack of one event: the proof, whose path is the top of the tree over the events, then all of them."""
PACK_COPY = PackCopy(b"m" * 16, 6, "camcast.carry", memoryview(CONTENT), (7,))
PACKED_PACK_COPY = (
    b"\x95" + b"\xc4\x10" + b"m" * 16 + b"\x06" + b"\xadcamcast.carry" + b"\xc4\x8d" + CONTENT + b"\x91\x07"
)
BYE = b"\x82\xa4type\xa8live.bye\xa3why\xa3why"
BATCH_FRAME = (
    bytes.fromhex("00000142 01 02" "95")
    + b"\xdd\x00\x00\x00\x01" + b"\xc4\x06record"
    + b"\xdd\x00\x00\x00\x01" + PACKED_COPY
    + b"\xdd\x00\x00\x00\x01" + b"\xc4\x2a" + UNSIGNED
    + b"\xdd\x00\x00\x00\x01" + BYE
    + b"\xdd\x00\x00\x00\x01" + PACKED_PACK_COPY
)  # fmt: skip
PART_FRAMES = (
    bytes.fromhex("00000035 01 0395 09 00 05") + b"\xc4\x05large" + PACKED_COPY,
    bytes.fromhex("0000000c 01 0395 09 00 03") + b"\xc4\x03all" + b"\xc0",
)

MESSAGES: tuple[tuple[Struct, bytes], ...] = (
    *golden_pgrid.MESSAGES,
    (
        ReqContact(1, 2, ("#x",), 4),
        b"\x86\xa4type\xb2search.req_contact\xa6origin\x01\xa5nonce\x02\xa6wanted\x91\xa2#x\xa3ttl\x04\xa7joining\xc2",
    ),
    (AnsContact("#x", (1,)), b"\x83\xa4type\xb2search.ans_contact\xa5topic\xa2#x\xa5peers\x91\x01"),
    (
        Join(".a", 1, 2, 3, 4, 5, 6),
        b"\x88\xa4type\xaascamp.join\xa5topic\xa2.a\xa3who\x01\xa6number\x02\xa4walk\x03\xa8lease_us\x04"
        b"\xa6copies\x05\xa6degree\x06",
    ),
    (Accept(".a", 1), b"\x83\xa4type\xacscamp.accept\xa5topic\xa2.a\xa6number\x01"),
    (
        Forward(".a", 1, 2, 3, 4),
        b"\x86\xa4type\xadscamp.forward\xa5topic\xa2.a\xa3who\x01\xa6number\x02\xa4hops\x03\xa8lease_us\x04",
    ),
    (Kept(".a"), b"\x82\xa4type\xaascamp.kept\xa5topic\xa2.a"),
    (Gone(".a", 1), b"\x83\xa4type\xaascamp.gone\xa5topic\xa2.a\xa7instead\x01"),
    (Beat(".a"), b"\x82\xa4type\xaascamp.beat\xa5topic\xa2.a"),
    (Here(".a"), b"\x82\xa4type\xaascamp.here\xa5topic\xa2.a"),
    (
        Marks(".a", 1, b"\0\0\0\1", None, True),
        b"\x86\xa4type\xabscamp.marks\xa5topic\xa2.a\xa5epoch\x01\xa6packed\xc4\x04\0\0\0\1\xa4last\xc0\xa6answer\xc3",
    ),
    (Probe(1, ".a"), b"\x83\xa4type\xadcamcast.probe\xa5nonce\x01\xa5topic\xa2.a"),
    (Alive(1, ".a", False), b"\x84\xa4type\xadcamcast.alive\xa5nonce\x01\xa5topic\xa2.a\xa4here\xc2"),
    (Away(".a"), b"\x82\xa4type\xaccamcast.away\xa5topic\xa2.a"),
    (
        NewProcess(".a", ".b", 4),
        b"\x84\xa4type\xb3camcast.new_process\xa5topic\xa2.a\xa5below\xa2.b\xa5count\x04",
    ),
    (
        ContactList(".b", ".a", (1,), (2,)),
        b"\x85\xa4type\xb0camcast.contacts\xa5below\xa2.b\xa5topic\xa2.a\xa5peers\x91\x01\xa6failed\x91\x02",
    ),
    (
        Digest(Pattern(".a", "p"), (EventId(1, 2, 3),), 4, 5, (6,)),
        b"\x86\xa4type\xafrecovery.digest\xa7pattern\x92\xa2.a\xa1p\xa3ids\x91\x93\x01\x02\x03\xa9initiator\x04\xa5round\x05\xa7ages_us\x91\x06",
    ),
    (
        Listed(".a", (EventId(1, 2, 3),), (6,)),
        b"\x84\xa4type\xafrecovery.listed\xa5topic\xa2.a\xa3ids\x91\x93\x01\x02\x03\xa7ages_us\x91\x06",
    ),
    (
        Want(Pattern(".a"), (EventId(1, 2, 3),)),
        b"\x83\xa4type\xadrecovery.want\xa7pattern\x92\xa2.a\xa0\xa3ids\x91\x93\x01\x02\x03",
    ),
    (
        Lost(Pattern(".a"), (Place(1, 2, 3),), 4, 5),
        b"\x85\xa4type\xadrecovery.lost\xa7pattern\x92\xa2.a\xa0\xa6wanted\x91\x93\x01\x02\x03\xa9initiator\x04\xa5round\x05",
    ),
    (
        Ask(1, 2, (Asked(Pattern(".a"), 3),), (6, 7), 4, 5),
        b"\x87\xa4type\xacrecovery.ask\xa6source\x01\xabincarnation\x02\xa6wanted\x91\x92\x92\xa2.a\xa0\x03"
        b"\xa5route\x92\x06\x07\xa9initiator\x04\xa5round\x05",
    ),
    (
        Latest(1, 2, Pattern(".a"), 3, 4),
        b"\x86\xa4type\xafrecovery.latest\xa6source\x01\xabincarnation\x02\xa7pattern\x92\xa2.a\xa0\xa8sequence\x03\xa6age_us\x04",
    ),
    (Acked(((1, 2, 3),), "not"), b"\x83\xa4type\xaalive.acked\xa6ranges\x91\x93\x01\x02\x03\xa4kept\xa3not"),
    (
        Compare(".a", 1, 2, Stream(".a", 3, 4)),
        b"\x85\xa4type\xafcatchup.compare\xa5topic\xa2.a\xa6digest\x01\xa4seen\x02\xa5after\x93\xa2.a\x03\x04",
    ),
    (
        Holds(".a", 1, (StreamHeld(Stream(".a", 3, 4), (5, 6)),), None, True, False),
        b"\x87\xa4type\xadcatchup.holds\xa5topic\xa2.a\xa6digest\x01\xa7streams\x91\x92\x93\xa2.a\x03\x04\x92\x05\x06"
        b"\xa5after\xc0\xa4more\xc3\xa6answer\xc2",
    ),
    (
        Lacks(".a", 1, (Run(".a", 3, 4, 5, 6),), ("p",), True),
        b"\x86\xa4type\xadcatchup.lacks\xa5topic\xa2.a\xa6number\x01\xa4runs\x91\x95\xa2.a\x03\x04\x05\x06"
        b"\xa6wheres\x91\xa1p\xa3one\xc3",
    ),
    (
        Answered(1, (Run(".a", 3, 4, 5, 6),), (), 2),
        b"\x85\xa4type\xb0catchup.answered\xa6number\x01\xa4left\x91\x95\xa2.a\x03\x04\x05\x06\xa5lacks\x90"
        b"\xa7brought\x02",
    ),
    (Revoked(b"list"), b"\x82\xa4type\xaclive.revoked\xa4data\xc4\x04list"),
    (Bye("why"), BYE),
    (
        Offer(1, ".a", b"p", {"k": 1}, "key", 0.5, {".a": (".b",)}),
        b"\x88\xa4type\xacclient.offer\xa6number\x01\xa5topic\xa2.a\xa7payload\xc4\x01p\xaaattributes\x81\xa1k\x01"
        b"\xa3key\xa3key\xa5climb\xcb?\xe0\0\0\0\0\0\0\xa7parents\x81\xa2.a\x91\xa2.b",
    ),
    (
        Answer(1, EventId(1, 2, 3), "no", "down"),
        b"\x85\xa4type\xadclient.answer\xa6number\x01\xa2id\x93\x01\x02\x03\xa7problem\xa2no\xa4kind\xa4down",
    ),
    (
        Await(1, (EventId(1, 2, 3),), 0.5),
        b"\x84\xa4type\xacclient.await\xa6number\x01\xa6events\x91\x93\x01\x02\x03\xaapatience_s\xcb?\xe0\0\0\0\0\0\0",
    ),
    (
        Copies(1, 2, 3, 4, 5, "no", "down"),
        b"\x88\xa4type\xadclient.copies\xa6number\x01\xa7waiting\x02\xa4disk\x03\xa6memory\x04\xa8given_up\x05"
        b"\xa7problem\xa2no\xa4kind\xa4down",
    ),
    (
        Read(1, ".a", "n", True, True, "p > 1", False, MARK, {".a": (".b",)}),
        b"\x8a\xa4type\xabclient.read\xa6number\x01\xa5topic\xa2.a\xa4name\xa1n\xaafrom_start\xc3\xa7ordered\xc3"
        b"\xa5where\xa5p > 1\xa7recover\xc2\xa8bookmark" + PACKED_MARK + b"\xa7parents\x81\xa2.a\x91\xa2.b",
    ),
    (
        Items(1, (Item(1, b"s", 2, True, 3, ".a", 4),), "no", "down"),
        b"\x85\xa4type\xacclient.items\xa6number\x01\xa5items\x91\x97\x01\xc4\x01s\x02\xc3\x03\xa2.a\x04\xa7problem\xa2no"
        b"\xa4kind\xa4down",
    ),
    (Ping(), b"\x81\xa4type\xabclient.ping"),
    (Pong(), b"\x81\xa4type\xabclient.pong"),
    (Taken(1, 2), b"\x83\xa4type\xacclient.taken\xa6number\x01\xa5items\x02"),
    (Enough(1), b"\x82\xa4type\xadclient.enough\xa6number\x01"),
    (Handled(1, 2, (3,)), b"\x84\xa4type\xaeclient.handled\xa6number\x01\xa6reader\x02\xa6places\x91\x03"),
    (Mark(1, 2), b"\x83\xa4type\xabclient.mark\xa6number\x01\xa6reader\x02"),
    (
        Look(1, ".a", "p > 1", 2, 3, 4, True),
        b"\x88\xa4type\xabclient.look\xa6number\x01\xa5topic\xa2.a\xa5where\xa5p > 1\xa5after\x02\xa5until\x03"
        b"\xa5items\x04\xa7counted\xc3",
    ),
    (
        Looked(1, (Item(1, b"s"),), 2, 3, 4, 5, "no", "down"),
        b"\x89\xa4type\xadclient.looked\xa6number\x01\xa5items\x91\x97\x01\xc4\x01s\x00\xc2\x00\xa0\x00\xa5found\x02"
        b"\xa8examined\x03\xa4lost\x04\xa7settled\x05\xa7problem\xa2no\xa4kind\xa4down",
    ),
    (Through(1, "n", 2), b"\x84\xa4type\xaeclient.through\xa6number\x01\xa4name\xa1n\xa5place\x02"),
    (ListThem(1), b"\x82\xa4type\xabclient.list\xa6number\x01"),
    (Delete(1, "n", "o"), b"\x84\xa4type\xadclient.delete\xa6number\x01\xa4name\xa1n\xa5owner\xa1o"),
    (
        Reply(1, "no", "down", MARK, (SubscriptionInfo("n", "o", ".a", "p > 1", 1, 2, 3, 4, 5, True, 6),)),
        b"\x86\xa4type\xacclient.reply\xa6number\x01\xa7problem\xa2no\xa4kind\xa4down\xa8bookmark"
        + PACKED_MARK
        + b"\xadsubscriptions\x91\x8b\xa4name\xa1n\xa5owner\xa1o\xa5topic\xa2.a\xa6filter\xa5p > 1\xa8position\x01"
        + b"\xa6behind\x02\xa7readers\x03\xa8since_us\x04\xa7used_us\x05\xa7ordered\xc3\xa4lost\x06",
    ),
)
"A message of every kind but those that carry an event: of those, only the tag travels."
