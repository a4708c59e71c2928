"""What can go wrong, by whose fault it is.

GossamerError
├── Misuse          our caller asked for something impossible
├── PeerFault       another node sent what it should not have
├── SpecError       a file says something wrong
└── TransportDown   something outside cannot be reached
    └── Full        there is no room now; there may be later
"""


class GossamerError(Exception):
    """One sentence that says what is wrong and what to do."""


class Misuse(GossamerError):
    """Our caller's mistake."""


class PeerFault(GossamerError):
    """Another node's mistake. Machines never raise it: they return a Note."""


class SpecError(GossamerError):
    """A file's mistake: names the file and the field."""


class TransportDown(GossamerError):
    """Something outside this process cannot be reached."""


class Full(TransportDown):
    """There is no room for more at the moment: try again later."""
