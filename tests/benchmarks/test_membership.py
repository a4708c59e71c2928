"""What membership costs, small: every message is counted to what caused it."""

import pytest
from benchmarks.membership import SERVICES, measure, table

from benchmarks import membership
from gossamer.protocols.camcast.node import MembershipName


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "START_S", 5.0)
    monkeypatch.setattr(membership, "SETTLE_S", 10.0)
    monkeypatch.setattr(membership, "IDLE_S", 2.0)


@pytest.mark.parametrize("service", SERVICES)
def test_everybody_finds_somebody_and_an_overlay_asks_fewer(service: MembershipName) -> None:
    cost = measure(service, 60, seed=1)
    assert cost.lonely == 0
    assert 0 < cost.join_ms < 2_000
    assert 0 < cost.above_ms < 2_000
    assert (cost.stored > 0) == (service != "unstructured")
    assert (cost.above < 300) == (service != "unstructured")
    assert table([cost]).rows[0][:2] == [service, "60"]
