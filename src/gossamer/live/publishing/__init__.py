"""Events of our own users: signed, committed, spread, and offered until enough members have them.

In: what `publish` is given. Out: events on disk, then to the machine.
"""
