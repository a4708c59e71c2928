"""What can be seen of a node from outside: numbers, health, traces, the journal.

In: what happened. Out: rows and pages; nothing here changes what a node does.
"""
