"""What the paper on epidemic recovery says about its parameters: buffers, intervals, what to discard, how far to go."""

from itertools import pairwise

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import Claim, above, measured_share, number, share, verdict
from gossamer.lab.papers.epidemic_delivery import GOOD


def longest_s(book: Book, cache: int, method: str) -> float:
    """The longest interval at which this cache still delivers well, by what any does; 0: none."""
    best = max(line.mean for line in book.series("epidemic/buffers", ALL, "delivery", method=method))
    lines = book.series("epidemic/buffers", ALL, "delivery", cache=cache, method=method)
    return max((line.point["recovery.interval_s"] for line in lines if line.mean >= GOOD * best), default=0.0)


def buffer_for_interval(book: Book) -> Claim:
    caches = (200, 400, 800, 1600)
    spans = {method: [longest_s(book, cache, method) for cache in caches] for method in ("push", "combined")}
    grows = {method: span[-1] > span[0] and span == sorted(span) for method, span in spans.items()}
    lines = book.series("epidemic/buffers", ALL, "delivery", cache=caches[-1], method="push")
    return Claim(
        id="buffer-against-interval",
        where="5",
        paper_says="A bigger buffer lets events persist longer, and hence enables less frequent gossiping.",
        ours="; ".join(
            f"{method}: T up to "
            + " / ".join(f"{number(each)} s" if each else "none" for each in span)
            + f" with {' / '.join(map(str, caches))} events"
            for method, span in spans.items()
        ),
        ci95=max(line.ci95 for line in lines),
        runs=lines[0].runs,
        verdict=verdict(all(grows.values())),
        why=f"The longest interval that still delivers {GOOD:.0%} of the best must never shrink as the buffer grows, "
        "and be longer with the largest than with the smallest, for push and for combined pull.",
    )


def kept(book: Book, old: str, new: str) -> dict[str, tuple[Line, Line]]:
    """Delivery with one policy and with another."""
    return {
        method: (
            book.find("epidemic/policies", ALL, "delivery", case=old, method=method),
            book.find("epidemic/policies", ALL, "delivery", case=new, method=method),
        )
        for method in ("push", "combined")
    }


def from_to(pairs: dict[str, tuple[Line, Line]]) -> str:
    return " · ".join(f"{name} {measured_share(old)} → {measured_share(new)}" for name, (old, new) in pairs.items())


def discard_by_chance(book: Book) -> Claim:
    pairs = kept(book, "oldest first", "by chance")
    helps = any(above(new, old) for old, new in pairs.values())
    return Claim(
        id="discard-by-chance",
        where="5",
        paper_says="Discarding events by chance, so that one does not leave all caches at about the same time, "
        "improves the tradeoff.",
        ours=f"oldest first → by chance: {from_to(pairs)}",
        ci95=pairs["combined"][1].ci95,
        runs=pairs["combined"][1].runs,
        verdict=verdict(helps),
        why="A cache of 150 events, too small for its interval. Chance must lie above oldest first for push or for "
        "combined pull, intervals apart."
        + ("" if helps else " It spares some old events that nobody asks for any more, at the cost of young ones."),
    )


def discard_others_first(book: Book) -> Claim:
    pairs, own = (
        kept(book, "relayed too, oldest first", "relayed too, those first"),
        kept(book, "oldest first", "by chance"),
    )
    return Claim(
        id="discard-others-first",
        where="5",
        paper_says="Discarding first events for which a dispatcher is neither source nor subscriber improves the "
        "tradeoff.",
        ours=f"with relayed events kept, oldest first → those first: {from_to(pairs)}",
        ci95=pairs["combined"][1].ci95,
        runs=pairs["combined"][1].runs,
        verdict=verdict(any(above(new, old) for old, new in pairs.values())),
        why="A cache of 150 events, too small for its interval. The policy must lie above oldest first for push or for "
        "combined pull, intervals apart. Caching nothing that is only relayed does as well here: "
        + " · ".join(f"{name} {share(old.mean)}" for name, (old, _) in own.items())
        + ".",
    )


def whole_table(book: Book) -> Claim:
    whole, own = (book.find("epidemic/variants", ALL, "delivery", case=case) for case in ("push", "push, own patterns"))
    cost, own_cost = (
        book.find("epidemic/variants", ALL, "gossip_hops_per_s", case=case) for case in ("push", "push, own patterns")
    )
    return Claim(
        id="push-from-the-whole-table",
        where="4.1",
        paper_says="Drawing the pattern from the whole subscription table increases the chances of finding all "
        "interested dispatchers, and speeds up convergence.",
        ours=f"{measured_share(whole)} delivered drawing from all patterns, {measured_share(own)} from the node's own",
        ci95=whole.ci95,
        runs=whole.runs,
        verdict=verdict(above(whole, own)),
        why="The whole table must lie above, intervals apart, at the same interval and cache. Publishers hold events "
        "of patterns they did not subscribe to, and would tell nobody of them. It takes "
        f"{number(cost.mean)} digests per dispatcher and second against {number(own_cost.mean)}.",
    )


def forwarding(book: Book) -> Claim:
    shares, digests = (
        {m: book.series("epidemic/forwarding", ALL, metric, method=m) for m in ("push", "subscriber-pull")}
        for metric in ("delivery", "gossip_hops_per_s")
    )
    rising = all(above(more, less) for lines in digests.values() for less, more in pairwise(lines))
    return Claim(
        id="forwarding-extent",
        where="4.1; 4.2",
        paper_says="The extent of propagation is determined at each hop by P_forward; a digest goes to a subset of the "
        "neighbours to limit the overhead.",
        ours="; ".join(
            f"{m}: {share(shares[m][0].mean)} at {number(digests[m][0].mean)} digests/s with P_forward 0.5, "
            f"{share(shares[m][-1].mean)} at {number(digests[m][-1].mean)} with 1"
            for m in shares
        ),
        ci95=shares["push"][-1].ci95,
        runs=shares["push"][-1].runs,
        verdict=verdict(rising),
        why="Digests must grow with every step of P_forward, intervals apart, for push and for subscriber pull. Those "
        "who do not subscribe pass a pull on in any case, so it depends less on it.",
    )
