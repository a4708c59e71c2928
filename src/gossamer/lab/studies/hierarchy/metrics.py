"""What a summary says of a dissemination through a hierarchy, and what each is."""

LEVELS_SHOWN = 8
"Levels that are counted one by one."
DEGREES = {"reached_50": 0.5, "reached_80": 0.8, "reached_90": 0.9, "reached_95": 0.95, "reached_99": 0.99}

OF_WORLDS = {
    "views_right": "share of participants that had all their views right, on average over the time that is counted",
    "upkeep": "messages about views, per participant and second",
    **{
        f"join_ms_{distance}": f"time until a newcomer whose contact lives at distance {distance} knew all it should"
        for distance in range(1, LEVELS_SHOWN + 1)
    },
    **{
        f"join_messages_{distance}": f"messages by which a newcomer with a contact at distance {distance} joined"
        for distance in range(1, LEVELS_SHOWN + 1)
    },
    **{
        f"join_bytes_{distance}": f"bytes of these, with a contact at distance {distance}"
        for distance in range(1, LEVELS_SHOWN + 1)
    },
    "lost_newcomers": "share of newcomers that did not know all they should two seconds after they came",
    **{
        f"gone_s_level_{level}": f"time until a participant that crashed stood in nobody's view of level {level}"
        for level in range(1, LEVELS_SHOWN + 1)
    },
    "unnoticed": "share of those that crashed which stood in somebody's view to the end",
    "suspected": "questions to participants that were there whether they were, per participant and minute",
    "mistaken": "neighbours that were there and were given up, per participant and hour",
    "way_ms": "median time between the places a copy of an event went from and to, on average over all copies",
    **{
        f"interest_level_{level}": f"share of the subsystems in views of level {level} in which somebody wants an event"
        for level in range(1, LEVELS_SHOWN + 1)
    },
}
"What only a world has."

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
    **OF_WORLDS,
}
