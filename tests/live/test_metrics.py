"""What a node counts, and the page that shows it."""

import re
import typing
from pathlib import Path

import pytest

from gossamer import __version__
from gossamer.live.watching.metrics import OTHER, REFUSALS, TOPICS_MAX, WORDS_MAX, By, Histogram, Metrics
from live.exposition import families, value

LABELS = {"deliveries": "topic", "messages_by_tag": "tag", "refusals": "reason", "links_closed": "reason"}


def test_every_number_is_on_the_page_with_what_it_means() -> None:
    shown = families(Metrics().page())
    counted = [name for name in Metrics.__struct_fields__ if name != "before"]
    assert len([name for name in shown if name.startswith("gossamer_")]) == len(counted) + 1
    for name in counted:
        stem = f"gossamer_{name.removesuffix('_us')}"
        assert {stem, f"{stem}_total", f"{stem}_seconds"} & set(shown), name
    assert all(family.says for family in shown.values())


def test_a_number_is_counted_by_adding_to_it() -> None:
    metrics = Metrics()
    metrics.copies_received += 3
    metrics.links += 2
    metrics.links -= 1
    metrics.loop_lag_us = 2_500
    page = metrics.page()
    assert value(page, "gossamer_copies_received_total") == 3
    assert value(page, "gossamer_links") == 1
    assert value(page, "gossamer_loop_lag_seconds") == 0.0025


def test_a_name_nobody_declared_cannot_be_counted() -> None:
    with pytest.raises(AttributeError):
        Metrics().copies_recieved = 1  # type: ignore[attr-defined]


def test_two_nodes_of_one_process_count_apart() -> None:
    one, other = Metrics(), Metrics()
    one.refuse("revoked")
    one.delivered(".a", [1])
    assert (other.refusals["revoked"], other.deliveries, other.delivery_latency.counts[0]) == (0, {}, 0)


def test_a_refusal_is_shown_by_its_reason_and_reasons_never_refused_for_as_0() -> None:
    metrics = Metrics()
    metrics.refuse("equivocation")
    metrics.refuse("a new reason")
    page = metrics.page()
    assert value(page, "gossamer_refusals_total", reason="equivocation") == 1
    assert value(page, "gossamer_refusals_total", reason="a new reason") == 1
    assert value(page, "gossamer_refusals_total", reason=REFUSALS[0]) == 0


def test_reasons_and_topics_are_bounded_and_nothing_is_lost_in_the_sum() -> None:
    metrics = Metrics()
    for i in range(1000):
        metrics.refuse(f"reason {i}")
        metrics.delivered(f".t{i}", [5])
    assert len(metrics.refusals) == WORDS_MAX + 1
    assert len(metrics.deliveries) == TOPICS_MAX + 1
    assert sum(metrics.refusals.values()) == sum(metrics.deliveries.values()) == metrics.events_delivered == 1000
    assert metrics.deliveries[OTHER] == 1000 - TOPICS_MAX


def test_a_word_that_is_there_goes_on_counting_when_there_is_no_room_for_others() -> None:
    by = By(2, ("a", "b"))
    for word in ("c", "a", "d"):
        by.add(word)
    assert by == {"a": 1, "b": 0, OTHER: 2}


def test_a_link_ends_for_a_reason_we_know_or_because_the_connection_was_lost() -> None:
    metrics = Metrics()
    for why in ("closed", "revoked", "[Errno 104] Connection reset by peer", "SSL: whatever"):
        metrics.closed(why)
    assert {why: count for why, count in metrics.links_closed.items() if count} == {
        "closed": 1,
        "revoked": 1,
        "connection lost": 2,
    }


def test_latencies_fall_into_buckets_and_their_bound_belongs_to_them() -> None:
    histogram = Histogram((10, 100))
    histogram.add([0, 10, 11])
    histogram.add([100, 101, 10**9])
    assert (histogram.counts, histogram.total_us) == ([2, 2, 2], 10**9 + 222)
    metrics = Metrics()
    metrics.delivered(".a", [1_000])
    metrics.delivered(".a", [61_000_000])
    page = metrics.page()
    assert value(page, "gossamer_delivery_latency_seconds_bucket", le="0.0005") == 0
    assert value(page, "gossamer_delivery_latency_seconds_bucket", le="0.001") == 1
    assert value(page, "gossamer_delivery_latency_seconds_bucket", le="60.0") == 1
    assert value(page, "gossamer_delivery_latency_seconds_count") == 2
    assert value(page, "gossamer_delivery_latency_seconds_sum") == 61.001


def test_a_delivery_before_its_publication_is_counted_as_clocks_apart_and_spoils_no_sum() -> None:
    metrics = Metrics()
    metrics.delivered(".a", [-5])
    assert (metrics.events_delivered, metrics.clocks_apart, metrics.delivery_latency.total_us) == (1, 1, 0)
    families(metrics.page())


@pytest.mark.parametrize("topic", ['.a"b', ".a\\b", ".ü.💧", ".a\nb", ".}", ".a,b=c"])
def test_any_topic_can_stand_on_the_page(topic: str) -> None:
    metrics = Metrics()
    metrics.delivered(topic, [0])
    escaped = topic.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    assert value(metrics.page(), "gossamer_deliveries_total", topic=escaped) == 1


def test_the_page_tells_what_runs_and_what_it_takes() -> None:
    page = Metrics().page()
    ((_, labels),) = families(page)["gossamer_build_info"].samples
    assert dict(labels)["version"] == __version__
    assert value(page, "process_cpu_seconds_total") > 0


def test_every_declared_number_has_a_type_that_says_what_it_is() -> None:
    hints = typing.get_type_hints(Metrics, include_extras=True)
    assert all(hasattr(hint, "__metadata__") for name, hint in hints.items() if name != "before")


def test_the_page_about_it_lists_every_metric_as_it_is_served() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    rows = dict(re.findall(r"^\| `(gossamer_\w+)` \| (.+) \|$", page, re.MULTILINE))
    labels = {f"gossamer_{name}_total": f", by `{label}`" for name, label in LABELS.items()}
    labels["gossamer_subscription_behind"] = ", by `subscription`"
    served = {
        name: f"{family.kind}{labels.get(name, '')} | {family.says}"
        for name, family in families(Metrics().page()).items()
        if name.startswith("gossamer_") and name != "gossamer_build_info"
    }
    assert rows == served
