"""Where numbers stand in a kernel's arrays, and what its counts are called."""

# Kinds of messages, and by what name each is known where its losses are drawn.
CARRY, DIGEST, WANT, LOST, ASK, AGAIN = range(6)
KIND_NAMES = ("dispatch.route", "recovery.digest", "recovery.want", "recovery.lost", "recovery.ask", "recovery.again")

# Numbers without a name of their own. Where a bare one is handed to a function, Numba compiles it once more for that.
NOBODY, NO_EVENT, ANY, NEVER = -1, -1, -1, -1
NOTHING = 0
NEWS, FOUND_AGAIN = 0, 1
MAY, MUST = 0, 1

# Columns of the queue of messages; the first two also of the heap of timers.
WHEN, ORDER, KIND, SENDER, TARGET, WHAT, PATTERN, INITIATOR, TURN = range(9)
QUEUE_COLUMNS = 9
WHOSE, AT_ONCE = 2, 3

# What the whole run keeps count of.
NOW, ORDERS, HEAD, TAIL, TIMERS, FREE, FAULT, MEASURED = range(8)

# What each dispatcher keeps count of.
LOST_COUNT, CACHE_HEAD, CACHE_COUNT, DUE_US, INTERVAL, BUSY, SERVED, HURRIED, HURRIES = range(9)
DESK_COLUMNS = 9

# What is known of an event at a dispatcher: bits of a byte.
SEEN, CACHED, MISSED, SPREAD, OURS = 1, 2, 4, 8, 16

# What a run is told: whole numbers,
UNTIL_US, LATENCY_US, PERIOD_US, CALM_US, IN_BURSTS, METHOD, INTERVAL_US, CACHE = range(8)
EXPIRY_US, EVICTION, CACHE_RELAYED, ADAPTIVE, IMMEDIATE, PUSH_LOCAL, FROM_US, TO_US, LOST_MAX = range(8, 17)
# and shares of one.
ARRIVES, ARRIVES_IN_STORM, WORSENS, IMPROVES, FORWARDED, PUBLISHER_SHARE = range(6)

METHODS = ("none", "push", "subscriber-pull", "publisher-pull", "combined")
NONE, PUSH, SUBSCRIBER_PULL, PUBLISHER_PULL, COMBINED = range(5)
EVICTIONS = ("fifo", "random", "subscriber-first")
FIFO, RANDOM, SUBSCRIBER_FIRST = range(3)

# What a run counts; `results.Result` says what each means.
EXPECTED, DELIVERED, EVENT_HOPS, DIGESTS, LOST_DIGESTS, ASKS, REQUESTS, RETRANSMISSIONS = range(8)
USELESS, MISSED_COUNT, RECOVERED, EXPIRED, SERVED_BY_PUBLISHER, SERVED_MAX, ASKED_MAX = range(8, 15)
COUNTS = 15
