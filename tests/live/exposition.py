"""A strict reader of Prometheus' text format 0.0.4: what it does not expect, it refuses."""

import re
from typing import NamedTuple

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|\+Inf|-Inf|NaN"
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? ({NUMBER})")
SUFFIXES = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


class Family(NamedTuple):
    kind: str
    says: str
    samples: dict[tuple[str, tuple[tuple[str, str], ...]], float]


def families(page: bytes) -> dict[str, Family]:
    """Families by name. Each is HELP, TYPE, then its own samples, without repeats."""
    text = page.decode("utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    found: dict[str, Family] = {}
    lines = iter(text.removesuffix("\n").split("\n"))
    current, says = "", ""
    for line in lines:
        if told := re.fullmatch(rf"# HELP ({NAME}) (.+)", line):
            current, says = told[1], told[2]
            typed = re.fullmatch(rf"# TYPE {current} (counter|gauge|histogram)", next(lines))
            assert typed, f"{current} has no type"
            assert current not in found, f"{current} comes twice"
            found[current] = Family(typed[1], says, {})
        else:
            _add(found[current], current, line)
    for name, family in found.items():
        assert family.kind != "counter" or name.endswith("_total")
        assert family.kind == "counter" or not name.endswith("_total")
        if family.kind == "histogram":
            _check_histogram(name, family)
    return found


def _add(family: Family, current: str, line: str) -> None:
    sample = SAMPLE.fullmatch(line)
    assert sample, line
    assert sample[1] in [current + suffix for suffix in SUFFIXES[family.kind]], line
    labels = tuple(re.findall(r'([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"', sample[2] or ""))
    assert (sample[1], labels) not in family.samples, f"twice: {line}"
    family.samples[sample[1], labels] = float(sample[3])


def _check_histogram(name: str, family: Family) -> None:
    buckets = [(float(dict(labels)["le"]), value) for (_, labels), value in family.samples.items() if labels]
    bounds, counts = zip(*buckets, strict=True)
    assert list(bounds) == sorted(set(bounds))
    assert bounds[-1] == float("inf")
    assert list(counts) == sorted(counts)
    assert family.samples[f"{name}_count", ()] == counts[-1]
    assert (f"{name}_sum", ()) in family.samples


def value(page: bytes, name: str, **labels: str) -> float:
    family = name if name in (known := families(page)) else re.sub(r"_(bucket|sum|count)$", "", name)
    return known[family].samples[name, tuple(labels.items())]
