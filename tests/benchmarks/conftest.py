"""Benchmarks stand beside the tests, not in the package: `python -m pytest` finds them, a bare `pytest` needs help."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
