"""What a summary says of a dissemination through a hierarchy, and what each is."""

LEVELS_SHOWN = 8
"Levels that are counted one by one."
DEGREES = {"reached_50": 0.5, "reached_80": 0.8, "reached_90": 0.9, "reached_95": 0.95, "reached_99": 0.99}

METRICS = {
    "delivery": "share of the interested participants that got the event, publisher apart",
    "spurious": "share of the uninterested participants that got it: delegates, and who was added to an audience",
    "messages": "messages sent",
    "rounds": "steps until the last participant that got the event had it",
    "view_size": "participants each one knows, on all levels together, on average",
    **{name: f"1 where at least {share:.0%} of the interested got it" for name, share in DEGREES.items()},
    "reached_all": "1 where every interested participant got it",
    "steps": "steps until nobody gossiped any more",
    "latency_ms": "the same as rounds, in milliseconds of the step interval",
    "messages_each": "messages per participant",
    "messages_wanted": "messages per interested participant that got the event",
    "matches": "patterns compared with the event to find out how many want it",
    "matches_picked": "patterns compared with it to find out who of those picked wants it",
    "matches_each": "patterns compared, for both, per participant",
    "participants": "participants",
    "interested": "those that want the event, publisher apart",
    **{f"sent_level_{level}": f"messages sent on level {level}" for level in range(1, LEVELS_SHOWN + 1)},
    **{
        f"load_level_{level}": f"messages that reach a participant whose highest level is {level}"
        for level in range(1, LEVELS_SHOWN + 1)
    },
}
