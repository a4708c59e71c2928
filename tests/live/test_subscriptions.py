"""What the machine hears of a node's readers."""

from msgspec.structs import replace

from gossamer.core.machine import Given, Subscribe, Tune, Unsubscribe
from gossamer.live.subscriptions import Subscriptions
from gossamer.protocols.recovery.params import Params

LIVE = Params.live()
NONE = replace(LIVE, method="none")


def subscriptions(fed: list[Given], inside: bool = False) -> Subscriptions:
    return Subscriptions(fed.append, inside, lambda topic: LIVE)


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
