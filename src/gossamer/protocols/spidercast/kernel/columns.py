"""Where numbers stand in the kernel's arrays. Few arrays with many columns: less passes from function to function."""

from typing import Any

# How the run is: Net.how
NODES, WORDS, SELECTION, MARGIN, QUARANTINE, VIEW, RENDEZVOUS, GREEDY_K, RANDOM_K, ADAPTIVE, REST, BEYOND = range(12)

# A node: Net.rows. Its topics stand at topics[START : START + NEEDS].
START, NEEDS, ALIVE = range(3)

# Selections, as numbers
COVERAGE, SIMILARITY, ANYBODY = range(3)
SELECTIONS = {"coverage": COVERAGE, "similarity": SIMILARITY, "random": ANYBODY}

# The state of one task at a node: TaskArrays.nodes
FIRST = 0  # its neighbours stand from here on in TaskArrays.links,
DEGREE = 1  # so many of them
COVER = 2  # K
LIMIT = 3
TARGET = 4
UNDER = 5
TOLD_DEGREE = 6  # what its last heartbeat told,
TOLD_TARGET = 7
ROSE = 8  # and in which round its degree rose last
WAKE = 9  # the round in which it has to look again: until then nothing it depends on changes
CHOICE = 10  # whom it writes to in this round,
PARTING = 11  # and whether that is a DISCONNECT
ANSWER = 12  # what came back: itself if it was accepted, else whom it was sent on to
HEARD = 13  # how many candidates others named
ATTEMPTS = 14  # how often it asked homes,
DUE = 15  # and when it may again
LISTED = 16  # how many candidates are on its short list,
FLOOR = 17  # and what no other one of its view scores more than; NEVER: nothing is known
GAIN = 18  # topics that whom it asks to connect would cover, of those that are not covered well enough
NODE_COLUMNS = 19
LISTED_MAX = 16

# A neighbour: TaskArrays.links
PEER = 0
ASKED = 1  # in which round it was asked to part, -1: not yet

# A topic of a node: TaskArrays.topics
COVERED = 0  # how many neighbours want it
SOUGHT = 1  # whether its home is asked in this round

# A letter: Scratch.letters; the third column holds the senders sorted by receiver, the fourth who is awake.
RECEIVER, SENDER, SORTED, AWAKE = range(4)

# Who comes or goes: Net.changes. Who comes wants news[TOPICS_FROM : TOPICS_TO]; who goes, nothing from -1 on.
WHEN, WHO, TOPICS_FROM, TOPICS_TO = range(4)

# Net.clock: the round to come, rounds without a message so far, the last one that had one, changes so far, topics that
# links covered when they were chosen; then messages by kind.
TURN, QUIET, LAST, CHANGES, GAINED, CONNECT, CONNECT_OK, REDIRECTED, LEAVE, PART, PART_OK, SEEK, FOUND = range(13)
MESSAGES = ("connect", "connect_ok", "redirect", "leave", "disconnect", "disconnect_ok", "seek", "found")

NOBODY: Any = -1
NEVER = (1 << 31) - 1
