"""What peers of the overlay say, byte for byte."""

from msgspec import Struct

from gossamer.protocols.pgrid.messages import (
    Answer,
    AskPlaces,
    Branch,
    CompareLeaf,
    Give,
    Gone,
    Hello,
    LeafSeat,
    ListHeld,
    Meet,
    PlaceQuestion,
    Registration,
    Reply,
    Took,
    WantListed,
)

REGISTRATION = Registration("#x", "0101", 3, 4, False, b"s")

MESSAGES: tuple[tuple[Struct, bytes], ...] = (
    (
        Meet("01", 2, 3, 4, 1, 5, (LeafSeat(6, "00"),), True),
        b"\x89\xa4type\xaapgrid.meet\xa4path\xa201\xa4load\x02\xa8replicas\x03\xa5total\x04\xa5level\x01\xa5below\x05\xa5seats\x91\x92\x06\xa200\xa6answer\xc3",
    ),
    (
        AskPlaces((PlaceQuestion(1, "01", "#x", 2, (3,)),)),
        b"\x82\xa4type\xa9pgrid.ask\xa9questions\x91\x95\x01\xa201\xa2#x\x02\x91\x03",
    ),
    (
        Answer(
            (
                Reply(
                    1,
                    "01",
                    (LeafSeat(6, "00"),),
                    True,
                    2,
                    3,
                    4,
                    (REGISTRATION,),
                    (Branch("011", 5, (LeafSeat(7, "011"),)),),
                ),
            )
        ),
        b"\x82\xa4type\xacpgrid.answer\xa7replies\x91\x99\x01\xa201\x91\x92\x06\xa200\xc3\x02\x03\x04\x91\x96\xa2#x\xa40101\x03\x04\xc2\xc4\x01s\x91\x93\xa3011\x05\x91\x92\x07\xa3011",
    ),
    (
        Give((REGISTRATION,), (5,), True),
        b"\x84\xa4type\xaapgrid.give\xadregistrations\x91\x96\xa2#x\xa40101\x03\x04\xc2\xc4\x01s\xa7ages_ms\x91\x05\xa6spread\xc3",
    ),
    (Took((1, 2)), b"\x82\xa4type\xaapgrid.took\xa3ids\x92\x01\x02"),
    (CompareLeaf("01", (1, 2)), b"\x83\xa4type\xadpgrid.compare\xa4path\xa201\xa4sums\x92\x01\x02"),
    (
        ListHeld(((1, 2),), (3,), 4),
        b"\x84\xa4type\xadpgrid.listing\xa5marks\x91\x92\x01\x02\xa5parts\x91\x03\xa2of\x04",
    ),
    (WantListed((1,), (2,)), b"\x83\xa4type\xaapgrid.want\xa3ids\x91\x01\xa6listed\x91\x02"),
    (Hello(".a"), b"\x82\xa4type\xabpgrid.hello\xa5topic\xa2.a"),
    (Gone(".a"), b"\x82\xa4type\xaapgrid.gone\xa5topic\xa2.a"),
)
