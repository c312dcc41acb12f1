# SPDX-License-Identifier: Apache-2.0
"""Intervals for A/B comparisons: bootstrap over blocks, and over rounds of blocks.

Consecutive samples of one run are not independent (clocks, temperature, neighbours), so a block of
them is one observation.
"""

import bisect
import itertools
import math
import operator
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

RESAMPLES = 2000
CONFIDENCE = 0.95
TURNS_MIN = BLOCKS_MIN = 3


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


class _Pool:
    """Values of all blocks, sorted once: a resample only changes how often each block counts, and
    sorting again would be most of a bootstrap's time."""

    def __init__(self, blocks: Iterable[Sequence[float]]):
        pairs = sorted((value, block) for block, values in enumerate(blocks) for value in values)
        self._values = [value for value, _ in pairs]
        self._blocks = [block for _, block in pairs]

    def middle(self, times: Sequence[int]) -> float:
        """Mean of the middle half of the values, where block i is there times[i] times."""
        counts = list(map(times.__getitem__, self._blocks))
        reached = [0, *itertools.accumulate(counts)]
        sums = [0.0, *itertools.accumulate(map(operator.mul, self._values, counts))]
        first = reached[-1] // 4
        last = reached[-1] - first

        def sum_of(rank: int) -> float:
            at = bisect.bisect_left(reached, rank, 1) - 1
            return sums[at] + (rank - reached[at]) * self._values[at]

        return (sum_of(last) - sum_of(first)) / (last - first)


def ratio_of_pairs(blocks: Sequence[Sequence[tuple[float, float]]]) -> Interval:
    """changed / base of samples that were neighbours: the mean of the middle half of the ratios of all
    pairs (base, changed), in logarithms. So what drifts more slowly than from one sample to the next
    is in neither, and neither is what befell one sample alone. A block is pairs that follow each
    other; resampled are whole blocks. At least three are needed."""
    if len(blocks) < BLOCKS_MIN:
        raise ValueError("too few blocks for an interval")
    pool = _Pool([[math.log(changed / base) for base, changed in one] for one in blocks])

    def draw(generator: random.Random) -> float:
        times = [0] * len(blocks)
        for block in _resample(range(len(blocks)), generator):
            times[block] += 1
        return math.exp(pool.middle(times))

    return _bootstrap(math.exp(pool.middle([1] * len(blocks))), draw)


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
