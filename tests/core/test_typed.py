"""Topics as types: what a class says of its topic, what it may not say, and what its bytes hold."""

import datetime
import decimal
import enum
import sys
from types import ModuleType
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar

import msgspec
import pytest

from gossamer.core.errors import Misuse
from gossamer.core.filters import parse
from gossamer.core.typed import (
    PARENTS_MAX,
    Typed,
    check_parents,
    kinds_below,
    parents_above,
    parents_below,
    topic_of,
    types_below,
    with_types,
)
from gossamer.core.typed_fields import Filterable
from gossamer.core.typed_payloads import check_filter, read, written

V = TypeVar("V")
Shirt = NewType("Shirt", int)


class Mood(enum.Enum):
    GOOD = "good"


class Side(enum.StrEnum):
    LEFT = "left"


class Games(Typed, topic=".games"):
    pass


class Ball(Games):
    team: str
    minute: Annotated[int, Filterable] = 0


def program(source: str, module: str = "elsewhere", **names: Any) -> dict[str, Any]:
    """What a module of this text defines."""
    held = sys.modules[module] = ModuleType(module)
    held.__dict__.update(Typed=Typed, Games=Games, Ball=Ball, Annotated=Annotated, Filterable=Filterable, **names)
    exec(source, held.__dict__)
    return held.__dict__


def refusal(source: str, **names: Any) -> str:
    with pytest.raises(Misuse) as refused:
        program(source, **names)
    assert "\n" not in str(refused.value)
    return str(refused.value)


# Names and places


def test_a_topic_is_that_of_the_base_and_the_name_of_the_class_in_small_letters_or_what_the_class_says() -> None:
    class Handball(Ball):
        pass

    class Rowing(Games, topic=".water.rowing"):
        pass

    assert [topic_of(each) for each in (Typed, Games, Ball, Handball)] == [
        ".",
        ".games",
        ".games.ball",
        ".games.ball.handball",
    ]
    assert (topic_of(Rowing), parents_above(Rowing)) == (".water.rowing", {".water.rowing": (".games",)})


def test_bases_and_parents_are_super_topics_and_those_the_name_tells_are_not_repeated() -> None:
    class City(Typed):
        pass

    class Festival(Typed):
        pass

    class Derby(Ball, parents=(Games, City)):
        pass

    class Final(Derby, Festival):
        pass

    assert parents_above(Derby) == {".games.ball.derby": (".city",)}
    assert parents_above(Final) == {".games.ball.derby.final": (".festival",), ".games.ball.derby": (".city",)}
    assert parents_below(City) == parents_above(Final)
    assert parents_below(Final) == {}
    assert kinds_below(Festival) == {".festival": Festival, ".games.ball.derby.final": Final}
    assert kinds_below(City) == {".city": City, ".games.ball.derby": City, ".games.ball.derby.final": City}


def test_who_has_a_type_among_its_parents_is_read_as_the_nearest_that_is_one() -> None:
    class City(Typed):
        pass

    class Town(City):
        pass

    class Derby(Ball, parents=(City, Town)):
        pass

    assert kinds_below(City)[topic_of(Derby)] is Town


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("class Games(Typed): ...", "elsewhere.Games and "),
        ("class Chess(Typed, topic='.games.chess'): ...", ".games.chess lies below .games, but elsewhere.Chess is"),
        ("class A(Typed, topic='.x.y'): ...\nclass B(Typed, topic='.x'): ...", ".x.y lies below .x, but elsewhere.A "),
        ("class A(Typed, topic='games'): ...", "topic 'games' must start with a dot"),
        ("class A(Typed, topic='.a.*'): ...", "'.a.*' has no wildcards"),
        ("class A(Typed, topic=5): ...", "a topic is text like '.soccer', not int"),
        (f"class {'A' * 65}(Typed): ...", "has a segment longer than 64 letters"),
        ("class A(Typed, parents=(int,)): ...", "parents of A are classes that are Typed, as in parents=(City,)"),
        ("class A(Typed, parents=Ball): ...", "parents of A are classes that are Typed, as in parents=(City,)"),
        ("class A(Typed, parents=('.b',)): ...", "parents of A are classes that are Typed, as in parents=(City,)"),
        ("class A(Typed, array_like=True): ...", "A is Typed, and cannot have array_like: readers know the fields by"),
        ("class A(Typed, tag=True): ...", "A is Typed, and cannot have tag: its topic says what it is; leave it out"),
        ("class A(Typed, tag=''): ...", "A is Typed, and cannot have tag: its topic says what it is; leave it out"),
        ("class A(Typed, omit_defaults=True): ...", "A is Typed, and cannot have omit_defaults: who knows only a type"),
        ("class A(Typed, forbid_unknown_fields=True): ...", "A is Typed, and cannot have forbid_unknown_fields: "),
        ("class A(Typed, parents=(Ball,)): ...", "A lacks the field team of Ball, whose readers get it too"),
        ("class A(Ball, rename='upper'):\n  team: str", "A lacks the field team of Ball, whose readers get it too"),
        ("class A(Ball, rename='upper'):\n  minute: int = 0", "A calls the field minute MINUTE in its payload, and B"),
        ("class B(Typed):\n  b: int\nclass A(Ball, B): ...", "A cannot be a type: two of its bases have fields: keep"),
        ("class A(Typed, frosen=True): ...", "A cannot be a type: 'frosen' is an invalid keyword argument"),
        ("class A(Typed):\n  a: int = 0\n  b: int", "A cannot be a type: Required field 'b' cannot follow optional"),
    ],
)  # fmt: skip
def test_a_class_that_cannot_be_a_topic_is_refused_as_it_is_defined(source: str, says: str) -> None:
    assert says in refusal(source)


def test_many_parents_are_refused() -> None:
    many = "".join(f"class P{n}(Typed): ...\n" for n in range(PARENTS_MAX + 1))
    named = ", ".join(f"P{n}" for n in range(PARENTS_MAX + 1))
    assert "has 17 further parents: name the nearest 16" in refusal(f"{many}class A(Typed, parents=({named})): ...")


def test_a_class_that_was_refused_leaves_its_topic_free() -> None:
    refusal("class Free(Typed, array_like=True): ...")
    assert topic_of(program("class Free(Typed): ...", "other")["Free"]) == ".free"


def test_a_class_that_is_defined_again_takes_the_place_of_the_former() -> None:
    """As by a reload, or a function that is called twice."""
    source = "class Sport(Typed): ...\nclass Tennis(Sport):\n  sets: int"
    old, new = program(source), program(source)
    assert kinds_below(new["Sport"]) == {".sport": new["Sport"], ".sport.tennis": new["Tennis"]}
    assert kinds_below(old["Sport"]) == {".sport": old["Sport"]}  # what the new ones make is no object of the old
    assert read(new["Tennis"], written(old["Tennis"](3)).payload) == new["Tennis"](3)
    assert read(old["Tennis"], written(new["Tennis"](4)).payload) == old["Tennis"](4)


def test_a_class_that_is_defined_again_does_not_come_to_lie_below_itself() -> None:
    program("class A(Typed): ...\nclass B(Typed, parents=(A,)): ...\nclass C(Typed): ...")
    known = sys.modules["elsewhere"].__dict__
    says = "elsewhere.A would lie below itself: have no base and no parent that lies below .a"
    assert says == refusal("class A(Typed, parents=(B,)): ...", B=known["B"])
    assert says == refusal("class A(A, topic='.a'): ...", A=known["A"])
    program("class A(Typed, parents=(C,)): ...", C=known["C"])  # B knows only the former A
    assert "elsewhere.C would lie below itself" in refusal("class C(Typed, parents=(B,)): ...", B=known["B"])
    program("class A(Typed): ...\nclass B(Typed, parents=(A,)): ...\nclass C(Typed, parents=(B,)): ...")


def test_what_is_no_type_has_no_topic() -> None:
    class Box(Typed, Generic[V]):
        held: V

    for wrong in (Box[int], str, Games(), ".games"):
        with pytest.raises(Misuse, match="a type is a class that is Typed"):
            topic_of(wrong)  # type: ignore[arg-type]


# The hierarchy of a node


def test_what_types_say_is_added_to_the_file_and_must_not_differ_from_it() -> None:
    class City(Typed):
        pass

    class Derby(Ball, parents=(City,)):
        pass

    assert with_types({".a": (".b",)}) == {".a": (".b",), ".games.ball.derby": (".city",)}
    assert with_types({".games.ball.derby": (".city",)}) == {".games.ball.derby": (".city",)}
    for said in ({".games.ball.derby": (".italy",)}, {".games.ball.derby": ()}, {".games.ball": (".city",)}):
        with pytest.raises(Misuse, match=r"as the node's hierarchy.parents says: say the same in both"):
            with_types(said)


def test_a_node_that_does_not_know_what_types_say_refuses() -> None:
    check_parents({}, {".a": (".b",)})
    check_parents({".a": (".b", ".c")}, {".a": (".c", ".b")})
    with pytest.raises(
        Misuse, match=r"^\.a lies below \.b as its class says, and below no further topic as the node's"
    ):
        check_parents({".a": (".b",)}, {})


# Payloads


def test_fields_may_have_any_name() -> None:
    class Odd(Typed):
        topic: str
        parents: int
        delivery: str
        place: int
        ack: bool
        payload: bytes

    odd = Odd("t", 1, "d", 2, True, b"p")
    assert read(Odd, written(odd).payload) == odd


def test_unknown_fields_are_ignored_and_new_ones_get_their_defaults() -> None:
    class Wide(Ball):
        score: str = "0:0"

    assert read(Ball, written(Wide("Roma", 3, "1:0")).payload) == Ball("Roma", 3)
    assert read(Wide, written(Ball("Roma", 3)).payload) == Wide("Roma", 3)


def test_frozen_types_types_of_types_and_types_that_name_what_comes_later_are_written_and_read() -> None:
    names = program(
        "from __future__ import annotations\n"
        "class Team(Typed, frozen=True, topic='.team'):\n  name: str\n"
        "  rival: Team | None = None\n  first: Player | None = None\n"
        "class Player(Typed, rename='camel', kw_only=True):\n  shirt_number: Annotated[int | None, Filterable] = None\n"
    )
    team = names["Team"]("Roma", names["Team"]("Lazio"), names["Player"](shirt_number=10))
    assert read(names["Team"], written(team).payload) == team
    assert written(team.first).attributes == {"shirtNumber": 10}
    assert written(names["Player"]()).attributes == {}


def test_a_generic_type_reads_anything_and_one_that_is_made_of_it_what_it_says() -> None:
    class Box(Typed, Generic[V]):
        held: V

    class Count(Box[int]):
        pass

    assert topic_of(Count) == ".box.count"
    assert read(Box, written(Box("text")).payload) == Box("text")
    assert read(Count, written(Box("text")).payload) == "Expected `int`, got `str` - at `$.held`"


def test_attributes_are_those_of_fields_that_are_filterable() -> None:
    class Mixed(Typed):
        word: Annotated[str, Filterable()]
        half: Annotated[int, Filterable] | None
        hidden: int

    assert written(Mixed("a", None, 1)).attributes == {"word": "a"}
    assert written(Mixed("a", 2, 1)).attributes == {"word": "a", "half": 2}
    check_filter(parse('word == "a" or half > 1'), Mixed, [Games, Mixed])
    with pytest.raises(
        Misuse, match="neither Mixed nor a type below it has a Filterable field hidden, only word, half: ann"
    ):
        check_filter(parse("half > 1 and hidden == 1"), Mixed, [Games, Mixed])


def test_a_filter_may_ask_for_what_a_type_has_that_is_below_by_its_parents() -> None:
    class City(Typed):
        pass

    class Derby(Ball, parents=(City,)):
        pass

    assert types_below(City) == [City, Derby]
    check_filter(parse("minute > 80"), City, types_below(City))


@pytest.mark.parametrize(
    "hint",
    [
        *(datetime.datetime, decimal.Decimal, Mood, bytes, list[int], dict[str, int], Games),
        *(int | bytes, Literal["a"] | list[str], list[Annotated[int, Filterable]], NewType("Raw", bytes)),
    ],
    ids=str,
)
def test_what_no_filter_can_ask_for_is_not_filterable(hint: Any) -> None:
    says = "the field x of A cannot be Filterable: filters know str, int, float and bool; make it one of these, or"
    source = "class A(Typed):\n  x: Annotated[hint, Filterable]"
    assert says in refusal(source, hint=hint)
    later = program(source.replace("hint", "'Later'"), Later=None)  # it comes after the class
    later["Later"] = hint
    with pytest.raises(Misuse, match=says):
        check_filter(parse("x == 1"), later["A"], [later["A"]])


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        *((str, "a"), (int | None, 1), (float, 0.5), (bool, True), (Side, Side.LEFT), (Literal["a", 1], 1)),
        *((Shirt, Shirt(3)), (Any, "a"), (V, 1), (Annotated[int, msgspec.Meta(ge=0)], 1)),
    ],
    ids=str,
)
def test_what_filters_know_in_whatever_way_it_is_said_is_filterable(hint: Any, value: Any) -> None:
    kind = program("class A(Typed):\n  x: Annotated[hint, Filterable]", hint=hint)["A"]
    assert written(kind(value)).attributes == {"x": value}


def test_what_is_unset_is_no_attribute() -> None:
    class Maybe(Typed):
        shirt: Annotated[int | msgspec.UnsetType, Filterable] = msgspec.UNSET

    assert written(Maybe()).attributes == {}
    assert written(Maybe(3)).attributes == {"shirt": 3}


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Ball(5), "Expected `str`, got `int` - at `$.team`"),  # type: ignore[arg-type]
        (Ball("a", 2**70), "OverflowError: can't serialize ints"),
        (Ball("\ud800"), "UnicodeEncodeError"),
        (Ball(object()), "Encoding objects of type object is unsupported"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_what_nobody_could_read_is_not_published(value: Ball, says: str) -> None:
    with pytest.raises(Misuse, match=r"^this Ball cannot be published: ") as refused:
        written(value)
    assert says in str(refused.value)


def test_what_readers_of_a_parent_could_not_read_is_not_published() -> None:
    class City(Typed):
        name: str

    class Derby(Ball, parents=(City,), kw_only=True):
        name: int

    with pytest.raises(Misuse, match=r"Expected `str`, got `int` - at `\$.name`"):
        written(Derby("Roma", 1, name=5))


@pytest.mark.parametrize(
    ("field", "said", "says"),
    [
        ("team: int", 5, r"Expected `str`, got `int` - at `\$.team`"),
        ("team: str | UnsetType = UNSET", msgspec.UNSET, "missing required field `team`"),
        ("team: str | None", None, r"Expected `str`, got `None` - at `\$.team`"),
        ("def __post_init__(self): pass", "", "a team has a name"),
    ],
)
def test_what_readers_of_a_base_could_not_read_is_not_published(field: str, said: Any, says: str) -> None:
    class Club(Typed):
        team: str

        def __post_init__(self) -> None:
            if self.team == "":
                raise ValueError("a team has a name")

    own = {"Club": Club, "UNSET": msgspec.UNSET, "UnsetType": msgspec.UnsetType}
    kinds = program(f"class Middle(Club):\n  {field}\nclass A(Middle): ...", **own)
    for kind in (kinds["Middle"], kinds["A"]):
        with pytest.raises(Misuse, match=says):
            written(kind(said))


def test_a_field_may_be_declared_again_and_hold_what_readers_of_the_base_can_read() -> None:
    class Loose(Typed):
        team: str | None
        minute: int = 0

    class Tight(Loose):
        team: str
        minute: Annotated[int, Filterable] = 1

    told = written(Tight("Roma"))
    assert told.attributes == {"minute": 1}
    assert read(Loose, told.payload) == Loose("Roma", 1)


def test_annotations_that_say_nothing_are_told() -> None:
    for source in ("class A(Typed):\n  x: 'Nowhere'", "class A(Typed):\n  x: object.__class__ | Games | Ball"):
        with pytest.raises(Misuse, match=r"what the fields of elsewhere\.A hold cannot be told from its annotations"):
            written(program(source)["A"](1))


class Wide(Typed, topic=".wide"):
    numbers: list[int] = msgspec.field(default_factory=list)
    anything: Any = None
    words: dict[str, str] = msgspec.field(default_factory=dict)


DEEP = b"\x81\xa8anything" + b"\x91" * 2_000_000
HOSTILE = {
    "nothing": b"",
    "text": b"\xa1x",
    "a list": b"\x90",
    "half of it": b"\x82\xa7numbers\x90",
    "a list that says to be long": b"\x81\xa7numbers\xdd\xff\xff\xff\xff",
    "a text that says to be long": b"\x81\xa8anything\xdb\xff\xff\xff\xff",
    "a table that says to be long": b"\x81\xa5words\xdf\xff\xff\xff\xff",
    "deep": DEEP,
    "deep where nobody looks": DEEP.replace(b"anything", b"unknowns"),
    "text that is none": b"\x81\xa8anything\xa1\xff",
    "a great number": b"\x81\xa7numbers\x91\xcb\x7f\xf0\0\0\0\0\0\0",
    "something of another kind": msgspec.msgpack.encode({"numbers": ["x" * 1_000_000]}),
    "more than it": b"\x80\x80",
}


@pytest.mark.parametrize("payload", HOSTILE.values(), ids=HOSTILE)
def test_what_does_not_fit_is_a_reason_and_no_exception(payload: bytes) -> None:
    found = read(Wide, payload)
    assert isinstance(found, str)
    assert 0 < len(found) <= 200


def test_whatever_a_type_of_the_reader_raises_is_a_reason_too() -> None:
    class Strict(Typed):
        def __post_init__(self) -> None:
            raise KeyError("not " * 100)

    found = read(Strict, b"\x80")
    assert isinstance(found, str)
    assert found.startswith("KeyError: 'not not")
    assert len(found) <= 200


# Scale


def test_a_thousand_types_and_twenty_levels() -> None:
    level: type[Typed] = Games
    for number in range(20):
        level = program(f"class L{number}(Above): ...", f"level{number}", Above=level)[f"L{number}"]
    names = program("".join(f"class T{number}(Games):\n  x: int = {number}\n" for number in range(1000)))
    assert topic_of(level).count(".") == 21
    assert len(kinds_below(Games)) == 1000 + 20 + 2
    assert read(names["T999"], written(names["T999"](5)).payload) == names["T999"](5)
