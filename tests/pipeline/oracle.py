"""The audit's definitions once more, in plain Python over a list of lines: slow, and nothing in common with Spark's."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from gossamer.core.errors import Misuse
from gossamer.core.events import asked_of
from gossamer.core.filters import parse
from gossamer.core.ids import peer_of
from gossamer.core.topics import Hierarchy
from pipeline.stories import Told

GRACE_US = 2_000_000
HIERARCHY = Hierarchy()
COPIES = ("receive", "deliver", "duplicate", "recover", "parasite", "relay")

Event = tuple[int, int, int]
Life = tuple[str, int]


class Spell(NamedTuple):
    topic: str
    why: str
    from_us: int
    to_us: int
    where: str | None = None

    def asks(self, asked: dict[str, Any] | None) -> bool | None:
        """Whether it is about an event of which it may ask this; None: nobody knows."""
        if self.where is None:
            return True
        try:
            return None if asked is None else parse(self.where).matches(asked)
        except Misuse:
            return None


class Story:
    """One run."""

    def __init__(self, told: Iterable[Told], number: Callable[[str], int] = peer_of) -> None:
        self.number = number
        self.lives: dict[Life, list[Told]] = defaultdict(list)
        for each in told:
            self.lives[each.name, each.life].append(each)
        self.rows = [row for rows in self.lives.values() for row in rows]
        self.nodes = sorted({name for name, _ in self.lives})
        self.spells = {name: list(self.find_spells(name)) for name in self.nodes}
        self.events = {row.event: "" for row in self.rows if row.event and row.kind in ("publish", "deliver")}
        for event in self.events:
            self.events[event] = self.topic_of(event)
        told_first = sorted(self.rows, key=lambda row: (row.at_us, row.life), reverse=True)
        self.asked = {row.event: asked_of(row.columns["attributes"], self.events[row.event], row.event[0], row.at_us)
                      for row in told_first
                           if row.kind == "publish" and row.event and "attributes" in row.columns
                           and number(row.name) == row.event[0]}  # fmt: skip

    def end(self, life: Life) -> tuple[int, bool]:
        """When a life ended, and whether in good order."""
        stops = [row.at_us for row in self.lives[life] if row.kind == "stop"]
        return (stops[0], True) if stops else (max(row.at_us for row in self.lives[life]), False)

    def find_spells(self, name: str) -> Iterator[Spell]:
        for life, rows in self.lives.items():
            if life[0] != name:
                continue
            end, _ = self.end(life)
            for at, row in enumerate(rows):
                topic = row.columns.get("topic")
                if row.kind == "subscribe":
                    where = row.columns.get("detail")
                    ends = [r.at_us for r in rows[at:] if r.kind == "unsubscribe"
                            and (r.columns["topic"], r.columns.get("detail")) == (topic, where)]  # fmt: skip
                    yield Spell(topic, "subscribe", row.at_us, min([*ends[:1], end]), where)
                elif row.kind == "publish":
                    yield Spell(topic, "publish", row.at_us, end)
                elif row.kind == "relay" and row.event is None:
                    yield Spell(topic or ".", "relay", row.at_us, end)

    def came_back(self, row: Told) -> bool:
        return any(name == row.name and life > row.life for name, life in self.lives)

    def topic_of(self, event: Event) -> str:
        topics = sorted((row.kind != "publish", row.columns["topic"]) for row in self.rows
                        if row.event == event and row.kind in ("publish", "deliver"))  # fmt: skip
        return topics[0][1]

    def published(self, event: Event) -> tuple[int, bool]:
        """When, and whether that is sure."""
        first = [row.at_us for row in self.rows if row.event == event and row.kind == "publish"
                 and not (self.number(row.name) == event[0] and row.life > event[1])]  # fmt: skip
        later = [row.at_us for row in self.rows if row.event == event and row.kind == "publish"]
        other = [row.at_us for row in self.rows if row.event == event and row.kind == "deliver"]
        return min(first or later or other), bool(first)

    def promised(self, event: Event) -> bool:
        for row in self.rows:
            if row.event == event and row.kind == "publish":
                end, good = self.end((row.name, row.life))
                if good or end >= row.at_us + GRACE_US or self.came_back(row):
                    return True
        return False

    def covered(self, name: str, event: Event, moment_us: int, *whys: str, margin_us: int = 0) -> set[bool | None]:
        """What the spells of that moment say of the event, if there are any: it is wanted, it is not, or who knows."""
        topic, asked = self.events.get(event, ""), self.asked.get(event)
        return {spell.asks(asked) for spell in self.spells[name]
                if spell.why in whys and HIERARCHY.includes(spell.topic, topic)
                and spell.from_us - margin_us <= moment_us <= spell.to_us + margin_us}  # fmt: skip

    def subscribed(self, name: str, event: Event, from_us: int, to_us: int) -> tuple[bool, bool, bool]:
        """Whether for all of this time, whether for any of it, and whether perhaps: it is looked at wherever something
        may change."""
        changes = [at for spell in self.spells[name] for at in (spell.from_us, spell.to_us, spell.to_us + 1)]
        moments = [from_us, to_us, *(at for at in changes if from_us <= at <= to_us)]
        held = [self.covered(name, event, at, "subscribe") for at in moments]
        return (
            all(True in each for each in held),
            any(True in each for each in held),
            any(None in each for each in held),
        )

    def audit(self) -> Counter[str]:
        found: Counter[str] = Counter(events=len(self.events))
        for event, topic in self.events.items():
            at, timed = self.published(event)
            found["promised"] += self.promised(event)
            for name in self.nodes:
                self.judge_pair(found, event, topic, at, timed, name)
        self.judge_copies(found)
        return +found

    def judge_pair(self, found: Counter[str], event: Event, topic: str, at: int, timed: bool, name: str) -> None:
        got = [row for row in self.rows if (row.name, row.kind, row.event) == (name, "deliver", event)]
        marked = [row for row in got if str(row.columns.get("detail")).startswith("redelivered")]
        whole, some, perhaps = self.subscribed(name, event, at - GRACE_US, at + GRACE_US)
        found["expected"] += whole
        found["in_doubt"] += (some or perhaps) and not whole
        found["unmatched"] += perhaps and not whole
        found["delivered"] += whole and bool(got)
        found["missing"] += whole and not got
        found["broken"] += whole and not got and self.promised(event)
        found["redelivered"] += len(marked)
        found["duplicates"] += max(0, len(got) - len(marked) - 1)
        if got and timed and (some or perhaps) and self.number(name) != event[0]:
            found["negative_latencies"] += min(row.at_us for row in got) < at

    def judge_copies(self, found: Counter[str]) -> None:
        pairs: dict[str, set[tuple[str, Event]]] = defaultdict(set)
        for row in self.rows:
            topic = self.events.get(row.event or (0, 0, 0)) or row.columns.get("topic")
            if row.kind in COPIES and row.event and topic:
                self.events.setdefault(row.event, topic)
                pairs[self.judge_copy(row, row.event)].add((row.name, row.event))
        found.update({f"{kind}s": len(those) for kind, those in pairs.items() if kind != "wanted"})

    def judge_copy(self, row: Told, event: Event) -> str:
        """A delivery is for who subscribes; bytes are for who publishes, too."""
        member = ("subscribe",) if row.kind == "deliver" else ("subscribe", "publish")
        wanted = bool({True, None} & self.covered(row.name, event, row.at_us, *member))
        excused = row.kind == "relay" or (not wanted and row.kind != "deliver")
        if excused and self.covered(row.name, event, row.at_us, "relay"):
            return "relay"
        if wanted:
            return "parasite" if row.kind == "parasite" else "wanted"
        near = {True, None} & self.covered(row.name, event, row.at_us, *member, margin_us=GRACE_US)
        return "stray" if near else "parasite"
