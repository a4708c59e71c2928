"""What a summary says of a design that carried a workload, and what each is."""

from gossamer.sim.compared import DEGREES, LEVELS_SHOWN

METRICS = {
    "delivery": "share of the nodes that want an event that got it, publisher apart, over all events",
    **{name: f"share of events that reached at least {share:.0%} of their audience" for name, share in DEGREES.items()},
    "latency_p50_ms": "median time from publication to delivery, in milliseconds",
    "latency_p99_ms": "time within which 99 of 100 deliveries were made, in milliseconds",
    "copies": "messages with the event in them, per event, those sent again by recovery included",
    "words": "messages about events without an event in them, per event: digests, requests, prunings",
    "copy_bytes": "bytes of the copies, per event",
    "word_bytes": "bytes of the words, per event",
    "bytes_delivery": "bytes of copies and words, per delivery",
    "upkeep": "all other messages, per node and second",
    "upkeep_bytes": "their bytes, per node and second",
    "spurious": "share of the nodes that do not want an event that got it",
    "unwanted": "the same as a number of nodes, per event",
    "off_topic": "of these, nodes that read neither its topic nor one above, per event",
    "relays": "of these, nodes that carried it for others, by design, per event",
    "parasites": "of these, nodes that belong to no community of the event's topic and carry for nobody, per event",
    "duplicates": "copies that came to a node that had the event, per event",
    "matches": "comparisons of the event with a filter, or with an index of many, by all nodes, per event",
    "matches_max": "the same, of the node that compares most",
    "peers": "entries about other nodes in a node's tables",
    "patterns": "topics and filters of others in a node's tables",
    "entries": "both together",
    "entries_max": "both, in the node that keeps most",
    "load": "copies a node sends and receives, per event",
    "load_max": "the same, of the node that bears most",
    **{
        f"load_level_{level}": f"the same, of nodes that stand on level {level} of the hierarchy and no higher"
        for level in range(1, LEVELS_SHOWN + 1)
    },
    **{
        f"held_level_{level}": f"share of all events that such a node of level {level} gets to hold"
        for level in range(1, LEVELS_SHOWN + 1)
    },
    "audience": "nodes that want an event, publisher apart",
    "nodes": "nodes",
}
