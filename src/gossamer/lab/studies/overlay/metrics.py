"""What a summary says of an overlay, and what each is."""

HISTOGRAM_MAX = 80
"Degrees are counted one by one up to here; the last stands for all from there on."

BY_DEGREE = tuple(f"share_degree_{degree}" for degree in range(HISTOGRAM_MAX + 1))

METRICS = {
    "degree_mean": "neighbours of a node, on average",
    "degree_ci95": "half of the 95 % interval of that mean, over the nodes of a run",
    "degree_max": "neighbours of the node that has most",
    "degree_near": "share of nodes whose degree is within a quarter of the mean",
    "degree_by_interest": "correlation of a node's degree with its number of topics",
    "links": "links in all",
    "random_links": "share of links that the random task keeps",
    "components": "connected components, summed over topics; as many as populated topics where all are connected",
    "topics_populated": "topics that somebody wants",
    "topics_partitioned": "topics with more than one component",
    "diameter_topic_max": "longest of the shortest ways inside any topic",
    "diameter_topic_max_at_least": "the same where it is too large to be exact: a lower bound",
    "diameter_overlay": "longest of the shortest ways in the whole overlay",
    "diameter_overlay_at_least": "the same where it is too large to be exact: a lower bound",
    "topics_per_link": "topics that both ends of a link want, on average",
    "topics_covered_per_link": "topics a link covers when it is chosen, of those that are not covered yet, on average",
    "messages_saved": "share of messages saved where those of several topics on a link go together",
    "tdi": "top-d intersection: topics shared with the d most alike, in percent",
    "messages_per_change": "control messages for each node that joins or leaves",
    "disconnects_per_change": "of these, requests to part, granted or not",
    "rounds": "until nothing changed any more",
    "at_rest": "1 where it came to rest, 0 where the rounds ended first",
    "one_sided": "links that only one end knows of",
    "over_limit": "nodes with more than L^max + Margin neighbours in a task",
    "snapshots": "snapshots taken while nodes came and went",
    "nodes_up": "nodes in a snapshot, on average",
    "changes": "joins and leaves",
    "build_s": "seconds it took to build, on this machine",
    **dict.fromkeys(BY_DEGREE, "share of nodes with so many neighbours"),
}
