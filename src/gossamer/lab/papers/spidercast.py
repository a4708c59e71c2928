"""SpiderCast: Chockler, Melamed, Tock, Vitenberg, 2007. Its table and its prose print numbers; its figures are curves
without any, so what it says about those is judged in its own words."""

from collections.abc import Sequence

from gossamer.lab.book import Book
from gossamer.lab.claims import Claim, incomparable
from gossamer.lab.papers import Paper, Part
from gossamer.lab.papers import spidercast_compared as compared
from gossamer.lab.papers import spidercast_connected as connected
from gossamer.lab.papers import spidercast_moving as moving
from gossamer.lab.papers import spidercast_plots as plots
from gossamer.lab.papers import spidercast_readings as readings
from gossamer.lab.papers import spidercast_scaling as scaling
from gossamer.lab.papers import spidercast_table as table


def claims(book: Book) -> list[Claim]:
    return [
        compared.at_least_45(book),
        connected.greedy_suffices(book),
        connected.large_setting(book),
        table.falls_with_nodes(book),
        scaling.logarithmic_in_topics(book),
        scaling.scales_with_subscriptions(book),
        scaling.fewer_links_than_subscriptions(book),
        scaling.links_cover(book),
        connected.random_three_connects(book),
        connected.fewest_links(book),
        connected.zipf2_partitions(book),
        *connected.zipf2_table(book),
        connected.more_greedy_does_not_help(book),
        connected.one_random_helps(book),
        *connected.zipf2_degrees(book),
        connected.many_of_degree_three(book),
        connected.adaptive(book),
        table.below_twelve(book),
        table.order_of_popularities(book),
        table.load_is_fair(book),
        table.tdi_explains(book),
        *connected.diameters(book),
        connected.diameter_is_logarithmic(book),
        scaling.topics_raise_moderately(book),
        scaling.tdi_rises_with_nodes(book),
        *scaling.max_degrees(book),
        scaling.max_against_mean(book),
        scaling.sublinear_in_topics(book),
        scaling.subscriptions_at_ten_thousand(book),
        scaling.subscriptions_and_tdi(book),
        scaling.equal_means(book),
        scaling.concentrated(book),
        scaling.proportional(book),
        connected.five_percent(book),
        scaling.small_views(book),
        moving.stays_connected(book),
        moving.degree_is_flat(book),
        *moving.messages_per_change(book),
        moving.per_link_and_topic(book),
        moving.cheaper_with_more_nodes(book),
        compared.ours_are_whole(book),
        compared.others_fall_apart(book),
        compared.others_get_worse(book),
        compared.random_links_are_worse(book),
        *compared.ring_costs(book),
        compared.ring_is_flat(book),
        incomparable(
            "curves", "3, Figs 6(b), 7 to 11, 13, 14", "Curves and histograms.",
            "The figures are drawn without their numbers; where the prose gives some, or says what a curve does, that "
            "is judged above, and our own curves stand below.",
        ),
        *table.table(book),
        *readings.by_the_figure(book),
    ]  # fmt: skip


def sections(book: Book) -> Sequence[Part]:
    return (
        readings.two_readings(book),
        plots.degrees(book),
        plots.skewed(book),
        plots.histograms(book),
        plots.rare(book),
        plots.cost(book),
    )


PAPER = Paper(
    name="spidercast",
    title="SpiderCast",
    lead="Every number and statement of the paper on SpiderCast, measured and judged; and what it leaves open about "
    "rare topics and about cost.",
    experiments=(
        "spidercast/fig6", "spidercast/fig7", "spidercast/fig8a", "spidercast/fig8b", "spidercast/fig8c",
        "spidercast/fig9", "spidercast/fig10", "spidercast/fig11", "spidercast/fig12", "spidercast/fig13",
        "spidercast/fig14", "spidercast/wider", "spidercast/coverage", "spidercast/adaptive", "spidercast/large",
        "spidercast/readings", "spidercast/readings-churn", "spidercast/rare", "spidercast/cost",
    ),
    claims=claims,
    analysis=sections,
)  # fmt: skip
