"""A promise that is not kept yet has a test marked `xfail(strict=True)`: it is waited for only a moment, and whoever
keeps the promise must take the mark away. `pytest --runxfail tests/promises` waits longer, and shows what is owed."""

from collections.abc import Iterator

import pytest

from cli.processes import Stage, staged
from promises import waiting


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("xfail") is not None:
        shown = request.config.getoption("runxfail")
        monkeypatch.setattr(waiting, "PATIENCE_S", waiting.SHOWN_S if shown else waiting.OWED_S)


@pytest.fixture
def stage() -> Iterator[Stage]:
    with staged() as stage:
        yield stage
