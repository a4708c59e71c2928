"""Live nodes whose communities are found in different ways: what users see is the same."""

import asyncio
from pathlib import Path

import pytest

from gossamer.testing import Network
from live.watching import assert_replayed, payloads, until

SERVICES = ["unstructured", "semi-structured", "structured"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_node_without_topics_is_enough_to_begin_with_and_is_sent_no_event(service: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            shared = {"membership": service, "trace": {"folder": tmp_path, "level": "journal"}}
            gateway = await network.node("gateway", **shared)  # everybody's only seed, a member of nothing
            above = await network.node("above", subscribe=[".soccer"], **shared)
            below = [await network.node(f"below-{i}", subscribe=[".soccer.italy"], **shared) for i in range(3)]
            async with above.subscribe(".soccer") as upper, below[0].subscribe(".soccer.italy") as lower:
                await below[1].publish(".soccer.italy", b"goal", climb=1.0)
                assert await payloads(lower, 1) == await payloads(upper, 1) == [b"goal"]
            assert gateway.health().ok
            assert (gateway.metrics.events_delivered, gateway.metrics.parasites) == (0, 0)

    asyncio.run(scenario())
    assert_replayed(tmp_path, 5, steps=5)


@pytest.mark.parametrize("service", SERVICES[1:])
def test_nodes_of_another_membership_are_turned_away_and_told_why(
    service: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with Network() as network:
            first = await network.node("first", membership=service)
            other = await network.node("other")
            await until(lambda: "all nodes must have the same" in caplog.text)
            assert first.metrics.links == other.metrics.links == 0

    with caplog.at_level("INFO", "gossamer"):
        asyncio.run(scenario())
    assert f"its spread is '{service} camcast', ours 'camcast'" in caplog.text
