"""Topics as types: a class is a topic, its objects are events, and what a class is below of, its topic is below of.

class Sport(Typed): ...                        # .sport
class Soccer(Sport):                           # .sport.soccer
    team: str
    minute: Annotated[int, Filterable]
class Derby(Soccer, parents=(City,)): ...      # .sport.soccer.derby, which also lies below .city
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, dataclass_transform

from msgspec import Struct, StructMeta, field

from gossamer.core.errors import Misuse
from gossamer.core.topics import ROOT, Topic, named_super, no_wildcard, topic
from gossamer.core.typed_fields import check_fields, check_filterable

PARENTS_MAX = 16
"Super-topics a type may have beside the one its name tells."

UNFIT = {
    "array_like": "readers know the fields by their names",
    "forbid_unknown_fields": "who knows only a type above could not read it",
    "omit_defaults": "who knows only a type above may have other defaults",
    "tag": "its topic says what it is",
}
"What a struct may be, and a type may not, and why."

LAYOUT = "lay-out conflict"
TWO_BASES = "two of its bases have fields: keep one of them, and name the other among its parents"


class Declared:
    """What a class says of its topic."""

    def __init__(self, of: "TypedMeta", at: Topic, supers: "tuple[TypedMeta, ...]") -> None:
        self.name = f"{of.__module__}.{of.__qualname__}"
        self.topic = at
        self.above: dict[TypedMeta, None] = {of: None}
        "The class itself, and all that it is below of."
        for each in supers:
            self.above |= each.__declared__.above
        told = named_above(at)
        self.further = tuple(dict.fromkeys(d.topic for each in supers if (d := each.__declared__).topic not in told))
        "Super-topics that the name does not tell."
        self.parents: dict[Topic, tuple[Topic, ...]] = {at: self.further} if self.further else {}
        "The same of the class and of all above."
        for each in supers:
            self.parents |= each.__declared__.parents


@dataclass_transform(field_specifiers=(field,))  # said here, so that `Typed` is neither frozen nor not
class TypedMeta(StructMeta):
    """Gives every class its topic as it is defined."""

    __declared__: Declared

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        topic: str | None = None,
        parents: "Iterable[TypedMeta]" = (),
        **options: Any,
    ) -> "TypedMeta":
        try:
            made: TypedMeta = super().__new__(mcls, name, bases, namespace, **options)
        except (TypeError, ValueError) as wrong:
            raise Misuse(f"{name} cannot be a type: {TWO_BASES if LAYOUT in str(wrong) else wrong}") from wrong
        declare(made, topic, parents)
        return made


_types: dict[Topic, TypedMeta] = {}
"Every type of the program, by its topic. One that is defined again, as by a reload, takes the place of the former."
_inner: dict[Topic, TypedMeta] = {}
"Topics above those, as the names tell it, and the first type of which each is one."


def declare(made: TypedMeta, said: str | None, parents: Iterable[TypedMeta]) -> None:
    """Gives a class its topic, if it may have it; Misuse otherwise."""
    bases = tuple(each for each in made.__bases__ if isinstance(each, TypedMeta))
    if not isinstance(parents, tuple | list) or not all(isinstance(each, TypedMeta) for each in parents):
        raise Misuse(f"parents of {made.__name__} are classes that are Typed, as in parents=(City,)")
    declared = Declared(made, _topic(made, said, bases), (*bases, *parents))
    _check_options(made)
    for each in (*bases, *parents):
        check_fields(made, each)
    check_filterable(made)
    _check_place(declared)
    if len(declared.further) > PARENTS_MAX:
        raise Misuse(f"{declared.name} has {len(declared.further)} further parents: name the nearest {PARENTS_MAX}")
    made.__declared__ = declared
    _types[declared.topic] = made
    for above in named_above(declared.topic):
        _inner.setdefault(above, made)


def _topic(made: TypedMeta, said: str | None, bases: tuple[TypedMeta, ...]) -> Topic:
    if said is not None:
        return no_wildcard(topic(said))
    if not bases:
        return ROOT
    return topic(f"{bases[0].__declared__.topic.rstrip('.')}.{made.__name__.lower()}")


def named_above(name: Topic) -> list[Topic]:
    """The topics above one, as its name tells them, nearest first."""
    found: list[Topic] = []
    while (above := named_super(name)) is not None:
        found.append(above)
        name = above
    return found


def _check_options(made: TypedMeta) -> None:
    for option, why in UNFIT.items():
        if getattr(made.__struct_config__, option) not in (False, None):
            raise Misuse(f"{made.__name__} is Typed, and cannot have {option}: {why}; leave it out")


def _check_place(declared: Declared) -> None:
    """One topic, one type; and what the names tell of topics, the classes tell too."""
    at, name = declared.topic, declared.name
    former = _types.get(at)
    if former is not None and former.__declared__.name != name:
        raise Misuse(
            f"{name} and {former.__declared__.name} have one topic, {at}: "
            "rename one of them, or say topic=… in its class"
        )
    mine = {each.__declared__.topic for each in [*declared.above][1:]}
    for each in named_above(at):
        if each in _types and each not in mine:
            raise _apart(declared, _types[each].__declared__)
    if former is None and at in _inner:
        raise _apart(_inner[at].__declared__, declared)
    if former is not None:
        _check_circle(declared)


def _check_circle(declared: Declared) -> None:
    """A class that is defined again may be above what it now wants to be below of; no other can."""
    seen: set[Topic] = set()
    ahead = [*declared.further]
    while ahead:
        each = ahead.pop()
        if each == declared.topic:
            raise Misuse(f"{declared.name} would lie below itself: have no base and no parent that lies below {each}")
        if each not in seen:
            seen.add(each)
            ahead += (*named_above(each), *(_types[each].__declared__.further if each in _types else ()))


def _apart(narrow: Declared, wide: Declared) -> Misuse:
    return Misuse(
        f"{narrow.topic} lies below {wide.topic}, but {narrow.name} is not below {wide.name}: "
        "make that its base or one of its parents, or say another topic=… in one of the classes"
    )


class Typed(Struct, metaclass=TypedMeta, dict=True):
    """The base of all types. It has no methods and no fields: those of a subclass may have any name."""

    if TYPE_CHECKING:  # msgspec's options, and ours

        def __init_subclass__(
            cls, *, topic: str | None = None, parents: "Iterable[type[Typed]]" = (), **options: Any
        ) -> None: ...


T = TypeVar("T", bound=Typed)


def topic_of(kind: type[Typed]) -> Topic:
    """The topic of a type."""
    if not isinstance(kind, TypedMeta):
        raise Misuse(f"a type is a class that is Typed, as in `class Sport(gossamer.Typed)`, not {kind!r}")
    return kind.__declared__.topic


def types_below(kind: type[Typed]) -> list[TypedMeta]:
    """All types whose events readers of this one get, itself among them."""
    return [kind, *(each for each in _types.values() if each is not kind and kind in each.__declared__.above)]


def kinds_below(kind: type[T]) -> dict[Topic, type[T]]:
    """What events of this type and of those below are read as: each as itself, or, where it has the type only among its
    `parents`, as the nearest that is one."""
    found: dict[Topic, type[T]] = {topic_of(kind): kind}
    for each in types_below(kind):
        fit = [above for above in each.__declared__.above if issubclass(above, kind)]
        found[each.__declared__.topic] = max(fit, key=lambda one: len(one.__mro__))
    return found


# What the types say of the hierarchy of topics

Parents: TypeAlias = Mapping[Topic, tuple[Topic, ...]]
NO_PARENTS: Parents = {}


def parents_above(kind: type[Typed]) -> Parents:
    """Further super-topics of a type and of those above: where its events must climb."""
    return kind.__declared__.parents


def parents_below(kind: type[Typed]) -> Parents:
    """Further super-topics of the types below one: whose events must climb to it."""
    return _further(types_below(kind)[1:])


def _further(kinds: Iterable[TypedMeta]) -> Parents:
    return {declared.topic: declared.further for each in kinds if (declared := each.__declared__).further}


def with_types(parents: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What a file says of super-topics, and what the types of the program add; Misuse where they differ."""
    for at, supers in parents.items():
        if (kind := _types.get(at)) is not None and {*supers} != {*kind.__declared__.further}:
            raise disagree(kind.__declared__.name, at, kind.__declared__.further, supers)
    return {**parents, **_further(_types.values())}


def check_parents(told: Parents, known: Parents) -> None:
    """Misuse where the types of a program say more than the node knows that carries their events."""
    for at, further in told.items():
        if {*known.get(at, ())} != {*further}:
            raise disagree("its class", at, further, known.get(at, ()))


def disagree(who: str, at: Topic, told: Iterable[str], known: Iterable[str]) -> Misuse:
    return Misuse(
        f"{at} lies below {' and '.join(sorted(told)) or 'no further topic'} as {who} says, and below "
        f"{' and '.join(sorted(known)) or 'no further topic'} as the node's hierarchy.parents says: "
        "say the same in both, and start the node once the class is defined"
    )
