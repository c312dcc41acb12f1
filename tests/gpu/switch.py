# SPDX-License-Identifier: Apache-2.0
"""The shim's hooks of this very process, taken out and put back between two of its steps.

A call of another object's function goes through a slot of the calling object, which the loader filled
with the hook because the shim is preloaded. What would stand there without the shim is written there
for one step and the hook for another. So steps with and without the shim follow each other in one
process; what stays in both is the recorder's threads, which work on other processors.

`places` is for call_cost.c, which switches recording instead.
"""

import ctypes
import functools
import mmap
import os
import pathlib
import random
import subprocess
from collections.abc import Iterator, Sequence
from typing import NamedTuple

BLOCK_STEPS = 32
FUNCTIONS = ("tap_pause", "tap_resume")
SHIM = "/libtilewise-tracer.so"
OUT, OUT_TOO, ON = range(3)  # without the hooks, in two halves to tell them from each other; with


class Neighbours(NamedTuple):
    """Durations of steps beside each other."""

    pairs: list[tuple[float, float]]  # (without the hooks, with them)
    alike: list[tuple[float, float]]  # (OUT, OUT_TOO) of two pairs that follow each other


def places(shim: str) -> str:
    """Where the two functions are in the file that recording is switched by, as "PAUSE,RESUME"."""
    return ",".join(format(at, "016x") for at in places_of(shim, FUNCTIONS))


def places_of(shim: str, names: Sequence[str]) -> list[int]:
    """Where functions of a shim are in its file, exported or not."""
    listing = subprocess.run(["nm", shim], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1]: line.split()[0] for line in listing.splitlines() if line.strip()}
    absent = [name for name in names if name not in symbols]
    if absent:
        raise ValueError(f"{shim}: no symbol {', '.join(absent)} (is it stripped?)")
    return [int(symbols[name], 16) for name in names]


class Mapping(NamedTuple):
    first: int
    end: int
    rights: str


def loaded_objects() -> dict[str, list[Mapping]]:
    """Shared objects by their path; the first mapping is the file's beginning."""
    found: dict[str, list[Mapping]] = {}
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) < 6 or ".so" not in os.path.basename(fields[5]):
            continue
        if fields[5] in found or int(fields[2], 16) == 0:
            first, end = (int(part, 16) for part in fields[0].split("-"))
            found.setdefault(fields[5], []).append(Mapping(first, end, fields[1]))
    return found


def _lines(kinds: Sequence[str], *command: str) -> Iterator[list[str]]:
    """The words of lines that hold one of `kinds`: large libraries have millions of others."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
        for line in p.stdout:
            if any(kind in line for kind in kinds):
                yield line.split()


def defined(path: str) -> Iterator[tuple[str, int]]:
    """Functions that an object exports: name, place."""
    for words in _lines((" T ", " W ", " i "), "nm", "-D", "--defined-only", path):
        if len(words) == 3:
            yield words[2].split("@")[0], int(words[0], 16)


def slots(path: str) -> Iterator[tuple[str, int]]:
    """Where an object keeps addresses of functions that it calls: name, place."""
    for words in _lines(("_JUMP_SLO", "_GLOB_DAT"), "readelf", "-rW", path):
        if len(words) > 4:
            yield words[4].split("@")[0], int(words[0], 16)


def readable(maps: list[Mapping], at: int) -> Mapping | None:
    """Where a place of an object is mapped."""
    return next((one for one in maps if one.first <= at < one.end and "r" in one.rights), None)


def make_writable(mapping: Mapping, at: int) -> None:
    """The page of a place, which the loader may have closed."""
    if "w" in mapping.rights:
        return
    page, rights = at & -mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    if protect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), rights) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Switch:
    """Hooks of all slots that hold one when it is made; ValueError: there is none."""

    def __init__(self):
        objects = loaded_objects()
        shims = [path for path in objects if path.endswith(SHIM)]
        if not shims:
            raise ValueError("the shim is not loaded into this process")
        base = objects[shims[0]][0].first
        # Functions of the loader are hooked too; they are no part of a step.
        hooks = {name: base + at for name, at in defined(shims[0]) if not name.startswith("dl")}
        others = {path: maps for path, maps in objects.items() if path not in shims}
        real: dict[str, int] = {}
        for path, maps in others.items():
            for name, at in defined(path):
                if name in hooks:
                    real.setdefault(name, maps[0].first + at)
        self.names: set[str] = set()
        self._cells: list[tuple[ctypes.c_size_t, int, int]] = []
        for path, maps in others.items():
            for name, at in slots(path):
                if name in hooks and name in real:
                    self._take(name, maps, maps[0].first + at, hooks[name], real[name])
        if not self._cells:
            raise ValueError("nothing that is loaded calls a hook")

    def _take(self, name: str, maps: list[Mapping], at: int, hook: int, real: int) -> None:
        mapping = readable(maps, at)
        if not mapping or ctypes.c_size_t.from_address(at).value != hook:
            return
        make_writable(mapping, at)
        self.names.add(name)
        self._cells.append((ctypes.c_size_t.from_address(at), hook, real))

    def set(self, state: int) -> None:
        for cell, hook, real in self._cells:
            cell.value = hook if state == ON else real


@functools.lru_cache(maxsize=4)
def _order(block: int, seed: str) -> list[int]:
    """One of two neighbours is with the hooks; in random order, so that nothing that a step does every
    so many steps meets one state more often."""
    generator = random.Random(f"{seed} {block}")

    def shuffled(*states: int) -> list[int]:
        return generator.sample(states, len(states))

    halves = [half for _ in range(BLOCK_STEPS // 4) for half in shuffled(OUT, OUT_TOO)]
    return [state for half in halves for state in shuffled(ON, half)]


def state_of(step: int, seed: str) -> int:
    """Each process has its own seed: in one order, all would err alike where what a step takes depends
    on its number, and they would seem to agree."""
    return _order(step // BLOCK_STEPS, seed)[step % BLOCK_STEPS]


def neighbours(durations: Sequence[float], seed: str) -> Neighbours:
    """Of the whole blocks of steps but the first."""
    found = Neighbours([], [])
    took: dict[int, float] = {}
    for step in range(BLOCK_STEPS, len(durations) // BLOCK_STEPS * BLOCK_STEPS, 2):
        pair = {state_of(i, seed): durations[i] for i in (step, step + 1)}
        with_hooks = pair.pop(ON)
        found.pairs.append((*pair.values(), with_hooks))
        took |= pair
        if len(took) == 2:
            found.alike.append((took[OUT], took[OUT_TOO]))
            took = {}
    return found
