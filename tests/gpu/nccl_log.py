# SPDX-License-Identifier: Apache-2.0
"""Read NCCL's own log (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=COLL): one line for each collective.

host:849:849 [0] NCCL INFO AllReduce: opCount 0 ... count 1024 datatype 7 op 0 root 0 comm
0x1451a1c0 [nranks=2] stream (nil)
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

LINE = re.compile(r"NCCL INFO (\w+): opCount \w+ .* count (\d+) datatype (\d+) .*\[nranks=(\d+)\]")
TYPES = (
    "i8", "u8", "i32", "unknown", "i64", "unknown", "f16", "f32", "f64", "bf16", "e4m3", "e5m2",
)  # fmt: skip


class Collective(NamedTuple):
    op: str
    dtype: str
    m: int  # elements
    n: int  # ranks
    operation: str


def collectives(lines: Iterable[str]) -> Counter:
    counts: Counter = Counter()
    for line in lines:
        if found := LINE.search(line):
            name, count, number, ranks = found.groups()
            dtype = TYPES[int(number)] if int(number) < len(TYPES) else "unknown"
            counts[Collective("collective", dtype, int(count), int(ranks), name)] += 1
    return counts
