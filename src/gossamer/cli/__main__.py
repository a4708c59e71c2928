"""`python -m gossamer.cli` is the `gossamer` command."""

from gossamer.cli import main

main()
