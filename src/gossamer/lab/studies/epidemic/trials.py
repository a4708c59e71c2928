"""Runs of a study of recovery, and what they cost."""

from typing import Any

NOTHING: dict[str, Any] = {"metric": "", "value": 0.0}
"What a trial that could not be run measured."
