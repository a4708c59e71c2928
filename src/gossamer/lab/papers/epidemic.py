"""Epidemic recovery: Costa, Migliavacca, Picco, Cugola, 2003. The paper prints no numbers: every claim is in words, so
every verdict is a comparison of measurements, by the rule that its `why` states."""

from collections.abc import Sequence

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, incomparable
from gossamer.lab.papers import Paper, Part
from gossamer.lab.papers import epidemic_costs as costs
from gossamer.lab.papers import epidemic_delivery as delivered
from gossamer.lab.papers import epidemic_plots as plots
from gossamer.lab.papers import epidemic_tuning as tuning


def claims(book: Book) -> list[Claim]:
    return [
        delivered.without_recovery(book),
        delivered.improvement(book),
        delivered.any_cause(book),
        costs.pull_is_silent(book),
        costs.push_is_wasted_when_stable(book),
        costs.limited_overhead(book),
        delivered.pull_is_faster(book),
        delivered.low_rates_favour_push(book),
        costs.storms_favour_pull(book),
        costs.changes_favour_pull(book),
        costs.adaptive_saves(book),
        delivered.few_subscribers_hurt_pull(book),
        delivered.few_subscribers_spare_push(book),
        delivered.combining_overcomes(book),
        delivered.combining_improves(book),
        delivered.many_patterns_hurt_push(book),
        delivered.patterns_per_event_decide(book),
        tuning.buffer_for_interval(book),
        tuning.discard_others_first(book),
        tuning.discard_by_chance(book),
        tuning.whole_table(book),
        tuning.forwarding(book),
        costs.delayed_rounds(book),
        costs.first_holder(book),
        costs.no_implosion(book),
        costs.only_the_publisher_matches_all(book),
        costs.load_is_shared(book),
        costs.scalable(book),
        incomparable(
            "charts", "5, [8]", "A thorough evaluation through simulation, with charts.",
            "The charts and the simulated scenario are in a technical report that the paper refers to; none of its "
            "numbers are in the text.",
        ),
    ]  # fmt: skip


def sections(book: Book) -> Sequence[Part]:
    return (plots.methods(book), plots.buffers(book), plots.policies(book), plots.variants(book))


PAPER = Paper(
    name="epidemic",
    title="epidemic recovery",
    lead="Every claim we found in the paper on epidemic algorithms for content-based publish/subscribe, measured and "
    "judged.",
    experiments=(
        "epidemic/methods", "epidemic/loss", "epidemic/waiting", "epidemic/rates", "epidemic/storms",
        "epidemic/changes", "epidemic/subscribers", "epidemic/patterns", "epidemic/per-event", "epidemic/buffers",
        "epidemic/policies", "epidemic/forwarding", "epidemic/variants", "epidemic/sizes",
    ),
    claims=claims,
    analysis=sections,
)  # fmt: skip
