"""The papers Gossamer reproduces: which experiments each needs, and what it claims."""

from collections.abc import Callable, Sequence
from importlib import import_module

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.lab.book import Book
from gossamer.lab.claims import Claim
from gossamer.lab.figures import Figure

NAMES = ("damulticast", "camcast", "epidemic", "spidercast", "hpmcast", "comparison")


class Paper(Struct, frozen=True):
    """A paper as a set of experiments and a reading of their results."""

    name: str
    title: str
    lead: str
    experiments: tuple[str, ...]
    claims: Callable[[Book], list[Claim]]
    analysis: Callable[[Book], Sequence["Part"]]


class Part(Struct, frozen=True):
    """A section of the report beside the experiments: tables worked out from formulas and results."""

    title: str
    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    figures: tuple[Figure, ...] = ()


def paper(name: str) -> Paper:
    if name not in NAMES:
        raise Misuse(f"there is no paper {name!r} to reproduce: choose one of {', '.join(NAMES)}, all")
    found: Paper = import_module(f"gossamer.lab.papers.{name}").PAPER
    return found
