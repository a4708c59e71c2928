"""Of a peer's records the newest counts, unless a clock was wrong."""

from gossamer.live.keys.trust import Record
from gossamer.live.links.address_book import AHEAD_US, AddressBook

NOW_US = 10**15
FUTURE_US = NOW_US + 2 * AHEAD_US


def test_a_record_made_in_a_wrong_future_gives_way_to_one_made_later_in_the_right_time() -> None:
    now_us = NOW_US
    book = AddressBook(10, lambda: now_us)

    def add(version: int) -> bool:
        return book.add(record := Record("a", (f"127.0.0.1:{version % 60_000 + 1}",), version), repr(record).encode())

    assert add(FUTURE_US)
    assert not add(FUTURE_US - 1), "of two such, the newer"
    assert add(NOW_US)
    assert not add(FUTURE_US), "not again"
    assert not add(NOW_US - 1)
    assert add(NOW_US + AHEAD_US), "clocks differ"
    now_us = FUTURE_US
    assert add(FUTURE_US), "when its time has come"
