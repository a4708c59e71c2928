"""What an identity costs is counted by name: over connections, and after they ended."""

import pytest

from gossamer.core.publications import IDLE_US
from gossamer.live.clients import identities
from gossamer.live.clients.costs import cost_of
from gossamer.live.clients.identities import Identities, Identity
from gossamer.live.config.tables import Limits
from gossamer.live.links.control import Await, Handled, Look, Offer, Read, Through
from gossamer.parts.bucket import Bucket

LIMITS = Limits(client_requests_per_s=10.0)


def test_whoever_comes_again_finds_what_it_left() -> None:
    known = Identities()
    first = known.get("anna", LIMITS, 0)
    first.requests.spend(0, 15)
    assert known.get("bert", LIMITS, 0) is not first
    again = known.get("anna", LIMITS, 0)
    assert (again, again.requests.tokens) == (first, 5)


def test_another_limit_forgives_nothing() -> None:
    known = Identities()
    known.get("anna", LIMITS, 0).requests.spend(0, 25)
    anna = known.get("anna", Limits(client_requests_per_s=1.0), 0)
    assert (anna.requests.tokens, anna.requests.debt_us(0)) == (-5, pytest.approx(5_000_000))


def test_whoever_is_attached_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identities, "REMEMBERED_MAX", 2)
    known = Identities()
    anna = known.get("anna", LIMITS, 0)
    anna.sessions = 1
    bert, cleo = known.get("bert", LIMITS, 0), known.get("cleo", LIMITS, 0)
    assert known.get("anna", LIMITS, 0) is anna
    assert known.get("cleo", LIMITS, 0) is cleo
    assert known.get("bert", LIMITS, 0) is not bert


def test_topics_that_were_not_used_for_two_minutes_make_room() -> None:
    anna = Identity("anna", LIMITS, 0)
    assert anna.opens(".a", 2, 0)
    assert anna.opens(".b", 2, 1)
    assert not anna.opens(".c", 2, 2)
    assert anna.opens(".a", 2, 3), "it is used again"
    assert anna.opens(".c", 2, IDLE_US + 1), ".b is forgotten"
    assert [*anna.topics] == [".a", ".c"]


def test_what_is_owed_is_paid_first() -> None:
    bucket = Bucket(10, 10, 0)
    bucket.spend(0, 30)
    assert not bucket.take(1_000_000)
    assert bucket.debt_us(1_000_000) == pytest.approx(1_000_000)
    assert bucket.debt_us(2_000_000) == pytest.approx(0, abs=1)
    assert bucket.take(2_200_000)


def test_what_is_longer_costs_more() -> None:
    assert cost_of(Offer(1, ".a", b"")) == 1
    assert cost_of(Offer(1, ".a", bytes(1 << 20))) == 1025
    assert cost_of(Read(1, ".a", where="x" * 8_000)) > cost_of(Read(1, ".a")) > 1
    told = {f".a{number}": (".b",) for number in range(100)}
    assert cost_of(Read(1, ".a", parents=told)) > cost_of(Read(1, ".a"))
    assert cost_of(Offer(1, ".a", b"", parents=told)) > 1
    assert cost_of(Handled(1, 1, (1,) * 1000)) > cost_of(Handled(1, 1, (1,))) > 1
    assert cost_of(Look(1, ".a", "p > 1")) > cost_of(Look(1, ".a", items=1)) > 1
    assert cost_of(Through(1, "n", 1)) > 1
    assert cost_of(Await(1, (), 0.0)) > 1
