"""A small study: an experiment file that takes milliseconds, and ways to change it. Each kind has one, in a file of its
own."""

import tomllib
from typing import Any, Generic, NamedTuple, TypeVar

import pytest

from gossamer.core.errors import SpecError
from gossamer.lab.grid import Point, points, put
from gossamer.lab.studies import Study

Kind = TypeVar("Kind", bound=Study)


class SmallStudy(NamedTuple, Generic[Kind]):
    kind: type[Kind]
    metrics: dict[str, str]
    "What it measures, and what each is."
    source: str
    "What complaints call the file."
    text: str
    "The file. It says ENGINE where the engine's name belongs."
    engine: str
    "Which one it has unless a test says otherwise."
    engine_call: str
    "The function that kernels are run by: a test may replace it."
    swept: str = ""
    "What may stand behind the text: a sweep, and a figure of it."

    def written(self, engine: str | None = None) -> str:
        return self.text.replace("ENGINE", engine or self.engine)

    def raw(self, changes: dict[str, Any] | None = None, *, engine: str | None = None, **tables: Any) -> dict[str, Any]:
        """The study as raw TOML, with some fields set and whole tables added."""
        raw = tomllib.loads(self.written(engine))
        for dotted, value in (changes or {}).items():
            put(raw, dotted, value, self.source)
        return {**raw, **tables}

    def point(self, changes: dict[str, Any] | None = None, *, engine: str | None = None, **tables: Any) -> Point:
        (only,) = points(self.raw(changes, engine=engine, **tables), self.source)
        return only

    def spec(self, changes: dict[str, Any] | None = None, **tables: Any) -> Kind:
        said = self.point(changes, **tables).spec
        assert isinstance(said, self.kind)
        return said


def complaint(raw: dict[str, Any], source: str) -> str:
    """What is said of a file that is wrong: where, and one sentence."""
    with pytest.raises(SpecError) as wrong:
        points(raw, source)
    said = str(wrong.value)
    assert said.startswith(source)
    assert "\n" not in said
    return said
