"""Figures of the paper on epidemic recovery that no single sweep draws by itself."""

from collections.abc import Sequence

from gossamer.lab.book import ALL, Book, Line
from gossamer.lab.claims import measured_share, number
from gossamer.lab.figures import Figure, bars, lines
from gossamer.lab.papers import Part

NO_BREAK = "\u00a0"
METHODS = ("none", "push", "subscriber-pull", "publisher-pull", "combined")


def shares(book: Book, experiment: str, metric: str, labels: Sequence[str], field: str, **swept: object) -> list[Line]:
    return [book.find(experiment, ALL, metric, **{field: label}, **swept) for label in labels]


def methods(book: Book) -> Part:
    experiment = "epidemic/methods"
    metrics = ("delivery", "gossip_hops_per_s", "event_hops_per_s", "overhead", "requests", "retransmissions")
    rows = []
    for method in METHODS:
        said = [book.find(experiment, ALL, metric, method=method) for metric in metrics]
        shown = [measured_share(said[0]).replace(" ", NO_BREAK), *(number(line.mean) for line in said[1:])]
        latency = book.series(experiment, ALL, "recovery_latency_ms_p50", method=method)
        rows.append((method, *shown, number(latency[0].mean) if latency else "–"))
    delivered = shares(book, experiment, "delivery", METHODS, "method")
    figure = bars(
        METHODS,
        {"delivered": [line.mean for line in delivered]},
        errors={"delivered": [line.ci95 for line in delivered]},
        name="methods-delivery",
        title="Delivery with a tenth of all messages lost",
        y_label="Pairs delivered",
        share=True,
        caption="100 dispatchers, 70 patterns, 5,000 events a second; 95 % confidence intervals.",
    )
    return Part(
        "The methods side by side",
        "Digests and event hops are per dispatcher and second; requests and retransmissions those of a whole run; the "
        "latency is the median from noticing a loss to having the event.",
        ("method", "delivered", "digests", "event hops", "messages per event hop", "requests", "sent again", "ms"),
        tuple(rows),
        (figure,),
    )


def buffers(book: Book) -> Part:
    """Delivery over the interval, a line per cache; one plot per method."""
    return Part(
        "Buffer size against gossip interval",
        "The larger the buffer, the longer the interval at which as much is delivered.",
        figures=tuple(_buffers(book, method) for method in ("push", "combined")),
    )


def _buffers(book: Book, method: str) -> Figure:
    rows = [
        {name: getattr(line, name) for name in Line.__struct_fields__}
        for line in book.series("epidemic/buffers", ALL, "delivery", method=method)
    ]
    return lines(
        rows,
        name=f"buffers-{method}",
        title=f"Delivery by {'push' if method == 'push' else 'combined pull'}, for buffers of so many events",
        x="recovery.interval_s",
        by="recovery.cache",
        metric="delivery",
        x_label="Gossip interval, seconds",
        y_label="Pairs delivered",
        log_x=True,
    )


def cases(book: Book, experiment: str, labels: Sequence[str], **swept: object) -> Figure:
    said = shares(book, experiment, "delivery", labels, "case", **swept)
    at = "-".join(str(value) for value in swept.values())
    return bars(
        labels,
        {"delivered": [line.mean for line in said]},
        errors={"delivered": [line.ci95 for line in said]},
        name=f"{experiment.rpartition('/')[2]}{'-' if at else ''}{at}",
        title=f"Delivery{' by ' if at else ''}{at}",
        y_label="Pairs delivered",
        share=True,
    )


def policies(book: Book) -> Part:
    labels = (
        "oldest first", "by chance", "relayed too, oldest first", "relayed too, by chance", "relayed too, those first",
    )  # fmt: skip
    figures = tuple(cases(book, "epidemic/policies", labels, method=method) for method in ("push", "combined"))
    return Part("What leaves a full cache", "A cache of 150 events; 95 % confidence intervals.", figures=figures)


def variants(book: Book) -> Part:
    labels = (
        "push", "push, own patterns", "combined", "combined, at once", "publisher-pull",
        "publisher-pull, kept along the way",
    )  # fmt: skip
    figures = (cases(book, "epidemic/variants", labels),)
    return Part("Choices the paper discusses", "95 % confidence intervals.", figures=figures)
