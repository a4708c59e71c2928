"""The log is told of a fault once, not every time."""

import pytest

from gossamer.live.links import complaints
from gossamer.live.links.complaints import Complaints


def test_the_same_is_said_once_and_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now_us = 0
    monkeypatch.setattr(complaints, "monotonic_us", lambda: now_us)
    said = Complaints()
    assert [said.is_new("anna", "no hello") for _ in range(3)] == [True, False, False]
    assert said.is_new("anna", "a bad frame")
    assert said.is_new("bert", "no hello")
    assert [said.is_new("bert", f"a frame of {size} bytes") for size in (99_999, 100_000)] == [True, False]
    now_us = complaints.AGAIN_US
    assert [said.is_new("anna", "no hello") for _ in range(2)] == [True, False]


def test_many_peers_do_not_make_it_grow() -> None:
    said = Complaints()
    for number in range(3 * complaints.REMEMBERED_MAX):
        said.is_new(str(number), "no hello")
    assert len(said.said_us) == complaints.REMEMBERED_MAX
    assert said.is_new("0", "no hello")
