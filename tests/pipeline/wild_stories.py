"""Runs in which anything may happen, in an order that could be: the same each time."""

import random

KINDS = (
    *("subscribe", "subscribe", "unsubscribe", "publish", "publish", "deliver", "deliver", "deliver", "receive"),
    *("duplicate", "parasite", "relay", "reject", "alive", "role"),
)


FILTERS = ("k==0", "k>=1", "k==0", "k>=1", "k<0", "", "", "k=~0")
"One that nothing matches, and one that is none, among them."


def wild_story(seed: int, filtered: bool = False) -> str:
    """Anything, in an order that could be; `filtered`: with subscriptions that ask for a part."""
    draw = random.Random(seed)
    topics = [".", ".x", ".x.y", ".xy"]
    rows: list[tuple[float, str, str]] = []
    published: list[str] = []
    for name in "abcd":
        for life in range(1, draw.choice([2, 2, 3])):
            who, start = f"{name}/{life}", (life - 1) * 15 + draw.uniform(0, 3)
            *moments, end = sorted(start + draw.uniform(0, 12) for _ in range(draw.randint(4, 16)))
            for number, moment in enumerate(moments):
                kind, topic = draw.choice(KINDS), draw.choice(topics)
                if kind == "publish":
                    published.append(f"{topic} {draw.choice([who, who, name])}:{number}")  # or of its first life
                    told = draw.choice(["", " @k=0", " @k=1", " @k=2", " @"]) if filtered else ""
                    rows.append((moment, who, f"publish {published[-1]}{told}"))
                elif kind in ("subscribe", "unsubscribe"):
                    asked = draw.choice(FILTERS) if filtered else ""
                    rows.append((moment, who, f"{kind} {topic}" + (f" detail={asked}" if asked else "")))
                else:
                    rows.append((moment, who, kind))
            rows += [(start, who, "start"), *([(end, who, "stop")] if draw.random() < 0.6 else [])]
    rows.sort(key=lambda row: row[0])
    return "\n".join(f"{who} {moment:.1f} {wild_words(draw, words, published)}" for moment, who, words in rows)


def wild_words(draw: random.Random, words: str, published: list[str]) -> str:
    if words == "role":
        return draw.choice(["alive", "relay", "relay", "relay .x"])
    if words not in ("deliver", "receive", "duplicate", "parasite", "relay", "reject"):
        return words
    event = draw.choice([*published, *published, ".x e:1", ".xy e:2", ". e:3"])
    return f"{words} {event}" + (" detail=redelivered" if words == "deliver" and draw.random() < 0.2 else "")


WILD = {f"wild {seed}": wild_story(seed) for seed in range(12)}
FILTERED = {f"filtered {seed}": wild_story(seed, filtered=True) for seed in range(100, 116)}
