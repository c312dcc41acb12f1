# SPDX-License-Identifier: Apache-2.0
"""Recording of this very process, switched between two of its steps.

`tilewise ctl` takes up to a second to work; what it leads to in the process are two functions of the
shim, which take no time. They are not exported: `places` reads from the file where they are.
"""

import ctypes
import pathlib
import statistics
import subprocess
from collections.abc import Sequence

BLOCK_STEPS = 32  # of which half are recorded
FUNCTIONS = ("tap_pause", "tap_resume")
SHIM = "/libtilewise-tracer.so"


def places(shim: str) -> str:
    """Where the functions are in the file, as "PAUSE,RESUME"."""
    listing = subprocess.run(["nm", shim], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1]: line.split()[0] for line in listing.splitlines() if line.strip()}
    absent = [name for name in FUNCTIONS if name not in symbols]
    if absent:
        raise ValueError(f"{shim}: no symbol {', '.join(absent)} (is it stripped?)")
    return ",".join(symbols[name] for name in FUNCTIONS)


def loaded_at() -> int:
    """The address that the shim begins at in this process."""
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].endswith(SHIM) and int(fields[2], 16) == 0:
            return int(fields[0].split("-")[0], 16)
    raise ValueError("the shim is not loaded into this process")


class Switch:
    def __init__(self, at: str):
        base = loaded_at()
        pause, resume = (ctypes.CFUNCTYPE(None)(base + int(place, 16)) for place in at.split(","))
        self._functions = {False: pause, True: resume}

    def set(self, on: bool) -> None:
        self._functions[on]()


def is_on(step: int) -> bool:
    """On, off, off, on: what drifts meets both alike."""
    return step % 4 in (0, 3)


def medians(durations: Sequence[float]) -> list[tuple[float, float]]:
    """Of each whole block of steps but the first: (off, on)."""
    blocks = []
    for start in range(BLOCK_STEPS, len(durations) - BLOCK_STEPS + 1, BLOCK_STEPS):
        steps = range(start, start + BLOCK_STEPS)
        of = {on: [durations[i] for i in steps if is_on(i) == on] for on in (False, True)}
        blocks.append((statistics.median(of[False]), statistics.median(of[True])))
    return blocks
