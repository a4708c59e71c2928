"""SpiderCast: one overlay of few links for many topics, built from what nodes are interested in (002)."""
