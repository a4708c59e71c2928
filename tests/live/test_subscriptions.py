"""What the machine hears of a node's readers."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.machine import Given, Subscribe, Tune, Unsubscribe
from gossamer.core.topics import Topic
from gossamer.live.reading.subscriptions import Subscriptions
from gossamer.protocols.recovery.params import Params

LIVE = Params.live()
NONE = replace(LIVE, method="none")


def subscriptions(fed: list[Given], inside: bool = False) -> Subscriptions:
    return Subscriptions(Fed(fed), inside, lambda topic: LIVE)


class Fed:
    """A machine that notes what it is given, and takes so many topics."""

    def __init__(self, fed: list[Given], most: int = 1000) -> None:
        self.feed, self.most = fed.append, most

    def refusal(self, topics: Sequence[Topic], gone: Sequence[Topic] = ()) -> str | None:
        return f"{len(topics)} are too many" if len(topics) - len(gone) > self.most else None


def test_a_topic_that_the_machine_refuses_is_not_counted() -> None:
    fed: list[Given] = []
    readers = Subscriptions(Fed(fed, most=0), False, lambda topic: LIVE)
    with pytest.raises(Misuse, match="1 are too many"):
        readers.add(".a")
    with pytest.raises(Misuse, match="2 are too many"):
        readers.check([".a", ".b"])
    assert fed == []
    assert readers.readers == readers.topics == {}


def test_the_machine_hears_of_the_first_reader_and_of_the_last() -> None:
    fed: list[Given] = []
    readers = subscriptions(fed)
    for _ in range(2):
        readers.add(".a", "x > 1")
    for _ in range(2):
        readers.remove(".a", "x > 1")
    assert fed == [Subscribe(".a"), Unsubscribe(".a")]


def test_filters_inside_the_network_are_patterns_of_their_own() -> None:
    fed: list[Given] = []
    readers = subscriptions(fed, inside=True)
    readers.add(".a", "x > 1")
    readers.add(".a")
    assert fed == [Subscribe(".a", "x > 1"), Subscribe(".a")]


def test_recovery_is_on_as_long_as_one_reader_asks_for_it() -> None:
    fed: list[Given] = []
    readers = subscriptions(fed)
    readers.add(".a", recover=False)
    readers.add(".a")
    readers.remove(".a")
    assert fed == [Subscribe(".a"), Tune(".a", NONE), Tune(".a", LIVE), Tune(".a", NONE)]
    assert readers.recovery_of(".a") == NONE


def test_a_reader_that_did_without_leaves_recovery_on_for_the_next_one() -> None:
    fed: list[Given] = []
    readers = subscriptions(fed)
    readers.add(".a", recover=False)
    readers.remove(".a", recover=False)
    assert fed == [Subscribe(".a"), Tune(".a", NONE), Unsubscribe(".a"), Tune(".a", LIVE)]
    readers.add(".a")
    assert fed[4:] == [Subscribe(".a")]


def test_what_goes_makes_room_unless_others_read_it_too() -> None:
    readers = Subscriptions(Fed([], most=1), False, lambda topic: LIVE)
    readers.add(".a")
    readers.check([".b", ".c"], gone=[".a"])
    readers.add(".a", "x > 1")
    with pytest.raises(Misuse, match="2 are too many"):
        readers.check([".b", ".c"], gone=[".a"])
