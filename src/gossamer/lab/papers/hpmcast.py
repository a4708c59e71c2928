"""hpmcast: Eugster, Guerraoui, 2001. Its figures are curves without numbers, so what it says about them is judged in
its own words; its formulas are held against measurements and against themselves."""

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, incomparable
from gossamer.lab.papers import Paper
from gossamer.lab.papers import hpmcast_analysis as analysis
from gossamer.lab.papers import hpmcast_costs as costs
from gossamer.lab.papers import hpmcast_filters as filters
from gossamer.lab.papers import hpmcast_living as living
from gossamer.lab.papers import hpmcast_plots as plots
from gossamer.lab.papers import hpmcast_reached as reached
from gossamer.lab.papers import hpmcast_rounds as rounds


def claims(book: Book) -> list[Claim]:
    return [
        costs.messages_grow_slowly(book),
        analysis.group_per_subset(book),
        costs.pittel_rounds(book),
        costs.rfpbcast_wastes(book),
        costs.once_with_log_n(book),
        costs.pmcast_is_genuine(book),
        analysis.chain(book),
        costs.fewer_take_longer(book),
        costs.locality(book),
        living.locality_and_redundancy(book),
        rounds.fixed_rounds(book),
        costs.more_than_one_delegate(book),
        living.close_contact(book),
        living.close_detection(book),
        living.chosen_by_pattern(book),
        reached.delegates_only(book),
        reached.all_iff_all_want(book),
        costs.matched_by_few(book),
        costs.conservative(book),
        analysis.joint_interest(book),
        analysis.view_size(book),
        analysis.starts_with_delegates(book),
        analysis.pessimistic(book),
        analysis.infected_product(book),
        reached.good_overall(book),
        reached.falls_for_small_interest(book),
        costs.large_systems_are_captured(book),
        analysis.rounds_by_interest(book),
        reached.lowest_level_fails_first(book),
        reached.fanout_saves_rounds(book),
        reached.fanout_changes_reliability(book),
        reached.scales(book),
        reached.small_interest_scales_worse(book),
        reached.better_rounds_counteract(book),
        reached.no_clear_trend(book),
        reached.redundancy_helps(book),
        reached.redundancy_saturates(book),
        reached.redundancy_does_not_repair(book),
        rounds.reckoned_from_reliability(book),
        rounds.reliability_degree(book),
        reached.floor_repairs(book),
        reached.floor_chosen(book),
        costs.delegates_bear_more(book),
        costs.estimates_suffice(book),
        costs.broadcast_below(book),
        costs.reliable_top(book),
        analysis.broadcast_identity(book),
        reached.depth_costs_rounds(book),
        analysis.views_shrink(book),
        analysis.updates(book),
        living.failures_travel(book),
        analysis.mean_level(book),
        analysis.mean_level_formula(book),
        analysis.mean_level_terms(book),
        reached.depth_is_a_compromise(book),
        costs.a_million(book),
        living.lives_with_churn(book),
        filters.weaker(),
        incomparable(
            "curves", "5.3, 5.4, Figs 7 to 13", "Curves.",
            "The figures are drawn without their numbers, Figure 11 without its p1 and Figure 13 without its D; what "
            "the text says of them is judged above, and our own curves stand below.",
        ),
    ]  # fmt: skip


PAPER = Paper(
    name="hpmcast",
    title="hpmcast",
    lead="Every claim we found in the paper on hierarchical probabilistic multicast, measured or worked out, and "
    "judged; and a repair for events that few want.",
    experiments=(
        "hpmcast/fig7", "hpmcast/fig8", "hpmcast/fig9", "hpmcast/fig10", "hpmcast/fig11", "hpmcast/fig12",
        "hpmcast/fig13", "hpmcast/depth", "hpmcast/variants", "hpmcast/sizes", "hpmcast/pittel", "hpmcast/lowest",
        "hpmcast/top", "hpmcast/fixed", "hpmcast/target",
        "hpmcast/loss", "hpmcast/crashes", "hpmcast/once", "hpmcast/estimated", "hpmcast/repair",
        "hpmcast/repair-loss", "hpmcast/million", "hpmcast/joining", "hpmcast/detection", "hpmcast/locality",
        "hpmcast/choice", "hpmcast/churn",
    ),
    claims=claims,
    analysis=plots.everything,
)  # fmt: skip
