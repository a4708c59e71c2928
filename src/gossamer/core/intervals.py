"""How sure a mean is: half of its 95 % confidence interval, as honest from three runs as from three thousand."""

import math
from collections.abc import Sequence
from statistics import stdev
from typing import Any

Z95 = 1.959963984540054
"Of the normal distribution: what holds for very many values."
T95 = (
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
    2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
    2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272,
)  # fmt: skip
"Of Student's, which holds for few: for 2 values, 3, and so on."


def t95_of_many(values: Any) -> Any:
    """Student's quantile beyond the table, as a series in one over the degrees of freedom. Of a column, too."""
    z, freedom = Z95, values - 1
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + (first + (second + third / freedom) / freedom) / freedom


def t95(values: int) -> float:
    """How many standard errors the interval reaches to either side, for the mean of two values or more."""
    return T95[values - 2] if values <= len(T95) + 1 else float(t95_of_many(values))


def half_width(values: Sequence[float]) -> float:
    """0 if there is one value only."""
    return t95(len(values)) * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
