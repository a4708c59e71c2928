"""hpmcast: multicast by delegates, condensed interests and gossip level by level; pmcast and rfpbcast in one level."""
