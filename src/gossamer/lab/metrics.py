"""What kind of number a metric is, for all studies: said once, and asked by summaries, tables and figures."""

SHARES = frozenset({"reception", "efficiency", "delivery", "spurious"})
"Between 0 and 1, and read as percents."
OF_EVENTS = frozenset({"reliability", "climbed", "crossed"})
"1 or 0 for each event; a run has the mean of its events. Read as percents too."
OF_RUNS = frozenset({"reached_50", "reached_80", "reached_90", "reached_95", "reached_99", "reached_all", "at_rest"})
"1 or 0 for each run, or a share of its events, where a study has many of them. All other metrics are plain numbers."
WORDS = frozenset({"share", "fraction", "loss"})
"What a field or metric has in its name if it is a share of something."


def is_percent(metric: str) -> bool:
    """Whether people read it as percents."""
    return metric in SHARES or metric in OF_EVENTS
