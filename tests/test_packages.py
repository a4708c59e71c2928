"""What `pip install gossamer` brings, without extras: few packages, and small ones."""

import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PACKAGES_MAX, BYTES_MAX = 12, 60_000_000


def needed(requirements: Iterable[str], extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """Those of these requirements that hold here."""
    for each in map(Requirement, requirements):
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield each


def is_ours(file: Path) -> bool:
    return file.is_file() and not any("cache" in part for part in file.relative_to(ROOT).parts)


def brought() -> dict[str, int]:
    """Every package by its name, and its bytes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = {"gossamer": sum(file.stat().st_size for file in (ROOT / "src" / "gossamer").rglob("*.*") if is_ours(file))}
    left = [*needed(project["dependencies"])]
    while left:
        asked = left.pop()
        name = canonicalize_name(asked.name)
        there = distribution(name)
        if name not in found:
            found[name] = sum(file.size or 0 for file in there.files or ())
        left += [
            each for each in needed(there.requires or (), asked.extras) if canonicalize_name(each.name) not in found
        ]
    return found


def test_a_light_node_brings_few_packages_and_small_ones() -> None:
    found = brought()
    assert {"gossamer", "msgspec", "cryptography", "cffi"} <= set(found)
    assert not {"numpy", "pyspark"} & set(found)
    assert len(found) <= PACKAGES_MAX, sorted(found)
    assert sum(found.values()) <= BYTES_MAX, found
    assert all(size > 0 for size in found.values()), found
