"""Who may do what: an authority's keys, the grants it signs, and a node's ring of them."""
