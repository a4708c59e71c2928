"""Who may do what: an authority's keys, the grants it signs, and a node's ring of them.

In: files of a folder, and records that others show. Out: proofs of one's own, and whether those of others hold.
"""
