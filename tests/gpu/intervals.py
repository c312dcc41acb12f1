# SPDX-License-Identifier: Apache-2.0
"""Intervals for A/B comparisons: bootstrap over blocks, and over rounds of blocks.

Consecutive samples of one run are not independent (clocks, temperature, neighbours), so a block of
them is one observation, its median.
"""

import random
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

RESAMPLES = 2000
CONFIDENCE = 0.95
RATIOS_MIN = 3


class Interval(NamedTuple):
    value: float
    lo: float
    hi: float


def blocks(samples: Sequence[float], count: int) -> list[float]:
    """Medians of `count` stretches of equal length; what does not fill the last one is left out."""
    length = len(samples) // count
    if length == 0:
        raise ValueError(f"{len(samples)} samples do not fill {count} blocks")
    return [statistics.median(samples[i * length : (i + 1) * length]) for i in range(count)]


def _bootstrap(value: float, draw: Callable[[random.Random], float]) -> Interval:
    generator = random.Random(1)
    drawn = sorted(draw(generator) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1 - CONFIDENCE) / 2)
    return Interval(value, drawn[tail], drawn[-1 - tail])


def _resample(values: Sequence[float], generator: random.Random) -> list[float]:
    return generator.choices(values, k=len(values))


def alternating(held: Sequence[tuple[str, float]], changed: str) -> Interval:
    """Stretches in which two settings took turns: each `changed` one against the mean of the other
    setting's on both its sides, so that a slow drift cancels. At least three such are needed."""
    ratios = [
        middle[1] / statistics.fmean([before[1], after[1]])
        for before, middle, after in zip(held, held[1:], held[2:], strict=False)
        if middle[0] == changed and before[0] == after[0] != changed
    ]
    if len(ratios) < RATIOS_MIN:
        raise ValueError(f"{len(ratios)} turns are too few for an interval")
    return _bootstrap(
        statistics.fmean(ratios), lambda generator: statistics.fmean(_resample(ratios, generator))
    )


def _over_rounds(
    rounds: Sequence[tuple[Sequence[float], Sequence[float]]],
    compare: Callable[[float, float], float],
) -> Interval:
    def mean(chosen, take) -> float:
        return statistics.fmean(
            compare(statistics.fmean(take(base)), statistics.fmean(take(changed)))
            for base, changed in chosen
        )

    return _bootstrap(
        mean(rounds, list),
        lambda generator: mean(
            generator.choices(rounds, k=len(rounds)), lambda b: _resample(b, generator)
        ),
    )


def ratio_of_rounds(rounds: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Interval:
    """Mean over rounds of changed / base; a round is one run of each, as blocks."""
    return _over_rounds(rounds, lambda base, changed: changed / base)


def difference_of_rounds(rounds: Sequence[tuple[Sequence[float], Sequence[float]]]) -> Interval:
    """Mean over rounds of changed - base."""
    return _over_rounds(rounds, lambda base, changed: changed - base)


def judge(measured: Interval, limit: float) -> bool | None:
    """True: below the limit with confidence; False: above it with confidence; None: unclear."""
    if measured.hi <= limit:
        return True
    return False if measured.lo > limit else None
