"""How fast Gossamer is, measured against other ways to do the same in the same run. `make bench` runs it."""
