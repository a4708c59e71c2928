"""Well-formed clients that want too much, against one node, while an honest client uses it."""
