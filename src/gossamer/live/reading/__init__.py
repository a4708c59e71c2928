"""What our users read: subscriptions, inboxes, and the order they ask for.

In: deliveries of the machine. Out: items for readers, each with its place in the log.
"""
