"""Connections to other processes: frames in and out, calls, queues per peer, who answers where.

In: bytes from sockets, and what is to be sent to whom. Out: frames, read and counted, of a peer that proved who it is.
"""
