"""CAMCAST's three membership services in live nodes, over TLS on this machine: the measurement of its section 6.2.

`make measure-services` runs it. Every network is one process with all its nodes: a hundred processes of their own would
need 60 MB each before the first event, and the sockets between the nodes are the same.
"""
