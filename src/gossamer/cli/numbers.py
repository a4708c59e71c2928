"""Numbers given on the command line."""

import math
from typing import Any

import click


class Real(click.FloatRange):
    """One within a range. `nan` is within every range, for click; and nothing can be done with it."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is no number: give one like 2.5.", param, ctx)
        return number
