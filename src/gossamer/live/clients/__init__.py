"""Processes that use a node without being one: what they may ask, and how they are served.

In: requests of a client under its own grant. Out: answers and items, never more than it has room for.
"""
