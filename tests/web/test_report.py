"""The report page: whole in one file, safe with any text, and the same bytes for the same input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import make_dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gossamer.lab.figures import Figure
from gossamer.web.report import Section, Table, render, show, with_error, write

HOSTILE = '.a"><script>alert(1)</script><img src=x onerror=y>'
VOID = {"meta", "br", "img", "link", "hr", "input"}


SVG = (
    '<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/svg11.dtd">'
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" viewBox="0 0 9 9">'
    '<metadata>http://purl.org</metadata><defs><style>*{color:red}</style><path id="p" d="M 0 0"/></defs>'
    '<script>alert(1)</script><use xlink:href="#p"/><use xlink:href="http://evil.example/x.svg#p"/>'
    '<g clip-path="url(#p)" onclick="alert(2)" filter="url(http://evil.example/f)"><text>a &lt; b</text></g></svg>'
)


def drawing(title: str = "Reach", caption: str = "Ours.") -> Figure:
    return Figure("reach", title, SVG, caption)


def claim(verdict: str = "reproduced", **more: Any) -> dict[str, Any]:
    return {"id": "reach.all", "paper_says": "everyone", "ours": 0.98342, "ci95": 0.0021, "runs": 1200,
            "verdict": verdict, "why": "inside the band", **more}  # fmt: skip


def page(*sections: Section, title: str = "T", lead: str = "L", facts: Any = (("runs", 2400),)) -> str:
    return render(title, lead, facts, sections)


class Reader(HTMLParser):
    """Tags with their attributes; unbalanced tags are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def values(self, attribute: str) -> list[str]:
        return [found for _, attributes in self.tags if (found := attributes.get(attribute))]


FULL = Section("Reach", "One.\n\nTwo `code`.", [drawing(), drawing()], Table(["a", "b"], [["x", 1]]), [claim()])


def test_the_page_refers_to_nothing_outside_itself() -> None:
    text = page(FULL, FULL, FULL, FULL)
    reader = Reader(text)
    assert all(link.startswith("#") for attribute in ("href", "src") for link in reader.values(attribute))
    assert not re.search(r"://|@import|url\((?!#)", text)
    assert not {"script", "link", "iframe", "img"} & {tag for tag, _ in reader.tags}


def test_every_id_is_used_once_and_every_link_has_its_target() -> None:
    reader = Reader(page(FULL, FULL, FULL, FULL))
    ids = reader.values("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in reader.values("href")} <= set(ids)
    assert {used for value in reader.values("clip-path") for used in re.findall(r"#([^)]+)", value)} <= set(ids)


def test_a_figure_brings_nothing_active_and_no_style_for_the_rest_of_the_page() -> None:
    text = page(FULL)
    assert "alert" not in text
    assert "color:red" not in text
    assert "a &lt; b" in text


def test_hostile_text_is_escaped_wherever_it_stands() -> None:
    section = Section(HOSTILE, f"{HOSTILE} `{HOSTILE}`", [drawing(title=HOSTILE, caption=HOSTILE)],
                      Table([HOSTILE], [[HOSTILE]], note=HOSTILE),
                      [claim(id=HOSTILE, where=HOSTILE, paper_says=HOSTILE, ours=HOSTILE, why=HOSTILE)])  # fmt: skip
    reader = Reader(page(*[section] * 4, title=HOSTILE, lead=HOSTILE, facts={HOSTILE: HOSTILE, "command": HOSTILE}))
    assert not {"script", "img"} & {tag for tag, _ in reader.tags}
    assert not any(name.startswith("on") for _, attributes in reader.tags for name in attributes)


def test_the_same_input_gives_the_same_bytes() -> None:
    assert page(FULL) == page(FULL)


@pytest.mark.parametrize("verdict", ["reproduced", "differs", "cannot be compared"])
def test_a_verdict_badge_says_its_verdict_in_words(verdict: str) -> None:
    badge = re.search(
        r'<span class="badge ([a-z-]+)">(.*?)</td>', page(Section("S", claims=[claim(verdict)])), re.DOTALL
    )
    assert badge
    assert badge[1] == verdict.replace(" ", "-")
    assert verdict in re.sub("<[^>]+>", "", badge[2])


def test_verdicts_are_counted_over_the_page_and_per_section() -> None:
    text = page(Section("A", claims=[claim(), claim("differs")]), Section("B", claims=[claim()]))
    counts = re.findall(r"<b>(\d+)</b> (reproduced|differs|cannot be compared)", text)
    assert [int(count) for count, _ in counts] == [2, 1, 0, 1, 1, 0, 1, 0, 0]


def test_claims_that_are_counted_apart_are_counted_in_their_own_section_only() -> None:
    shown = page(Section("A", claims=[claim()]), Section("B", claims=[claim("differs")] * 3, apart=True))
    assert re.findall(r"Verdicts on (\d+) claims", shown) == ["1", "1", "3"]


def test_an_unknown_verdict_is_refused_with_the_claim_named() -> None:
    with pytest.raises(ValueError, match=r"reach\.all.*'maybe'"):
        page(Section("S", claims=[claim("maybe")]))


def test_a_claim_may_be_an_object_without_optional_fields() -> None:
    as_object = make_dataclass("Claim", claim())(**claim())
    assert page(Section("S", claims=[as_object])) == page(Section("S", claims=[claim()]))


def test_contents_are_listed_from_four_sections_on() -> None:
    assert "<nav" not in page(*[Section("S")] * 3)
    assert "<nav" in page(*[Section("S")] * 4)


def test_figures_and_tables_can_be_read_without_seeing_them() -> None:
    reader = Reader(page(FULL))
    assert [a["aria-label"] for tag, a in reader.tags if tag == "svg"] == ["Reach", "Reach"]
    assert all(attributes.get("scope") in {"col", "row"} for tag, attributes in reader.tags if tag == "th")


def test_numbers_stand_right_unless_told_otherwise() -> None:
    rows = [["x", 1, None], ["y", 2.5, 3]]
    assert Table(["a", "b", "c"], rows).sides() == ["left", "right", "right"]
    assert Table(["a", "b", "c"], rows, align="rcl").sides() == ["right", "center", "left"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(12500, "12,500"), (0.99998, "0.99998"), (12.34567, "12.35"), (None, "–"), (float("nan"), "–"), (True, "yes"),
     (2.0, "2"), (0.0, "0"), (float("inf"), "inf"), ("as is", "as is")],
)  # fmt: skip
def test_cells_are_written_for_people(value: object, text: str) -> None:
    assert show(value) == text


@pytest.mark.parametrize(
    ("ours", "ci95", "text"),
    [(0.98342, 0.0021, "0.9834 ± 0.0021"), (12544.3, 203.2, "12,544 ± 203"), (5, 0, "5 ± 0"), ("yes", None, "yes")],
)
def test_a_measurement_has_the_decimals_its_error_deserves(ours: object, ci95: object, text: str) -> None:
    assert with_error(ours, ci95) == text


def test_writing_leaves_the_page_and_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path / "out" / "report.html", "T", "L", {}, [FULL])
    assert [found.name for found in path.parent.iterdir()] == ["report.html"]
    assert path.read_text("utf-8") == page(FULL, facts={})


def test_a_page_that_cannot_be_rendered_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="maybe"):
        write(path, "T", "L", {}, [Section("S", claims=[claim("maybe")])])
    assert path.read_text() == "old"
