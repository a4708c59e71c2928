"""Runs of a few lines, each about one definition of the audit, and what the audit must count in it: what is not named
must be 0."""

STORIES: dict[str, tuple[str, dict[str, int]]] = {
    "calm": (
        """
        p 0 start
        p 0 subscribe .s
        a 0 start
        a 0 subscribe .
        b 0 start
        b 0 subscribe .s.i
        c 0 start
        c 0 subscribe .other
        p 5 publish .s.i p:1 bytes=64
        p 5 deliver .s.i p:1 hops=0
        p 5 send .s.i p:1 peer=b bytes=80
        p 5 send .s.i p:1 peer=a bytes=80
        a 5.001 receive .s.i p:1 peer=p bytes=80
        a 5.001 deliver .s.i p:1 hops=1
        a 5.001 send .s.i p:1 peer=b bytes=80
        b 5.002 receive .s.i p:1 peer=a bytes=80
        b 5.002 deliver .s.i p:1 hops=2
        b 5.003 receive .s.i p:1 peer=p bytes=80
        b 5.003 duplicate .s.i p:1 peer=p
        p 9 stop
        a 9 stop
        b 9 stop
        c 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 3, "delivered": 3, "messages": 3, "bytes": 240},
    ),
    "missing": (
        """
        p 0 start
        a 0 start
        a 0 subscribe .x
        b 0 start
        b 0 subscribe .x
        c 0 start
        c 0 subscribe .
        d 0 start
        d 0 subscribe .x
        p 5 publish .x p:1
        a 5.5 deliver .x p:1 hops=3
        p 5.6 send .x p:1 peer=b
        d 5.7 receive .x p:1 peer=a hops=4
        d 5.7 reject .x p:1 peer=a detail=forged
        p 6 publish .x p:2
        p 9 stop
        a 9 stop
        b 9 stop
        c 9 stop
        d 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 8, "delivered": 1, "missing": 7, "broken": 7, "messages": 1},
    ),
    "late": (  # subscribed 2 s before: expected; less: in doubt; 2 s later: in doubt; after that: nobody asks
        """
        p 0 start
        a 3 start
        a 3 subscribe .x
        b 3 start
        b 3.001 subscribe .x
        c 6 start
        c 7 subscribe .x
        d 7 start
        d 7.001 subscribe .x
        p 5 publish .x p:1
        a 5 deliver .x p:1
        b 5 deliver .x p:1
        p 20 stop
        a 20 stop
        b 20 stop
        c 20 stop
        d 20 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "delivered": 1, "in_doubt": 2},
    ),
    "left": (  # unsubscribed or stopped: 2 s after, before, or around
        """
        p 0 start
        a 0 subscribe .x
        a 7 unsubscribe .x
        a 20 stop
        b 0 subscribe .x
        b 6.999 unsubscribe .x
        b 20 stop
        c 0 subscribe .x
        c 2.999 unsubscribe .x
        c 20 stop
        d 0 subscribe .x
        d 7 stop
        e 0 subscribe .x
        e 6.999 stop
        p 5 publish .x p:1
        a 5 deliver .x p:1
        d 5 deliver .x p:1
        p 20 stop
        """,
        {"events": 1, "promised": 1, "expected": 2, "delivered": 2, "in_doubt": 2},
    ),
    "silent": (  # killed: nothing is known after the last row; `alive` is a row too
        """
        p 0 start
        a 0 subscribe .x
        a 7 alive
        b 0 subscribe .x
        b 6.999 alive
        c 0 subscribe .x
        c 2.999 alive
        p 5 publish .x p:1
        a 5.1 deliver .x p:1
        p 7 alive
        """,
        {"events": 1, "promised": 1, "expected": 1, "delivered": 1, "in_doubt": 1},
    ),
    "quiet but alive": (  # gets nothing, and is not excused
        """
        p 0 start
        a 0 subscribe .x
        p 5 publish .x p:1
        a 9 alive
        p 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "missing": 1, "broken": 1},
    ),
    "publisher killed": (  # nothing is promised, and what is missing is still named
        """
        a 0 subscribe .x
        b 0 subscribe .x
        p 0 start
        p 5 publish .x p:1
        a 5.1 deliver .x p:1
        a 9 stop
        b 9 stop
        """,
        {"events": 1, "expected": 2, "delivered": 1, "missing": 1},
    ),
    "publisher came back": (  # its row of the first time was lost with it
        """
        a 0 subscribe .x
        b 0 subscribe .x
        p 0 start
        a 5.1 deliver .x p:1
        p/2 6 start
        p/2 6 publish .x p:1
        b 6.1 deliver .x p:1
        p/2 6.2 alive
        p/3 7 start
        p/3 7 publish .x p:1
        a 9 stop
        b 9 stop
        p/3 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 2, "delivered": 2},
    ),
    "publisher came back in vain": (
        """
        a 0 subscribe .x
        p 0 start
        p 5 publish .x p:1
        p/2 20 start
        a 30 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "missing": 1, "broken": 1},
    ),
    "nobody wrote the publication down": (
        """
        a 0 subscribe .x
        b 0 subscribe .x
        a 5 deliver .x p:1
        a 9 stop
        b 9 stop
        """,
        {"events": 1, "expected": 2, "delivered": 1, "missing": 1},
    ),
    "nobody listens": (
        """
        p 0 start
        p 5 publish .x p:1
        p 9 stop
        """,
        {"events": 1, "promised": 1},
    ),
    "restart": (  # what came while it was away is nobody's fault; what came twice is, unless it says so
        """
        p 0 start
        a 0 start
        a 0 subscribe .x
        p 5 publish .x p:1
        a 5.1 deliver .x p:1 hops=1
        p 6 publish .x p:2
        a 6.1 deliver .x p:2 hops=4
        a 8 alive
        p 12 publish .x p:3
        a/2 15 start
        a/2 15 subscribe .x
        a/2 15.1 deliver .x p:1
        a/2 15.2 deliver .x p:2 detail=redelivered
        p 20 publish .x p:4
        a/2 20 deliver .x p:4 detail=redelivered,really
        a/2 30 stop
        p 30 stop
        """,
        {"events": 4, "promised": 4, "expected": 3, "delivered": 3, "duplicates": 1, "redelivered": 2},
    ),
    "two starts under one head": (  # as a simulator writes them
        """
        p 0 start
        a 0 start
        a 0 subscribe .x
        a 4 crash
        a 10 start
        p 13 publish .x p:1
        a 13 subscribe .y
        p 20 publish .y p:2
        a 20 deliver .y p:2
        a 30 stop
        p 30 stop
        """,
        {"events": 2, "promised": 2, "expected": 1, "delivered": 1},
    ),
    "two subscriptions": (  # one takes over from the other without a gap
        """
        p 0 start
        a 0 subscribe .x
        a 4 subscribe .
        a 5 unsubscribe .x
        b 0 subscribe .x
        b 4.5 unsubscribe .x
        b 4.6 subscribe .
        p 5 publish .x p:1
        a 9 stop
        b 9 stop
        p 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 1, "missing": 1, "broken": 1, "in_doubt": 1},
    ),
    "names that only look alike": (
        """
        p 0 start
        a 0 subscribe .x
        b 0 subscribe .xy
        c 0 subscribe .x.y.z
        p 5 publish .x.y p:1
        a 5 deliver .x.y p:1
        p 6 publish . p:2
        a 9 stop
        b 9 stop
        c 9 stop
        p 9 stop
        """,
        {"events": 2, "promised": 2, "expected": 1, "delivered": 1},
    ),
    "parasite told": (
        """
        p 0 start
        a 0 subscribe .y
        p 5 publish .x p:1
        a 5 parasite .x p:1 peer=p bytes=9
        a 9 stop
        p 9 stop
        """,
        {"events": 1, "promised": 1, "parasites": 1, "declared": 1},
    ),
    "parasite hidden": (  # by a node that claims another topic for it, too
        """
        p 0 start
        a 0 subscribe .y
        b 0 subscribe .x.z
        c 0 start
        p 5 publish .x p:1
        a 5 receive .y p:1 peer=p bytes=9
        a 5 receive .y p:1 peer=p bytes=9
        b 5 deliver .x.z p:1
        c 5 recover p:1
        a 9 stop
        b 9 stop
        c 9 stop
        p 9 stop
        """,
        {"events": 1, "promised": 1, "parasites": 3, "found": 3},
    ),
    "publishers are members": (  # of the topic they publish on, and get what climbs there
        """
        p 0 start
        a 0 start
        a 4 publish .x a:1
        p 5 publish .x.y p:1
        a 6 receive .x.y p:1 peer=p
        p 6 receive .x a:1 peer=a
        p 9 stop
        a 9 stop
        """,
        {"events": 2, "promised": 2, "parasites": 1, "found": 1},
    ),
    "on its way": (  # a copy meets a node that has just left, or is just coming
        """
        p 0 start
        p 5 publish .x p:1
        p 5 publish .x p:2
        a 0 subscribe .x
        a 1 unsubscribe .x
        a 3 parasite .x p:1 peer=p
        a 3.001 parasite .x p:2 peer=p
        b 5 receive .x p:1 peer=p
        b 7 subscribe .x
        a 9 stop
        b 9 stop
        p 9 stop
        """,
        {"events": 2, "promised": 2, "in_doubt": 2, "strays": 2, "parasites": 1, "declared": 1},
    ),
    "relays": (  # only the role declared beforehand excuses
        """
        p 0 start
        a 0 relay
        b 0 relay .x
        c 0 start
        p 5 publish .x.y p:1
        p 5 publish .z p:2
        a 5 relay .x.y p:1
        a 5 receive .z p:2
        b 5 relay .x.y p:1
        b 5 receive .z p:2
        c 5 relay .x.y p:1
        c 6 relay
        a 9 stop
        b 9 stop
        c 9 stop
        p 9 stop
        """,
        {"events": 2, "promised": 2, "relays": 3, "parasites": 2, "found": 2},
    ),
    "relays that read": (  # what they want is no relay, but what they say they only carried is
        """
        p 0 start
        a 0 relay
        a 0 subscribe .x
        p 5 publish .x p:1
        p 5 publish .x p:2
        a 5 receive .x p:1
        a 5 deliver .x p:1
        a 5 receive .x p:2
        a 5 deliver .x p:2
        p 6 publish .x.y p:3
        a 6 relay .x.y p:3
        a 9 stop
        p 9 stop
        """,
        {"events": 3, "promised": 3, "expected": 3, "delivered": 2, "missing": 1, "broken": 1, "relays": 1},
    ),
    "before its time": (
        """
        p 0 start
        a 0 subscribe .x
        b 0 subscribe .x
        p 5 publish .x p:1
        a 4.9 deliver .x p:1
        b 5.1 deliver .x p:1
        a 9 stop
        b 9 stop
        p 9 stop
        """,
        {"events": 1, "promised": 1, "expected": 2, "delivered": 2, "negative_latencies": 1},
    ),
    "refused": (  # forged ids make no events, and odd rows no trouble
        """
        a 0 subscribe .x
        a 1 reject p:77 detail=forged
        a 2 reject detail=flood
        a 3 gap .x p:5 detail=3
        a 4 receive p:78
        a 9 stop
        """,
        {},
    ),
}
COUNTED = (
    *("events", "promised", "expected", "delivered", "missing", "in_doubt", "unmatched", "broken"),
    *("duplicates", "redelivered"),
    *("negative_latencies", "parasites", "declared", "found", "strays", "relays", "messages", "bytes"),
)
SKEWED = """
p 0 start
a 0 subscribe .x
b 0 subscribe .x
c 0 subscribe .x
p 5 publish .x p:1
p 5 send .x p:1 peer=a
p 5 send .x p:1 peer=b
a 5.010 receive .x p:1 peer=p
a 5.010 deliver .x p:1 hops=1
a 5.020 send .x p:1 peer=p
p 5.030 receive .x p:1 peer=a
b 5.040 receive .x p:1 peer=p
b 5.040 deliver .x p:1 hops=1
b 5.050 send .x p:1 peer=a
a 5.055 receive .x p:1 peer=b
a 5.060 send .x p:1 peer=b
b 5.065 receive .x p:1 peer=a
c 5.070 deliver .x p:1 hops=2
p 9 stop
a 9 stop
b 9 stop
c 9 stop
"""
