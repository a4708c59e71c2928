"""Gossamer's live node beside other ways to publish and subscribe, in one run. `make bench-live` runs it.

One publisher process, 1, 8 or 32 subscriber processes, and the broker where a system has one. Every system does the
same: `systems/` holds one small file for each, and nothing else here knows one from another.
"""
