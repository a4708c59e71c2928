"""A durable subscription against a model: whatever happens between a request and its commit, nothing is lost, nothing
comes twice without a mark, and order holds where it was asked for."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from gossamer.core.ids import EventId
from gossamer.live.reading.bookmarks import Coverage
from gossamer.live.reading.deliveries import Delivery
from gossamer.live.reading.durable import DurableSubscription, Read
from gossamer.live.reading.ordering import Order
from gossamer.live.spool.progress import Progress, Save, StreamRanges

PATIENCE_US = 30_000_000


def wanted(item: Delivery) -> bool:
    return bool(item.attributes["wanted"])


class Life(RuleBasedStateMachine):
    """Readers, a log and a disk around one subscription. What the readers were promised is written down outside."""

    ordered = False

    @initialize()
    def begin(self) -> None:
        self.now_us = 0
        self.log: dict[int, Delivery] = {}
        self.last = 0
        self.disk = Progress(0)
        self.streams: dict[tuple[int, int, str], StreamRanges] = {}
        self.given: dict[int, int] = {}
        "How often each place was handed out."
        self.promised: set[int] = set()
        "Places whose acknowledgement is on the disk: these never come again."
        self.ordinals: dict[int, int] = {}
        self.reader_count = 0
        self.start()

    def start(self) -> None:
        self.sub = DurableSubscription(
            self.disk,
            Coverage(self.streams.values()),
            wanted,
            Order() if self.ordered else None,
            patience_us=PATIENCE_US,
            items_max=6,
        )
        self.saving: Save | None = None
        self.reading: Read | None = None
        self.out: dict[int, list[Delivery]] = {}
        "What each reader has and did not acknowledge, as it sees it."
        self.asked: list[tuple[int, list[int]]] = []
        "Acknowledgements that wait: for which save, and of what."

    # -- the world ----------------------------------------------------------------------------------------------

    @rule(publisher=st.integers(1, 2), is_wanted=st.booleans(), jump=st.integers(1, 3))
    def event(self, publisher: int, is_wanted: bool, jump: int) -> None:
        before, self.last = self.last, self.last + jump
        ordinal = self.ordinals[publisher] = self.ordinals.get(publisher, 0) + 1
        item = Delivery(
            EventId(publisher, 1, ordinal), ".a", b"x", {"wanted": is_wanted}, ordinal=ordinal, place=self.last
        )
        self.log[self.last] = item
        self.sub.committed([item], before, self.last, self.now_us)

    @rule()
    def join(self) -> None:
        self.reader_count += 1
        self.out[self.reader_count] = []
        self.sub.join(self.reader_count)

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def leave(self, data: Any) -> None:
        reader = data.draw(st.sampled_from([*self.out]))
        self.sub.leave(reader)
        del self.out[reader]

    @precondition(lambda self: self.out)
    @rule(data=st.data())
    def take(self, data: Any) -> None:
        self.take_for(data.draw(st.sampled_from([*self.out])))

    def take_for(self, reader: int) -> bool:
        item = self.sub.take(reader, self.now_us)
        if item is None:
            return False
        assert isinstance(item, Delivery)
        assert wanted(item)
        assert item.place not in self.promised, "it was acknowledged, and that is on the disk"
        assert item.redelivered or item.place not in self.given, "it came twice, and is not marked"
        if self.ordered:
            self.check_order(reader, item)
        self.given[item.place] = self.given.get(item.place, 0) + 1
        self.out[reader].append(item)
        return True

    def check_order(self, reader: int, item: Delivery) -> None:
        publisher, ordinal = item.id.publisher, item.ordinal
        with_readers = self.sub.out.whose
        for place, holder in with_readers.items():
            other = self.log[place]
            if other.id.publisher == publisher and other.ordinal < ordinal:
                assert holder == reader, "an earlier one is with another reader"
        if item.place not in self.given:
            firsts = [self.log[place].ordinal for place in self.given if self.log[place].id.publisher == publisher]
            assert ordinal > max(firsts, default=0), "one that came later was handed out before it"

    @precondition(lambda self: any(self.out.values()))
    @rule(data=st.data())
    def give_back(self, data: Any) -> None:
        """A client was sent an item, and never looked at it."""
        reader = data.draw(st.sampled_from([reader for reader, items in self.out.items() if items]))
        item = data.draw(st.sampled_from(self.out[reader]))
        if self.sub.out.whose.get(item.place) == reader:
            self.sub.give_back(reader, [item.place])
            self.given[item.place] -= 1
            if not self.given[item.place]:
                del self.given[item.place]
            self.out[reader].remove(item)

    @precondition(lambda self: any(self.out.values()))
    @rule(data=st.data(), several=st.booleans())
    def ack(self, data: Any, several: bool) -> None:
        reader = data.draw(st.sampled_from([reader for reader, items in self.out.items() if items]))
        items = self.out[reader] if several else [data.draw(st.sampled_from(self.out[reader]))]
        self.ack_for(reader, [*items])

    def ack_for(self, reader: int, items: list[Delivery]) -> None:
        places = [item.place for item in items]
        number = self.sub.ack(places, self.now_us)
        if number:
            self.asked.append((number, places))
        else:
            self.promised.update(places)
        self.out[reader] = [item for item in self.out[reader] if item.place not in places]

    @rule(seconds=st.sampled_from([0.2, 2, 40]))
    def time_passes(self, seconds: float) -> None:
        self.now_us += int(seconds * 1e6)
        self.sub.overdue(self.now_us)

    # -- the disk -----------------------------------------------------------------------------------------------

    @rule()
    def ask_to_save(self) -> None:
        save = self.sub.save(exactly=not self.out)
        self.saving = save if save is not None else self.saving

    @precondition(lambda self: self.saving)
    @rule(fate=st.sampled_from(["told", "told", "told", "crash", "failure"]))
    def commit(self, fate: str) -> None:
        save, self.saving = self.saving, None
        assert save is not None
        if fate == "failure":
            number = self.sub.not_saved()
            self.asked = [(least, places) for least, places in self.asked if least > number]  # they may ask again
            return
        self.disk = save.progress
        for each in save.streams:
            self.streams[each[:3]] = each
        self.promised.update(place for least, places in self.asked if least <= save.number for place in places)
        self.asked = [(least, places) for least, places in self.asked if least > save.number]
        if fate == "crash":  # nobody was told, but what was acknowledged is on the disk
            self.start()
        else:
            assert self.sub.saved() == save.number

    @rule()
    def ask_to_read(self) -> None:
        self.reading = self.sub.wants(self.last) or self.reading

    @precondition(lambda self: self.reading)
    @rule(fails=st.booleans(), most=st.integers(1, 4))
    def read(self, fails: bool, most: int) -> None:
        wish, self.reading = self.reading, None
        assert wish is not None
        if fails:
            self.sub.unread(wish)
            return
        found = [item for place, item in self.log.items() if place > wish.after][:most]
        examined = found[-1].place if len(found) == most else self.last
        self.sub.page(wish, found, examined, [], 0, self.now_us)

    @rule()
    def crash(self) -> None:
        self.start()

    # -- in the end ---------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        """A reader that stays and acknowledges everything gets all that is left."""
        if not hasattr(self, "sub"):
            return
        for reader in tuple(self.out):
            self.sub.leave(reader)
            del self.out[reader]
        self.join()
        reader = self.reader_count
        for _ in range(200):
            self.now_us += 2_000_000
            self.sub.overdue(self.now_us)
            if self.saving is not None:
                self.commit("told")
            self.ask_to_save()
            if self.saving is not None:
                self.commit("told")
            self.ask_to_read()
            if self.reading is not None:
                self.read(False, 4)
            while self.take_for(reader):
                pass
            if self.out[reader]:
                self.ack_for(reader, self.out[reader])
        all_wanted = {place for place, item in self.log.items() if wanted(item)}
        assert {*self.given} == all_wanted == self.promised, "each came, and each acknowledgement is on the disk"
        assert self.sub.position.acked == self.last
        assert not self.sub.position.open
        assert self.sub.position.size == 0


class OrderedLife(Life):
    """The same where order was asked for."""

    ordered = True


@pytest.mark.parametrize("life", [Life, OrderedLife])
def test_nothing_is_lost_nothing_doubled_unmarked_and_order_holds(life: type[Life]) -> None:
    calm = settings(max_examples=80, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(life, settings=calm)
