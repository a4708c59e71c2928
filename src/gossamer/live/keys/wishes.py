"""What people may ask of an authority, checked: a sentence for every wish that cannot be granted."""

import re
from collections.abc import Iterable

import msgspec

from gossamer.core.errors import Misuse
from gossamer.core.topics import topic
from gossamer.live.config.place import LEVELS_MAX, RADIX_MAX
from gossamer.live.keys.grants import TOPICS_MAX
from gossamer.live.keys.ledger import Issued
from gossamer.live.keys.trust import Name
from gossamer.protocols.hpmcast.addresses import Address

NETWORK_MAX, NODE_MAX, OWNER_MAX = 40, 64, 64
DAYS = 365
"How long a grant is good, unless told otherwise."
DAYS_MAX = 36_500


def named(name: str, longest: int, what: str, option: str) -> str:
    try:
        if len(name) <= longest:
            return msgspec.convert(name, Name)
    except msgspec.ValidationError:
        pass
    raise Misuse(
        f"{name[:80]!r} is no name for a {what}: give {option} with letters, digits, dots, - and _, "
        f"{longest} at most, a letter or digit first"
    )


def validity(days: float | None, before: Issued | None, now_s: float) -> tuple[int, int]:
    """From now on, for as many days as are wished, or as the grant before was good for."""
    if days is None:
        days = (before.not_after_s - before.not_before_s) / 86400 if before else DAYS
    if not 0 < days <= DAYS_MAX:
        raise Misuse(f"--days must be between 1 and {DAYS_MAX:,}, not {days}")
    return int(now_s), int(now_s + days * 86400)


def topics(names: Iterable[str]) -> tuple[str, ...]:
    checked = tuple(dict.fromkeys(map(topic, names)))
    if len(checked) > TOPICS_MAX:
        raise Misuse(f"a grant names {TOPICS_MAX} topics at most: grant topics above them")
    return checked


def changed(before: Iterable[str], more: Iterable[str], less: Iterable[str], option: str) -> tuple[str, ...]:
    """Topics of a grant, with some more and without some: what is not named stays as it was."""
    before, more, less = tuple(before), topics(more), topics(less)
    for each in less:
        if each in more:
            raise Misuse(f"{option} {each} and --no-{option[2:]} {each} contradict each other: give one of them")
        if each not in before:
            raise Misuse(f"--no-{option[2:]} {each}: what was granted is {', '.join(before) or 'nothing'}")
    return topics((*(each for each in before if each not in less), *more))


def label(owner: str) -> str:
    if len(owner) > OWNER_MAX or not owner.isprintable():
        raise Misuse(f"--owner {owner[:80]!r} is not a label: use {OWNER_MAX} printable characters at most")
    return owner


def address(text: str) -> Address:
    """A place in a hierarchy; none, where the text is empty."""
    digits = text.split(".") if text else []
    if all(re.fullmatch("[0-9]{1,10}", each) for each in digits):
        place = tuple(map(int, digits))
        if len(place) <= LEVELS_MAX and max(place, default=0) < RADIX_MAX:
            return place
    raise Misuse(f"--address {text[:80]!r} is no address: write digits with dots between, like 2.0.1")


def chosen(entries: Iterable[Issued], node: str | None, key: str | None) -> list[Issued]:
    """What was issued to a node, to one key, or to one key of a node."""
    found = [each for each in entries if node is None or each.node == node]
    if not found or (node is None and key is None):
        raise Misuse(f"no key was ever issued to {node}: see gossamer keys list" if node else "give --node or --key")
    if key is not None:
        found = [each for each in found if each.fingerprint.hex().startswith(key.lower())]
        if len(key) < 8 or len({each.key for each in found}) != 1:
            raise Misuse(f"{key!r} is not the fingerprint of one key: give at least 8 letters of one that was issued")
    return found
