"""What cannot work is refused with a sentence, and never hangs."""

import asyncio
import gc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.errors import Misuse
from gossamer.testing import Network
from promises import waiting
from promises.nodes import disk

TOPIC = ".orders"


def test_an_inbox_that_was_not_entered_works_or_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            await anna.publish(TOPIC, "0")
            async with asyncio.timeout(waiting.PATIENCE_S):
                with suppress(Misuse):
                    async for item in anna.subscribe(TOPIC, from_start=True):
                        assert item.payload == b"0"
                        break

    asyncio.run(scenario())


@pytest.mark.parametrize("thing", ["x", None, 7])
def test_what_is_no_delivery_cannot_be_acknowledged(tmp_path: Path, thing: Any) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            async with anna.subscribe(TOPIC, name="billing") as inbox:
                with pytest.raises(Misuse):
                    await inbox.ack(thing)

    asyncio.run(scenario())


@pytest.mark.parametrize(("wild", "instead"), [(".soccer.*", "`.soccer`"), (".soccer.#", "`.soccer`"), (".>", "`.`")])
def test_a_wildcard_is_refused_and_told_what_to_write(tmp_path: Path, wild: str, instead: str) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            with pytest.raises(Misuse) as refused:
                anna.subscribe(wild)
            assert instead.strip("`") in str(refused.value).replace(wild, "")

    asyncio.run(scenario())


@pytest.mark.filterwarnings("always")
def test_a_publication_that_nobody_awaits_warns(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna = await network.node("anna", **disk(tmp_path / "anna"))
            anna.publish(TOPIC, "0")
            await asyncio.sleep(0.2)
            gc.collect()

    asyncio.run(scenario())
    assert any("publish" in str(each.message) and "await" in str(each.message) for each in recwarn)
