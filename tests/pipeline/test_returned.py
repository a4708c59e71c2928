"""What a restarted node gives its reader again is told as that, never as delivered twice."""

from pathlib import Path

from pipeline.oracle import Story
from pipeline.returned import ACKNOWLEDGED, GIVEN, live_twice, told


def test_what_a_reader_is_given_again_after_a_crash_is_redelivered_and_no_duplicate(tmp_path: Path) -> None:
    live_twice(tmp_path / "traces", tmp_path / "spool")
    story = Story(told(tmp_path / "traces"))
    found = story.audit()
    assert (found["events"], found["redelivered"], found["duplicates"]) == (GIVEN + 1, GIVEN - ACKNOWLEDGED, 0)
    assert not found["parasites"] + found["strays"]
