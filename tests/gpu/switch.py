# SPDX-License-Identifier: Apache-2.0
"""A process in which calls of cuBLAS and cuDNN go to the real functions or to hooks by turns, and what
the hooks cost it.

A call of another object's function goes through a slot of the calling object, which the loader filled
with the hook if a shim is preloaded, and else with the real function. What stands there is changed
between two products of the process (switch.c): so both are met by the same process within a millisecond,
on the same data. What stays in both is the recorder's threads, which work on other processors.

`places` is for call_cost.c, which switches recording instead.
"""

import ctypes
import hashlib
import mmap
import os
import pathlib
import statistics
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

FUNCTIONS = ("tap_pause", "tap_resume")
SHIM = "/libtilewise-tracer.so"
STREAM, EXECUTE = "cublasSetStream_v2", "cudnnBackendExecute"
VARIANTS, GROUPS_MAX = 16, 4_000_000
RUN = 9  # groups in a row of one variant
COLD = 2  # of them, what found another variant's lines in the caches
WARM_UP_STEPS = 20
GROUPS_MIN = 10  # of a place and a variant, to say anything
HOOKED = 2  # variants of a process with one shim: from this one on its hooks; before, without, in two
OWN = (False, False, True, True)  # halves to tell from each other


class Group(NamedTuple):
    """From one cublasSetStream to the next; number: how many were before it."""

    ns: float
    variant: int
    executions: int
    number: int


class StepCost(NamedTuple):
    """Of a process, in ns. step: of one; the others are what hooks add: to a step; to one with nothing
    left out; to a product with its setters; to an execution of cuDNN (None: there was none). alike: what steps
    without hooks differ by."""

    step: float
    added: float
    mean_added: float
    product: float
    execution: float | None
    alike: float


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


class Mapped(NamedTuple):
    first: int
    end: int
    rights: str


class _Loaded(ctypes.Structure):
    _fields_ = (("base", ctypes.c_size_t), ("name", ctypes.c_char_p))


def _load_order() -> dict[int, int]:
    """By where an object begins: how many were loaded before it."""
    bases: list[int] = []
    told = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Loaded), ctypes.c_size_t, ctypes.c_void_p)

    def tell(loaded, _size, _data) -> int:
        bases.append(loaded.contents.base)
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(told(tell), None)
    return {base: number for number, base in enumerate(bases)}


def loaded_objects() -> dict[str, list[Mapped]]:
    """Shared objects by their path, in the order in which the loader searches them; the first mapping
    is the file's beginning."""
    found: dict[str, list[Mapped]] = {}
    for line in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) < 6 or ".so" not in os.path.basename(fields[5]):
            continue
        if fields[5] in found or int(fields[2], 16) == 0:
            first, end = (int(part, 16) for part in fields[0].split("-"))
            found.setdefault(fields[5], []).append(Mapped(first, end, fields[1]))
    order = _load_order()
    return dict(sorted(found.items(), key=lambda one: order.get(one[1][0].first, len(order))))


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


def readable(maps: list[Mapped], at: int) -> Mapped | None:
    """Where a place of an object is mapped."""
    return next((one for one in maps if one.first <= at < one.end and "r" in one.rights), None)


def make_writable(mapping: Mapped, at: int) -> None:
    """The page of a place, which the loader may have closed."""
    if "w" in mapping.rights:
        return
    page, rights = at & -mmap.PAGESIZE, mmap.PROT_READ | mmap.PROT_WRITE
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    if protect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), rights) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def build(folder: pathlib.Path) -> pathlib.Path:
    library = folder / "switch.so"
    command = [os.environ.get("CC", "cc"), "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-Wl,-Bsymbolic"]
    source = pathlib.Path(__file__).with_suffix(".c")
    subprocess.run([*command, str(source), "-o", str(library)], check=True)
    return library


class _Slot(ctypes.Structure):
    _fields_ = (("at", ctypes.c_size_t), ("target", ctypes.c_size_t * VARIANTS))


class _Group(ctypes.Structure):
    _fields_ = (("ns", ctypes.c_uint64), ("variant", ctypes.c_uint32), ("executions", ctypes.c_uint32))


class Switch:
    """Of all slots that hold one of the functions of their name in `held`. ValueError: no call of
    cublasSetStream goes through one."""

    def __init__(self, library: pathlib.Path, held: Mapping[str, Sequence[int]]):
        self._library = ctypes.CDLL(str(library))
        self._library.switch_count.restype = ctypes.c_uint64
        self._library.switch_stop.restype = ctypes.POINTER(_Group)
        self._doors = {
            name: ((ctypes.c_size_t * VARIANTS).in_dll(self._library, door), _address(self._library, door + "_door"))
            for name, door in ((STREAM, "switch_stream"), (EXECUTE, "switch_execute"))
        }
        self.held: dict[str, int] = {}
        found: list[tuple[str, int]] = []
        for path, maps in loaded_objects().items():
            for name, at in slots(path):
                if self._holds(maps, maps[0].first + at, held.get(name, ())):
                    found.append((name, maps[0].first + at))
        if STREAM not in (name for name, _ in found):
            raise ValueError("nothing that is loaded calls cuBLAS")
        self._names = [name for name, _ in found if name not in self._doors]
        self._slots = (_Slot * len(self._names))()
        self._take(found)

    @staticmethod
    def _holds(maps: list[Mapped], at: int, functions: Sequence[int]) -> bool:
        mapping = readable(maps, at) if functions else None
        if not mapping or ctypes.c_size_t.from_address(at).value not in functions:
            return False
        make_writable(mapping, at)
        return True

    def _take(self, found: Sequence[tuple[str, int]]) -> None:
        cells = {at: ctypes.c_size_t.from_address(at) for _, at in found}
        self.held = {name: cells[at].value for name, at in found}
        self.lead(0, self.held)
        for slot, at in zip(self._slots, (at for name, at in found if name not in self._doors), strict=True):
            slot.at = at
        self._library.switch_slots(self._slots, ctypes.c_uint64(len(self._slots)))
        for name, at in found:
            if name in self._doors:
                cells[at].value = self._doors[name][1]

    def lead(self, variant: int, functions: Mapping[str, int]) -> None:
        """To functions; what has none goes where it went at first."""
        for name, slot in zip(self._names, self._slots, strict=True):
            slot.target[variant] = functions.get(name, self.held[name])
        for name, (targets, _) in self._doors.items():
            targets[variant] = functions.get(name, self.held.get(name, 0))

    def choose(self, variant: int) -> None:
        self._library.switch_set(variant)

    def plan(self) -> int:
        """The one that was executed last."""
        return ctypes.c_size_t.in_dll(self._library, "switch_plan").value

    def drawn(self, variants: int, work: Callable, seed: str = "") -> tuple[list[Group], object]:
        """Groups while variants are drawn, and what `work` returns. In the end, calls go where the last
        group's went."""
        words = hashlib.sha256(seed.encode()).digest()[:8]
        seed_word = ctypes.c_uint64(int.from_bytes(words, "little"))
        if not self._library.switch_start(variants, RUN, ctypes.c_uint64(GROUPS_MAX), seed_word):
            raise MemoryError("no memory for the groups")
        result = work()
        count = self.count()
        kept = self._library.switch_stop()
        if count == GROUPS_MAX:
            raise ValueError(f"no room for more than {GROUPS_MAX} groups: give fewer seconds")
        raw = [(kept[i].ns, kept[i].variant, kept[i].executions) for i in range(count)]
        pairs = enumerate(zip(raw, raw[1:], strict=False))
        return [Group(after[0] - one[0], *one[1:], number) for number, (one, after) in pairs], result

    def count(self) -> int:
        """Groups so far."""
        return self._library.switch_count()


def _address(library: ctypes.CDLL, name: str) -> int | None:
    function = getattr(library, name, None)
    return ctypes.cast(function, ctypes.c_void_p).value if function else None


def functions_of(library: ctypes.CDLL, names: Sequence[str]) -> dict[str, int]:
    """Those of `names` that it has."""
    found = {name: _address(library, name) for name in names}
    return {name: address for name, address in found.items() if address}


def real_functions(names: Sequence[str], but: Sequence[str] = ()) -> dict[str, list[int]]:
    """Where loaded objects, `but` some, define them; first where the loader would find them."""
    found: dict[str, list[int]] = {}
    for path, maps in loaded_objects().items():
        for name, at in defined(path) if path not in but else ():
            if name in names:
                found.setdefault(name, []).append(maps[0].first + at)
    return found


def own_hooks(library: pathlib.Path) -> Switch:
    """Of a process into which a shim is preloaded: variants are OWN. ValueError: it is not."""
    objects = loaded_objects()
    shims = [path for path in objects if path.endswith(SHIM)]
    if not shims:
        raise ValueError("the shim is not loaded into this process")
    base = objects[shims[0]][0].first
    # Functions of the loader are hooked too; they are no part of a step.
    hooks = {name: base + at for name, at in defined(shims[0]) if not name.startswith("dl")}
    real = real_functions(hooks, shims)
    switch = Switch(library, {name: [at] for name, at in hooks.items() if name in real})
    for variant, is_hook in enumerate(OWN):
        switch.lead(variant, {} if is_hook else {name: real[name][0] for name in switch.held})
    switch.choose(len(OWN) - 1)
    return switch


def middle(values: Sequence[float]) -> float:
    """Mean without the fastest and the slowest tenth, which are something else's."""
    ordered = sorted(values)
    tenth = len(ordered) // 10
    return statistics.fmean(ordered[tenth : len(ordered) - tenth])


def _factors(steps: Sequence[Sequence[Group]], usual: Sequence[float]) -> dict[int, float]:
    """Of runs, how much longer than usually all took at that time: the two before it and the two behind
    it, as its own variant must not be in it."""
    took: dict[int, float] = {}
    usually: dict[int, float] = {}
    for step in steps:
        for group, ns in zip(step, usual, strict=True):
            if group.number % RUN >= COLD:
                run = group.number // RUN
                took[run] = took.get(run, 0) + group.ns
                usually[run] = usually.get(run, 0) + ns
    paces = {run: took[run] / usually[run] for run in took if usually[run] > 0}
    around = {run: (run - 2, run - 1, run + 1, run + 2) for run in paces}
    return {
        run: statistics.fmean(paces[one] for one in near)
        for run, near in around.items()
        if all(paces.get(one, 0) > 0 for one in near)
    }


def above_usual(steps: Sequence[Sequence[Group]]) -> list[list[tuple[int, Group, float]]]:
    """Of each step, its groups but the cold ones: place in it, group, and the ns that it took above the
    median of its place. What slows a host for milliseconds, such as a neighbour on its processor, is
    taken out. All steps have the same number of groups."""
    usual = [statistics.median(step[place].ns for step in steps) for place in range(len(steps[0]))]
    factors = _factors(steps, usual)
    return [
        [
            (place, group, group.ns / factors[group.number // RUN] - usual[place])
            for place, group in enumerate(step)
            if group.number % RUN >= COLD and group.number // RUN in factors
        ]
        for step in steps
    ]


def cost_of_steps(steps: Sequence[Sequence[Group]]) -> StepCost:
    """Of groups by step, with the variants of OWN. Place by place, so that each group is held against
    those that do the same work. The first steps are left out, and those with other groups than most."""
    places = statistics.mode(map(len, steps))
    steps = [step for step in steps if len(step) == places][WARM_UP_STEPS:]
    # By place, and by variant; the last two are one.
    above: list[list[list[float]]] = [[[], [], []] for _ in range(places)]
    for step in above_usual(steps):
        for place, group, ns in step:
            above[place][min(group.variant, HOOKED)].append(ns)
    if min(len(values) for of_place in above for values in of_place) < GROUPS_MIN:
        raise ValueError("too few steps: a variant was hardly met at some place of a step")
    added = [middle(hooked) - middle(out + too) for out, too, hooked in above]
    executes = [any(step[place].executions for step in steps) for place in range(places)]
    plain = [ns for ns, executed in zip(added, executes, strict=True) if not executed]
    with_execution = [ns for ns, executed in zip(added, executes, strict=True) if executed]
    product = statistics.fmean(plain) if plain else 0.0
    return StepCost(
        step=statistics.median(sum(group.ns for group in step) for step in steps),
        added=sum(added),
        mean_added=sum(
            statistics.fmean(hooked) - statistics.fmean(out + too) for out, too, hooked in above
        ),
        product=product,
        execution=statistics.fmean(with_execution) - product if with_execution else None,
        alike=sum(middle(too) - middle(out) for out, too, _ in above),
    )
