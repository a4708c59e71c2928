"""What is done to whom, and when: a plan for every scenario and seed. The same seed is the same plan; what the
processes make of it depends on the machine too."""

import random
from collections.abc import Callable
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from benchmarks.faults.parts import TOPIC, Part, Publishing, Reading

P, A, B, C, R, S = "publisher", "anna", "bert", "cleo", "reader", "second"
NODES = (P, A, B, C)
MEMBERS = (A, B, C)
DAYS_S = 2 * 86400
MANY = 64
"Events in hand where there are thousands: each acknowledgement is a commit, and a disk has few of these a second."
Rng = random.Random


class Strike(Struct, frozen=True):
    at_s: float
    "After publishing began."
    what: str
    who: tuple[str, ...] = ()
    value: Any = None


class Plan(Struct, kw_only=True):
    parts: list[Part]
    strikes: list[Strike] = field(default_factory=list)
    lost: frozenset[str] = frozenset()
    "Processes that never come back: only what they handed over is promised."
    torn: frozenset[str] = frozenset()
    "Processes whose disk forgot something: they may be given again what they acknowledged."
    needs: str = ""
    "What the machine must allow: `root`, `nft`, `faketime`."
    small: str = ""
    "Whose spool lies on a disk of its own, which is small."
    apart: tuple[tuple[str, ...], ...] = ()
    "Who lives in which network, where there are several."
    spread: str = "camcast"


def crew(second_publisher: Publishing | None = None, **publishing: Any) -> list[Part]:
    """Four nodes, of which three read, and a client of one of them."""
    return [
        Part(P, publishing=Publishing(**publishing)),
        Part(A, reading=Reading("billing")),
        Part(B, reading=Reading("billing", lag=0)),
        Part(C, reading=Reading("billing", lag=12), publishing=second_publisher),
        Part(R, attach=B, reading=Reading("accounts")),
    ]


def killed(rng: Rng, who: str, from_s: float = 0.1, to_s: float = 1.8) -> list[Strike]:
    """Killed at any moment, and started again some moments later."""
    at_s = rng.uniform(from_s, to_s)
    return [Strike(at_s, "kill", (who,)), Strike(at_s + rng.uniform(0.05, 0.8), "start", (who,))]


def kill_publisher(rng: Rng) -> Plan:
    return Plan(parts=crew(), strikes=killed(rng, P, 0.1, 0.8) + killed(rng, P, 1.7, 2.0))


def kill_member(rng: Rng) -> Plan:
    one, other = rng.sample(MEMBERS, 2)
    return Plan(parts=crew(), strikes=killed(rng, one) + killed(rng, other))


def kill_reader(rng: Rng) -> Plan:
    return Plan(parts=crew(), strikes=killed(rng, R, 0.1, 0.8) + killed(rng, R, 1.6, 2.0))


def kill_any(rng: Rng) -> Plan:
    """The bar: any process, at any point."""
    strikes = [each for who in rng.sample((*NODES, R), 3) for each in killed(rng, who)]
    return Plan(parts=crew(second_publisher=Publishing(count=80, per_s=40.0)), strikes=strikes)


def power_cut(rng: Rng) -> Plan:
    everybody, at_s = (*NODES, R), rng.uniform(0.3, 1.8)
    return Plan(parts=crew(), strikes=[Strike(at_s, "kill", everybody), Strike(at_s + 0.2, "start", everybody)])


def handed_then_cut(rng: Rng) -> Plan:
    """All at once, the moment `handed_over()` said yes; and the publisher never comes back."""
    everybody = (*NODES, R)
    return Plan(
        parts=crew(count=400, per_s=2000.0, burst=32, body=20_000),
        strikes=[
            Strike(0.0, "until handed", (P,), rng.randint(1, 4)),
            Strike(0.0, "kill", everybody),
            Strike(0.2, "start", (*MEMBERS, R)),
        ],
        lost=frozenset({P}),
    )


def pause(rng: Rng) -> Plan:
    who, at_s = rng.choice(NODES), rng.uniform(0.1, 1.5)
    return Plan(parts=crew(), strikes=[Strike(at_s, "stop", (who,)), Strike(at_s + rng.uniform(1, 4), "go on", (who,))])


def away(rng: Rng) -> Plan:
    """In good order: it leaves, a hundred events are published, it returns. On any spread."""
    who, at_s = rng.choice(MEMBERS), rng.uniform(0.2, 0.8)
    strikes = [Strike(at_s, "leave", (who,)), Strike(at_s + 1.2, "start", (who,))]
    return Plan(parts=crew(), strikes=strikes, spread=rng.choice(("camcast", "spidercast", "dispatch", "hpmcast")))


def away_above(rng: Rng) -> Plan:
    """The sole reader of the topic above is away; what was published below must climb to it afterwards."""
    below = f"{TOPIC}.eu"
    parts = [
        Part(P, publishing=Publishing(topic=below)),
        Part(A, reading=Reading("billing")),
        Part(B, reading=Reading("billing", topic=below)),
        Part(C, reading=Reading("billing", topic=below)),
        Part(R, attach=B, reading=Reading("accounts", topic=below)),
    ]
    at_s = rng.uniform(0.1, 0.6)
    word = rng.choice(("leave", "kill"))
    return Plan(parts=parts, strikes=[Strike(at_s, word, (A,)), Strike(at_s + 1.2, "start", (A,))])


def filtered(rng: Rng) -> Plan:
    """A subscription with a filter, killed and away."""
    parts = crew()
    parts[1] = Part(A, reading=Reading("billing", where="number >= 100"))
    return Plan(parts=parts, strikes=killed(rng, A, 0.2, 1.2), spread=rng.choice(("camcast", "dispatch")))


def share(rng: Rng) -> Plan:
    """Two clients with one name: each event goes to one of them; one is killed."""
    parts = [
        *crew()[:3],
        Part(R, attach=B, reading=Reading("accounts")),
        Part(S, attach=B, reading=Reading("accounts")),
    ]
    return Plan(parts=parts, strikes=killed(rng, S))


def full_member(rng: Rng) -> Plan:
    """Its client is away meanwhile: what the member could not keep it must have fetched when the client is back."""
    full_s, free_s = rng.uniform(0.2, 0.6), rng.uniform(1.8, 2.4)
    strikes = [Strike(full_s - 0.1, "kill", (R,)), Strike(full_s, "fill", (B,))]
    strikes += [Strike(free_s, "free", (B,)), Strike(free_s + 0.5, "start", (R,))]
    return Plan(parts=crew(body=2000), strikes=strikes, small=B, needs="root")


def full_publisher(rng: Rng) -> Plan:
    strikes = [Strike(rng.uniform(0.2, 0.6), "fill", (P,)), Strike(rng.uniform(1.5, 2.0), "free", (P,))]
    return Plan(parts=crew(body=2000), strikes=strikes, small=P, needs="root")


def half_written(rng: Rng) -> Plan:
    """Behind the last commit there is rubbish, as a write leaves that a loss of power cut short."""
    who, at_s = rng.choice(NODES), rng.uniform(0.3, 1.6)
    what = [Strike(at_s, "kill", (who,)), Strike(at_s + 0.1, "scribble", (who,), rng.randint(1, 9000))]
    return Plan(parts=crew(), strikes=[*what, Strike(at_s + 0.2, "start", (who,))])


def torn(rng: Rng) -> Plan:
    """The end of the log is gone: a disk that said it had written, and had not."""
    who, at_s = rng.choice(MEMBERS), rng.uniform(0.5, 1.6)
    what = [Strike(at_s, "kill", (who,)), Strike(at_s + 0.1, "tear", (who,), rng.randint(1, 16_000))]
    forgot = frozenset({who, R}) if who == B else frozenset({who})
    return Plan(parts=crew(), strikes=[*what, Strike(at_s + 0.2, "start", (who,))], torn=forgot)


def descriptors(rng: Rng) -> Plan:
    """A node has no file descriptor left while another comes back to it."""
    who, other = rng.sample(MEMBERS, 2)
    at_s = rng.uniform(0.1, 0.6)
    return Plan(
        parts=crew(),
        strikes=[
            Strike(at_s, "no descriptors", (who,)),
            Strike(at_s + 0.1, "kill", (other,)),
            Strike(at_s + 0.3, "start", (other,)),
            Strike(at_s + 1.5, "descriptors", (who,)),
        ],
    )


def clock_at_start(rng: Rng) -> Plan:
    who, at_s = rng.choice(NODES), rng.uniform(0.3, 1.5)
    wrong = rng.choice((DAYS_S, -DAYS_S))
    strikes = [Strike(at_s, "kill", (who,)), Strike(at_s + 0.2, "start", (who,), wrong)]
    return Plan(parts=crew(), strikes=strikes, needs="faketime")


def clock_jump(rng: Rng) -> Plan:
    """It jumps while the node runs, and has come back when the node is killed and started."""
    who, at_s = rng.choice(NODES), rng.uniform(0.2, 0.8)
    wrong = rng.choice((DAYS_S, -DAYS_S))
    strikes = [
        Strike(at_s, "clock", (who,), wrong),
        Strike(at_s + 0.8, "kill", (who,)),
        Strike(at_s + 1.0, "start", (who,), rng.choice((0, wrong))),
    ]
    return Plan(parts=crew(), strikes=strikes, needs="faketime")


def partition(rng: Rng) -> Plan:
    """Both halves publish while they cannot hear each other, more than is asked for after one gap; and in each there
    are as many members as are wanted, so that no outbox helps."""
    much = Publishing(count=1600, per_s=400.0, burst=16)
    sides = ((P, A, "abel", "ada"), (C, B, "bela", "bob"))
    parts = [
        Part(name, reading=Reading("billing", lag=MANY), publishing=much if name in (P, C) else None)
        for name in (*sides[0], *sides[1])
    ]
    at_s = rng.uniform(0.1, 0.4)
    strikes = [Strike(at_s, "cut"), Strike(at_s + rng.uniform(3.0, 5.0), "heal")]
    return Plan(parts=parts, strikes=strikes, apart=sides, needs="root")


def reset_cut(rng: Rng) -> Plan:
    """The same, where every packet across is answered with a reset: links end at once, and calls are refused."""
    return by_reset(partition(rng))


def by_reset(made: Plan) -> Plan:
    strikes = [replace(each, value="reset") if each.what == "cut" else each for each in made.strikes]
    return replace(made, strikes=strikes, needs="nft")


def churn(rng: Rng) -> Plan:
    """Every two seconds somebody is killed, for two minutes, and is back some moments later. Publishers too."""
    names = [P, A, B, C, "abel", "ada", "bela", "bob"]
    much = Publishing(count=1500, per_s=15.0)
    parts = [Part(name, reading=Reading("billing"), publishing=much if name in (P, C) else None) for name in names]
    strikes = [each for turn in range(60) for each in killed(rng, rng.choice(names), 2.0 * turn, 2.0 * turn + 0.5)]
    return Plan(parts=parts, strikes=strikes)


def long_cut(rng: Rng) -> Plan:
    """A minute apart, at a hundred events a second on each side."""
    made = partition(rng)
    much = Publishing(count=6100, per_s=100.0, burst=10)
    parts = [replace(part, publishing=much) if part.publishing else part for part in made.parts]
    return replace(made, parts=parts, strikes=[Strike(0.5, "cut"), Strike(60.5, "heal")])


def long_reset(rng: Rng) -> Plan:
    return by_reset(long_cut(rng))


def named(*makers: Callable[[Rng], Plan]) -> dict[str, Callable[[Rng], Plan]]:
    return {make.__name__.replace("_", "-"): make for make in makers}


SCENARIOS = named(
    *(kill_publisher, kill_member, kill_reader, kill_any, power_cut, handed_then_cut, pause, away, away_above),
    *(filtered, share, full_member, full_publisher, half_written, torn, descriptors, clock_at_start, clock_jump),
    *(partition, reset_cut),
)
LONG = named(churn, long_cut, long_reset)
"They take minutes, so they are run when they are asked for by name."


def make(scenario: str, seed: int) -> Plan:
    return {**SCENARIOS, **LONG}[scenario](random.Random(f"{scenario} {seed}"))
