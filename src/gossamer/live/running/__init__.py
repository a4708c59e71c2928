"""A node as a running whole: its clock, the driver that performs effects, its parts put together, signals, reloads.

In: a `Config`, signals, and the effects of the machine. Out: calls to the other rooms, each of which does its part.
"""
