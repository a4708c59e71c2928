"""Small worlds of attributes in which every question about filters can be answered by trying everything.

The meaning of a filter is written down here a second time, as plainly as can be: trees of tuples and one function."""

import itertools
import random
from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_
from typing import Any, TypeAlias

from hypothesis import strategies as st

Attributes: TypeAlias = dict[str, Any]
Tree: TypeAlias = tuple[Any, ...]

NUMBERS = [0, 1, 1.5, 2, 3]
TEXTS = ["", "a", "ab", "b", "ba", "bab"]
LONGER = ["".join(letters) for length in range(5) for letters in itertools.product("ab", repeat=length)]
FOLDED = ["A", "aB", "Ab", "BA", "BaB", "ß", "ss", "Bß"]
X: list[Any] = [
    None, False, True, -1, 0, 0.5, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, *LONGER, "a!", "b!", "ba!", "c", *FOLDED,
]  # fmt: skip
Y: list[Any] = [
    None,
    False,
    True,
    -1,
    0,
    0.5,
    1,
    1.5,
    2,
    3,
    4,
    "",
    "a",
    "aa",
    "ab",
    "abab",
    "b",
    "b!",
    "ba",
    "bab",
    "c",
]
"What the attributes can be: all constants, something between any two of them, and None for missing."
NAMES = ["x", "y"]

WORLD: list[Attributes] = [
    {name: value for name, value in zip(NAMES, values) if value is not None} for values in itertools.product(X, Y)
]
EVERY = (1 << len(WORLD)) - 1

COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]
PATTERNS = ["startswith", "endswith", "contains"]
LIKES = [
    "",
    "%",
    "_",
    "a",
    "a%",
    "%a",
    "%b%",
    "a%b",
    "b%b",
    "a_",
    "_a%",
    "%a_",
    "a%b_",
    "%_b%",
    "__",
    "b_b",
    "bab%",
    "%ab%",
]
ALIKE = [*LIKES, "A", "B%", "%aB", "sS", "_S", "ß"]


def drawn_tree(draws: random.Random, depth: int) -> Tree:
    """A random filter."""
    if depth == 0 or draws.random() < 0.25:
        return drawn_condition(draws)
    joint = draws.choice(["and", "and", "or", "or", "not"])
    if joint == "not":
        return ("not", drawn_tree(draws, depth - 1))
    return (joint, *(drawn_tree(draws, depth - 1) for _ in range(draws.choice([2, 2, 3]))))


def drawn_condition(draws: random.Random) -> Tree:
    name = draws.choice(NAMES)
    match draws.randrange(16):
        case 12 | 13:
            return ("like", name, draws.choice(LIKES), draws.choice([True, True, False]))
        case 14:
            return ("ilike", name, draws.choice(ALIKE), draws.choice([True, True, False]))
        case 15:
            low, high = (draws.choice(draws.choice([NUMBERS, TEXTS])) for _ in range(2))
            if kind(low) != kind(high):
                return ("null", name, draws.choice([True, False]))
            return ("between", name, low, high, draws.choice([True, True, False]))
        case 0:
            return ("flag", name)
        case 1:
            return ("has", name)
        case 2:
            return ("is", name, draws.choice(["number", "text", "bool"]))
        case 3:
            return (draws.choice(["in", "not in"]), name, drawn_constants(draws))
        case 4 | 5:
            return (draws.choice(PATTERNS), name, draws.choice(TEXTS))
        case 6:
            values = draws.choice([NUMBERS, TEXTS])
            return ("range", draws.choice(values), draws.choice(["<", "<="]), name, "<", draws.choice(values))
        case 7:
            return (draws.choice(["==", "!="]), name, draws.choice([True, False]))
        case _:
            return (draws.choice(COMPARISONS), name, draws.choice(draws.choice([NUMBERS, TEXTS])))


def drawn_constants(draws: random.Random) -> tuple[Any, ...]:
    return tuple(draws.choice([*NUMBERS, *TEXTS, True, False]) for _ in range(draws.randint(1, 4)))


trees: st.SearchStrategy[Tree] = st.builds(
    lambda seed, depth: drawn_tree(random.Random(seed), depth), st.integers(0, 2**64), st.integers(0, 4)
)


def constant(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else repr(value)


def text(tree: Tree) -> str:
    """A filter as a person would write it."""
    match tree:
        case ("and" | "or" as joint, *parts):
            return "(" + f" {joint} ".join(map(text, parts)) + ")"
        case ("not", part):
            return f"not {text(part)}"
        case ("flag", name):
            return str(name)
        case ("has", name):
            return f"has {name}"
        case ("in" | "not in" as how, name, values):
            return f"{name} {how} ({', '.join(map(constant, values))})"
        case ("is", name, kind):
            return f"{name} is {kind}"
        case ("range", low, one, name, other, high):
            return f"{constant(low)} {one} {name} {other} {constant(high)}"
        case ("like" | "ilike" as how, name, pattern, positive):
            return f"{name} {'' if positive else 'not '}{how} {constant(pattern)}"
        case ("between", name, low, high, positive):
            return f"{name} {'' if positive else 'not '}between {constant(low)} and {constant(high)}"
        case ("null", name, positive):
            return f"{name} is {'' if positive else 'not '}null"
        case (how, name, value):
            return f"{name} {how} {constant(value)}"
    raise AssertionError(tree)


def kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "text" if isinstance(value, str) else "number"


def meets(tree: Tree, attributes: Attributes) -> bool:
    """What a filter means, read off its tree."""
    match tree:
        case ("and", *parts):
            return all(meets(part, attributes) for part in parts)
        case ("or", *parts):
            return any(meets(part, attributes) for part in parts)
        case ("not", part):
            return not meets(part, attributes)
        case ("range", low, one, name, other, high):
            turned = {"<": ">", "<=": ">="}[one]
            return meets((turned, name, low), attributes) and meets((other, name, high), attributes)
    name = tree[1]
    if tree[0] == "null":
        return (name not in attributes) is tree[2]
    if name not in attributes:
        return False
    value = attributes[name]
    match tree:
        case ("has", _):
            return True
        case ("flag", _):
            return value is True
        case ("is", _, wanted):
            return kind(value) == wanted
        case ("in", _, values):
            return any(kind(each) == kind(value) and each == value for each in values)
        case ("not in", _, values):
            alike = [each for each in values if kind(each) == kind(value)]
            return bool(alike) and value not in alike
        case ("like" | "ilike" as how, _, pattern, positive):
            if kind(value) != "text":
                return False
            fits = is_like(pattern, value) if how == "like" else is_like(pattern.casefold(), value.casefold())
            return fits is positive
        case ("between", _, low, high, positive):
            return kind(value) == kind(low) and (low <= value <= high) is positive
        case (how, _, other):
            return kind(value) == kind(other) and compared(how, value, other)
    raise AssertionError(tree)


def is_like(pattern: str, value: str) -> bool:
    """Letter by letter, with every way to fill a `%` tried."""
    if not pattern:
        return not value
    first, rest = pattern[0], pattern[1:]
    if first == "%":
        return any(is_like(rest, value[at:]) for at in range(len(value) + 1))
    return bool(value) and first in ("_", value[0]) and is_like(rest, value[1:])


def compared(how: str, value: Any, other: Any) -> bool:
    answers = {
        "==": lambda: value == other,
        "!=": lambda: value != other,
        "<": lambda: value < other,
        "<=": lambda: value <= other,
        ">": lambda: value > other,
        ">=": lambda: value >= other,
        "startswith": lambda: value.startswith(other),
        "endswith": lambda: value.endswith(other),
        "contains": lambda: other in value,
    }
    return bool(answers[how]())


def met(tree: Tree) -> int:
    """The events of the world that a filter wants, one bit each."""
    match tree:
        case ("and", *parts):
            return reduce(and_, map(met, parts))
        case ("or", *parts):
            return reduce(or_, map(met, parts))
        case ("not", part):
            return EVERY & ~met(part)
    said = text(tree)  # not the tree: 1 and True are equal
    if said not in KNOWN:
        KNOWN[said] = bits(lambda attributes: meets(tree, attributes))
    return KNOWN[said]


KNOWN: dict[str, int] = {}


def bits(wants: Callable[[Attributes], bool]) -> int:
    return int("".join("01"[wants(attributes)] for attributes in reversed(WORLD)), 2)


def pairs(seed: int, count: int, depth: int) -> Iterator[tuple[Tree, Tree]]:
    """Random pairs. Half of them are related, or hardly any filter would cover another."""
    draws = random.Random(seed)
    for _ in range(count):
        one, other = drawn_tree(draws, depth), drawn_tree(draws, depth)
        yield one, draws.choice([other, ("and", one, other), ("and", other, one), widened(draws, one)])


def widened(draws: random.Random, tree: Tree) -> Tree:
    return ("or", tree, drawn_condition(draws))
