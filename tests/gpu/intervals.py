# SPDX-License-Identifier: Apache-2.0
"""Intervals for A/B comparisons: bootstrap over blocks and over rounds of blocks; Student's over processes.

Consecutive samples of one run are not independent (clocks, temperature, neighbours), so a block of
them is one observation.
"""

import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

RESAMPLES = 2000
CONFIDENCE = 0.95
# Student's t for a confidence, for 1, 2, ... degrees of freedom.
STUDENT = {
    0.95: (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201),
    0.99: (63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499, 3.355, 3.250, 3.169, 3.106),
}
TURNS_MIN = 3


class Interval(NamedTuple):
    value: float
    lo: float
    hi: float


def blocks(samples: Sequence[float], count: int) -> list[float]:
    """Means of `count` stretches of equal length: what is rare weighs as it does in the whole. What
    does not fill the last one is left out."""
    length = len(samples) // count
    if length == 0:
        raise ValueError(f"{len(samples)} samples do not fill {count} blocks")
    return [statistics.fmean(samples[i * length : (i + 1) * length]) for i in range(count)]


def _bootstrap(value: float, draw: Callable[[random.Random], float]) -> Interval:
    generator = random.Random(1)
    drawn = sorted(draw(generator) for _ in range(RESAMPLES))
    tail = int(RESAMPLES * (1 - CONFIDENCE) / 2)
    return Interval(value, drawn[tail], drawn[-1 - tail])


def _resample(values: Sequence[float], generator: random.Random) -> list[float]:
    return generator.choices(values, k=len(values))


def ratio_of_turns(rounds: Sequence[Sequence[tuple[float, float]]]) -> Interval:
    """Median of changed / base over neighbouring turns, in logarithms; a round is one pair of
    processes as [(base, changed)]. Resampled are the rounds and the turns within them, so processes
    that disagree widen the interval. At least three turns a round are needed."""
    if not rounds or min(map(len, rounds)) < TURNS_MIN:
        raise ValueError("too few turns for an interval")
    logs = [[math.log(changed / base) for base, changed in turns] for turns in rounds]

    def middle(chosen: Sequence[Sequence[float]]) -> float:
        return math.exp(statistics.fmean(map(statistics.median, chosen)))

    return _bootstrap(
        middle(logs),
        lambda generator: middle(
            [_resample(turns, generator) for turns in generator.choices(logs, k=len(logs))]
        ),
    )


def of_processes(each: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """Mean of what each process says, and Student's interval: they differ, as memory lies elsewhere in
    each, by more than one process can tell. At least three are needed."""
    student = STUDENT[confidence]
    if not 3 <= len(each) <= len(student) + 1:
        raise ValueError(f"{len(each)} processes give no interval")
    mean = statistics.fmean(each)
    half = student[len(each) - 2] * statistics.stdev(each) / math.sqrt(len(each))
    return Interval(mean, mean - half, mean + half)


def median_difference(pairs: Sequence[tuple[float, float]]) -> Interval:
    """Median over rounds of changed - base, where a round gave one figure each."""
    differences = [changed - base for base, changed in pairs]
    return _bootstrap(
        statistics.median(differences),
        lambda generator: statistics.median(_resample(differences, generator)),
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


def judge(measured: Interval, limit: float) -> bool | None:
    """True: below the limit with confidence; False: above it with confidence; None: unclear."""
    if measured.hi <= limit:
        return True
    return False if measured.lo > limit else None
