"""What `publish` and `subscribe` are given, looked at before anything is sent: by a node and by a client alike.

Every mistake is one sentence, and nothing passes that a node could not read from its client.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from gossamer.core import topics
from gossamer.core.errors import Misuse
from gossamer.core.events import ASKED_BESIDES, Attribute
from gossamer.core.typed import NO_PARENTS, Parents
from gossamer.live.keys.trust import Act
from gossamer.live.links.control import KEY_MAX, NAME_MAX, PATIENCE_MAX_S, TYPES_MAX
from gossamer.live.reading.bookmarks import Bookmark, bookmark_for
from gossamer.wire.sealed import ATTRIBUTE_NAME_MAX, ATTRIBUTES_MAX, HEAD_BYTES_MAX

if TYPE_CHECKING:
    from gossamer.core.filters import Filter


class Publication(NamedTuple):
    """An event to be."""

    topic: topics.Topic
    payload: bytes
    attributes: dict[str, Attribute]
    key: str | None
    climb: float | None = None
    parents: Parents = NO_PARENTS
    "Further super-topics of its topic and of those above, as the types of the program say: the node must know them."


class Subscription(NamedTuple):
    """What a reader wants to have."""

    topic: topics.Topic
    filter: "Filter | None"
    name: str
    from_start: bool
    ordered: bool
    recover: bool
    bookmark: Bookmark | None
    parents: Parents
    "Further super-topics of those below its topic, as the types of the program say."

    @property
    def where(self) -> str:
        return "" if self.filter is None else self.filter.text


def publication(
    topic: str,
    payload: bytes | str,
    attributes: Mapping[str, Attribute] | None,
    key: str | None,
    climb: float | None = None,
    parents: Parents = NO_PARENTS,
) -> Publication:
    """An empty key is refused: it comes of a variable that nobody has set, and would make all events one."""
    named = None if key is None else name_of("a key", key, 1, KEY_MAX)
    chance = chance_of(climb)
    wide, data, told = topic_of(topic), payload_of(payload), attributes_of(attributes)
    return Publication(wide, data, told, named, chance, parents_of(parents))


def chance_of(climb: float | None) -> float | None:
    if climb is None:
        return None
    if isinstance(climb, bool) or not isinstance(climb, int | float) or not 0 <= climb <= 1:
        raise Misuse(f"climb is a chance between 0 and 1, not {climb!r}; leave it out for what the community has")
    return float(climb)


def subscription(
    topic: str,
    where: "str | Filter",
    name: str,
    from_start: bool = False,
    ordered: bool = False,
    recover: bool = True,
    bookmark: Bookmark | str | None = None,
    parents: Parents = NO_PARENTS,
) -> Subscription:
    for choice, value in {"from_start": from_start, "ordered": ordered, "recover": recover}.items():
        if type(value) is not bool:
            raise Misuse(f"{choice} is True or False, not {type(value).__name__}")
    wide, filter, name = topic_of(topic), filter_of(where), subscription_name(name)
    mark = bookmark_for(bookmark, name, wide, "" if filter is None else filter.text)
    return Subscription(wide, filter, name, from_start, ordered, recover, mark, parents_of(parents))


def subscription_name(name: str, least: int = 0) -> str:
    return name_of("a subscription's name", name, least, NAME_MAX)


def patience_of(patience_s: float) -> float:
    if not 0 <= patience_s <= PATIENCE_MAX_S:
        raise Misuse(f"patience_s is at least 0 and at most {PATIENCE_MAX_S:.0f}, a day, not {patience_s}")
    return patience_s


def parents_of(parents: Parents) -> Parents:
    if len(parents) > TYPES_MAX:
        raise Misuse(
            f"{len(parents)} types have further parents, and at most {TYPES_MAX} can be told: subscribe further down"
        )
    return parents


def topic_of(name: str) -> topics.Topic:
    return plain(topics.no_wildcard(topics.topic(name)))


def payload_of(payload: bytes | str) -> bytes:
    if isinstance(payload, str):
        if not is_utf8(payload):
            raise Misuse("the payload has letters that UTF-8 cannot write: give it as bytes")
        return payload.encode()
    if type(payload) is not bytes:
        raise Misuse(f"a payload is bytes or text, not {type(payload).__name__}: encode it first")
    return payload


def attributes_of(attributes: Mapping[str, Attribute] | None) -> dict[str, Attribute]:
    """Attributes as they may travel."""
    if not isinstance(attributes, Mapping | None):
        raise Misuse(f"attributes are a dictionary like {{'minute': 88}}, not {type(attributes).__name__}")
    if attributes and len(attributes) > ATTRIBUTES_MAX:
        raise Misuse(
            f"an event has at most {ATTRIBUTES_MAX} attributes, not {len(attributes)}: put them into the payload"
        )
    named = {
        name_of("an attribute's name", name, 1, ATTRIBUTE_NAME_MAX): value for name, value in (attributes or {}).items()
    }
    if wrong := [name for name in ASKED_BESIDES if name in named]:
        raise Misuse(
            f"no attribute is called {wrong[0]}: filters ask by that what every event has; choose another name"
        )
    return {name: value_of(name, value) for name, value in named.items()}


def value_of(name: str, value: Attribute) -> Attribute:
    """The number or text itself, also where it comes as more: as a member of an enumeration, or from NumPy."""
    if isinstance(value, str):
        if not is_utf8(value):
            raise Misuse(f"attribute {name!r} has letters that UTF-8 cannot write: put it into the payload as bytes")
        return plain(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise Misuse(f"attribute {name!r} does not fit 64 bits: use text")
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    raise Misuse(f"attribute {name!r} is {type(value).__name__}: use str, int, float or bool")


def name_of(what: str, name: str, least: int, most: int) -> str:
    if not isinstance(name, str):
        raise Misuse(f"{what} is text of up to {most} letters, not {type(name).__name__}")
    if not least <= len(name) <= most:
        raise Misuse(f"{what} has {max(1, least)} to {most} letters, not {len(name)}: choose another")
    if not is_utf8(name):
        raise Misuse(f"{what} has letters that UTF-8 cannot write: choose another")
    return plain(name)


def filter_of(where: "str | Filter") -> "Filter | None":
    """What a subscription asks of attributes; None: nothing. Says what is wrong with a text that is no filter."""
    if isinstance(where, str) and not where:
        return None
    from gossamer.core.filters import Filter, parse  # a node that filters nothing need not load the grammar

    if isinstance(where, Filter):
        return where
    if not isinstance(where, str):
        raise Misuse(f"where is a filter in words like 'price > 100', not {type(where).__name__}")
    return parse(where)


def not_granted(name: str, act: Act, topic: topics.Topic) -> Misuse:
    return Misuse(
        f"the grant of {name} does not let it {act} {'to' if act == 'subscribe' else 'on'} {topic}: "
        f"`gossamer keys grant NETWORK --node {name} --{act} {topic}` makes one that does"
    )


def too_large(head: bytes, payload: bytes, most: int) -> Misuse | None:
    """What is wrong with an event of this head and payload; None: nothing."""
    size = len(head) + len(payload)
    if size <= most and len(head) <= HEAD_BYTES_MAX:
        return None
    return Misuse(
        f"an event of {size} bytes is too large, at most {most} (and {HEAD_BYTES_MAX >> 10} KiB of attributes) "
        "may be published: put the data elsewhere and publish where it is"
    )


def is_utf8(text: str) -> bool:
    """Half a surrogate pair is a letter to Python, and to nobody else."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def plain(text: str) -> str:
    """The text itself of what is more than text, such as a member of an enumeration."""
    return str.__str__(text)
