"""A node as a running whole: its clock, the driver that performs effects, its parts put together, signals, reloads."""
