"""A clock for tests about time."""

import time

import pytest


class Wall:
    """The machine's clock, which can be set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead_s = 0.0
        time_s, time_ns = time.time, time.time_ns
        monkeypatch.setattr(time, "time", lambda: time_s() + self.ahead_s)
        monkeypatch.setattr(time, "time_ns", lambda: time_ns() + int(self.ahead_s * 1e9))
