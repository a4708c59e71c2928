"""The report: one HTML page that needs nothing else. Figures, tables and claims go in; it reads offline and printed.

Whatever a topic or an error message contains, it is text here: the template escapes everything, and figures are taken
apart and put together again with nothing in them that could run, fetch or style the rest of the page.
"""

from __future__ import annotations

import math
import os
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup, escape

if TYPE_CHECKING:  # a page without figures must not need matplotlib
    from gossamer.lab.figures import Figure

Facts = Mapping[str, object] | Iterable[tuple[str, object]]

VERDICTS = {"reproduced": "✓", "differs": "≠", "cannot be compared": "?"}
"The verdicts on a claim, in the order the page counts them; the sign says it without colour."


@dataclass(frozen=True)
class Table:
    """Cells are text or numbers. `align` is a letter per column, l, c or r; by default numbers stand right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    note: str = ""
    align: str = ""

    def sides(self) -> list[str]:
        if self.align:
            return [{"l": "left", "c": "center", "r": "right"}[letter] for letter in self.align]
        by_column = [[row[i] for row in self.rows] for i in range(len(self.columns))]
        return [
            "right" if any(map(is_number, cells)) and not any(map(is_words, cells)) else "left" for cells in by_column
        ]


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it. A blank line in `text` starts a paragraph, backticks mark code."""

    title: str
    text: str = ""
    figures: Sequence[Figure] = ()
    table: Table | None = None
    claims: Sequence[Any] = ()
    "Each a mapping or object with id, paper_says, ours, ci95, runs, verdict, why, and where if the paper has sections."
    apart: bool = False
    "Whether these claims are counted by themselves, and not on top of the page."


def render(title: str, lead: str, facts: Facts, sections: Sequence[Section], refresh_s: int = 0) -> str:
    """The page as text: the same input gives the same bytes. `refresh_s`: whoever looks at it gets it anew so often."""
    shown: list[dict[str, Any]] = [
        {
            "title": section.title,
            "anchor": f"section-{number}",
            "text": section.text,
            "figures": [(one, inline(one, f"s{number}f{i}-")) for i, one in enumerate(section.figures, 1)],
            "table": section.table,
            "claims": [read_claim(claim) for claim in section.claims],
            "apart": section.apart,
        }
        for number, section in enumerate(sections, 1)
    ]
    claims = [claim for section in shown if not section["apart"] for claim in section["claims"]]
    return template().render(
        title=title,
        refresh_s=refresh_s,
        lead=lead,
        facts=list(facts.items() if isinstance(facts, Mapping) else facts),
        sections=shown,
        claims=claims,
        judged=sum(1 for section in shown if section["claims"]),
    )


def write(path: Path, title: str, lead: str, facts: Facts, sections: Sequence[Section], refresh_s: int = 0) -> Path:
    """Render to a file. Whoever has the old page open never reads half of the new one."""
    page = render(title, lead, facts, sections, refresh_s)
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}.half")
    try:
        half.write_text(page, encoding="utf-8")
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
    return path


@cache
def template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"show": show, "paragraphs": paragraphs, "slug": slug}
    environment.globals |= {"verdicts": VERDICTS, "tally": tally}
    return environment.from_string(resources.files("gossamer.web").joinpath("report.html").read_text("utf-8"))


def read_claim(claim: Any) -> dict[str, Any]:
    keys = ("id", "paper_says", "ours", "ci95", "runs", "verdict", "why", "where")
    found = {key: claim.get(key) if isinstance(claim, Mapping) else getattr(claim, key, None) for key in keys}
    if found["verdict"] not in VERDICTS:
        raise ValueError(
            f"claim {found['id']!r}: the verdict is {found['verdict']!r}, not one of {', '.join(VERDICTS)}"
        )
    return {**found, "measured": with_error(found["ours"], found["ci95"])}


def tally(claims: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    counts = Counter(claim["verdict"] for claim in claims)
    return [(verdict, counts[verdict]) for verdict in VERDICTS]


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_words(value: object) -> bool:
    return value is not None and not is_number(value)


def show(value: object) -> str:
    """A cell as a reader wants it: four digits, more only where fewer would round 0.99998 up to 1."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or (isinstance(value, Real) and math.isnan(value)):
        return "–"
    if not isinstance(value, Real) or math.isinf(value):
        return str(value)
    number = float(value)
    if isinstance(value, Integral) or abs(number) >= 1000 or number.is_integer():
        return f"{value:,.0f}"
    return next((text for digits in (4, 6, 9) if float(text := f"{number:.{digits}g}") != round(number)), f"{number:g}")


def with_error(ours: Any, ci95: Any) -> str:
    """`0.9834 ± 0.0021`: as many decimals as the error deserves."""
    if not (is_number(ours) and is_number(ci95) and math.isfinite(ours) and math.isfinite(ci95)):
        return show(ours)
    if ci95 <= 0:
        return f"{show(ours)} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(ci95)))
    return f"{ours:,.{decimals}f} ± {ci95:,.{decimals}f}" if decimals < 10 else f"{ours:.3g} ± {ci95:.1g}"


def slug(text: object) -> str:
    """`cannot be compared` → `cannot-be-compared`, a class name."""
    return re.sub(r"[^a-z0-9]+", "-", str(text).lower()).strip("-")


def paragraphs(text: str) -> Markup:
    """Escaped first, marked up after: backticks are the only thing a text can do."""
    parts = [re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(part.strip()))) for part in re.split(r"\n\s*\n", text)]
    return Markup("\n").join(Markup(f"<p>{part}</p>") for part in parts if part)


def inline(figure: Figure, prefix: str) -> Markup:
    """An SVG fit to live among others in one page: its ids its own, its style rule not everyone's, nothing active."""
    root = tame(ET.fromstring(figure.svg), prefix)
    for size in ("width", "height", "version"):
        root.attrib.pop(size, None)
    # What matplotlib's style sheet says of every element; inherited, it says it of these only.
    root.attrib |= {"role": "img", "aria-label": figure.title, "style": "stroke-linejoin:round;stroke-linecap:butt"}
    return Markup(re.sub(r"\s*\n\s*", " ", ET.tostring(root, encoding="unicode")))


DRAWN = re.compile("svg|g|defs|path|use|text|tspan|rect|circle|ellipse|line|polyline|polygon|clipPath|pattern")
"All an SVG may consist of here; a script, a style sheet, a link or a foreign object is not drawn, so not kept."


def tame(element: ET.Element, prefix: str) -> ET.Element:
    kept = ET.Element(local(element.tag), {})
    for key, value in element.attrib.items():
        name = local(key)
        if name == "id":
            kept.set("id", prefix + value)
        elif name == "href":
            if value.startswith("#"):
                kept.set("href", f"#{prefix}{value[1:]}")
        elif not name.lower().startswith("on") and not re.search(r"url\((?!#)", value):
            kept.set(name, value.replace("url(#", f"url(#{prefix}"))
    kept.text, kept.tail = element.text, element.tail
    kept.extend(tame(child, prefix) for child in element if DRAWN.fullmatch(local(child.tag)))
    return kept


def local(tag: str) -> str:
    """Within HTML, SVG needs no namespaces."""
    return tag.rpartition("}")[2]
