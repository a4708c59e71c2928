"""Runs in which events are lost on the way and found again, and what the audit must count of that."""

RECOVERIES: dict[str, tuple[str, dict[str, int | float | None]]] = {
    "found again": (  # noticed by the fourth event, asked for, there: delivered like any other
        """
        p 0 start
        a 0 subscribe .x
        b 0 subscribe .
        p 5 publish .x p:1
        p 5.1 publish .x.y p:2
        p 5.2 publish .x p:3
        p 5.3 publish .x p:4
        a 5.01 deliver .x p:1 hops=1
        a 5.31 deliver .x p:4 hops=1
        a 5.31 gap .x p detail=2-3
        a 5.35 recover p:2 peer=b detail=40000
        a 5.35 deliver .x.y p:2 hops=2
        a 5.41 recover p:3 peer=p detail=100000
        a 5.41 deliver .x p:3 hops=2
        b 5.01 deliver .x p:1 hops=1
        b 5.11 deliver .x.y p:2 hops=1
        b 5.21 deliver .x p:3 hops=1
        b 5.31 deliver .x p:4 hops=1
        p 9 stop
        a 9 stop
        b 9 stop
        """,
        {"gaps": 1, "lost": 2, "recovered": 2, "after_us_p50": 70_000, "after_us_p99": 99_400, "after_us_max": 100_000},
    ),
    "slow, not lost": (  # what is behind came first: it is noticed, and comes by itself
        """
        p 0 start
        a 0 subscribe .x
        p 5 publish .x p:1
        p 5.1 publish .x p:2
        p 5.2 publish .x p:3
        a 5.01 deliver .x p:1
        a 5.21 deliver .x p:3
        a 5.21 gap .x p detail=2-2
        a 5.25 deliver .x p:2
        p 9 stop
        a 9 stop
        """,
        {"gaps": 1, "lost": 1, "came_late": 1},
    ),
    "never found": (  # c noticed nothing: what it lacks is no gap that was left
        """
        p 0 start
        a 0 subscribe .x
        c 0 subscribe .x
        p 5 publish .x p:1
        p 5.1 publish .x p:2
        p 5.2 publish .x p:3
        p 5.3 publish .x p:4
        a 5.01 deliver .x p:1
        a 5.31 deliver .x p:4
        a 5.31 gap .x p detail=2-3
        a 5.4 recover p:3 peer=c detail=90000
        a 5.4 deliver .x p:3
        c 5.01 deliver .x p:1
        c 5.11 deliver .x p:2
        c 5.21 deliver .x p:3
        p 9 stop
        a 9 stop
        c 9 stop
        """,
        {"gaps": 1, "lost": 2, "recovered": 1, "unfilled": 1,
         "after_us_p50": 90_000, "after_us_p99": 90_000, "after_us_max": 90_000},
    ),
    "gaps of two lives": (  # each life counts its events anew; a gap of one is none of the other
        """
        p 0 start
        a 0 subscribe .x
        p 5 publish .x p:1
        p 8 alive
        p/2 10 start
        p/2 12 publish .x p/2:1
        p/2 12.1 publish .x p/2:2
        a 12.01 deliver .x p/2:1
        a 12.2 gap .x p/2 detail=2-2
        a 12.3 recover p/2:2 peer=p detail=100000
        a 12.3 deliver .x p/2:2
        p/2 20 stop
        a 20 stop
        """,
        {"gaps": 1, "lost": 1, "recovered": 1,
         "after_us_p50": 100_000, "after_us_p99": 100_000, "after_us_max": 100_000},
    ),
    "odd rows": (  # a detail that says nothing counts as none; a gap that a reader was told of is another thing
        """
        p 0 start
        a 0 subscribe .x
        a 1 gap .x p detail=many
        a 2 gap .x p
        a 3 gap .x detail=7:slow
        a 4 gap p detail=1-2
        p 5 publish .x p:1
        a 5.1 recover p:1 peer=p
        a 5.1 deliver .x p:1
        a 5.2 recover .x q:9 peer=p detail=soon
        a 5.2 recover peer=p
        a 9 stop
        p 9 stop
        """,
        {"gaps": 2, "recovered": 2},
    ),
    "unheard": (  # killed for good, and nobody has it; the other one somebody has, so it could be found
        """
        a 0 subscribe .x
        b 0 subscribe .x
        p 0 subscribe .x
        p 5 publish .x p:1
        p 5 deliver .x p:1
        q 0 start
        q 5 publish .x q:1
        a 5.1 deliver .x q:1
        a 9 stop
        b 9 stop
        """,
        {},
    ),
    "filtered on the way": (  # which events match, no trace tells: in doubt, and never unasked
        """
        p 0 start
        r 0 start
        r 0 relay
        a 0 subscribe .x detail=price>100
        b 0 subscribe .x detail=price>100
        b 4 subscribe .x
        b 8 unsubscribe .x detail=price>100
        c 0 subscribe .x
        c 0 subscribe .x detail=price>100
        c 4 unsubscribe .x detail=price>100
        p 5 publish .x p:1
        r 5.1 relay .x p:1 peer=p
        a 5.2 deliver .x p:1
        c 5.2 deliver .x p:1
        p 5.3 publish .x p:2
        c 5.4 deliver .x p:2
        p 9 stop
        r 9 stop
        a 9 stop
        b 9 stop
        c 9 stop
        """,
        {},
    ),
}  # fmt: skip
