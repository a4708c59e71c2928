"""Epidemic recovery: lost events are noticed by gaps between their tags, and found again by gossip (003)."""
