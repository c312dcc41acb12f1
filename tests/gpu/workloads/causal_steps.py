#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of a decoder-like loop with three kinds of products, for which the whole waits differently.

  chain   bf16, layer after layer in a CUDA graph; the host reads a result back at the end of a step,
          so the whole waits for it
  beside  f16, on a second stream of the graph and over sooner: nothing waits for it
  paced   f32, launched one by one by a host at a pace of its own, the GPU idle in between: the host
          waits for nothing

Behind every call stands a delay kernel of no length, so that a longer one changes times and nothing
else. --seconds S: steps for so long, to be recorded. --rounds N: so many rounds in which the loop runs
as it is, and then with longer delays behind every call of one kind; the last line of stdout is JSON: the
seconds of each run, and how much longer the delays of a run were in total.
"""

import argparse
import json
import time
from collections.abc import Callable

import torch

CHAIN, BESIDE, PACED = 30, 8, 4  # calls in a step
PACE_NS = 300_000
DELAYS_NS = {"chain": 20_000, "beside": 30_000, "paced": 100_000}
CALLS = {"chain": CHAIN, "beside": BESIDE, "paced": PACED}
SLEEPS = 200


def product(m: int, n: int, k: int, dtype: torch.dtype) -> Callable[[], None]:
    left = torch.randn(m, k, device="cuda", dtype=dtype)
    right = torch.randn(k, n, device="cuda", dtype=dtype)
    out = torch.empty(m, n, device="cuda", dtype=dtype)
    return lambda: torch.mm(left, right, out=out)


class Layers:
    """One after the other on a stream. Few and long: a small result over many inner elements leaves
    room for what runs beside, and there are few kernels to record."""

    def __init__(self, size: int = 1024, inner: int = 4096):
        make = {"device": "cuda", "dtype": torch.bfloat16}
        self.state = torch.randn(size, inner, **make)
        self.weight = torch.randn(inner, size, **make)
        self.made = torch.empty(size, size, **make)

    def run(self, behind: Callable[[], None]) -> None:
        for _ in range(CHAIN):
            torch.mm(self.state, self.weight, out=self.made)
            behind()
            torch.relu_(self.made)

    def read_back(self) -> float:
        return self.made[0, 0].item()


def sleeper(cycles: int) -> Callable[[], None]:
    return lambda: torch.cuda._sleep(cycles)


NO_LENGTH = sleeper(1)


def graph_of(work: Callable[[], None]) -> torch.cuda.CUDAGraph:
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def seconds_of(work: Callable[[], None]) -> float:
    """On the GPU."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def cycles_of(delay_ns: float) -> int:
    """Clocks of the GPU; it is at work while this is measured."""
    cycles = 10_000_000
    taken = min(seconds_of(sleeper(cycles)) for _ in range(3))
    return max(1, round(cycles * delay_ns * 1e-9 / taken))


def delay_s(kind: str, delay: Callable[[], None]) -> float:
    """How long one takes where it stands: in a graph, or launched by itself."""

    def many() -> None:
        for _ in range(SLEEPS):
            delay()

    run = many if kind == "paced" else graph_of(many).replay
    return min(seconds_of(run) for _ in range(3)) / SLEEPS


class Loop:
    def __init__(self):
        self.layers = Layers()
        self.beside = product(256, 256, 8192, torch.float16)
        self.paced = product(1024, 1024, 1024, torch.float32)
        self.stream = torch.cuda.Stream()

    def graph(self, behind_chain: Callable, behind_beside: Callable) -> torch.cuda.CUDAGraph:
        def step() -> None:
            main = torch.cuda.current_stream()
            self.stream.wait_stream(main)
            with torch.cuda.stream(self.stream):
                for _ in range(BESIDE):
                    self.beside()
                    behind_beside()
            self.layers.run(behind_chain)
            main.wait_stream(self.stream)

        return graph_of(step)

    def step(self, graph: torch.cuda.CUDAGraph, behind_paced: Callable) -> None:
        graph.replay()
        self.layers.read_back()
        due_ns = time.perf_counter_ns()
        for _ in range(PACED):
            self.paced()
            behind_paced()
            due_ns += PACE_NS
            while time.perf_counter_ns() < due_ns:
                pass


def timed(loop: Loop, steps: int, graph: torch.cuda.CUDAGraph, behind_paced: Callable) -> float:
    loop.step(graph, behind_paced)
    torch.cuda.synchronize()
    start_ns = time.perf_counter_ns()
    for _ in range(steps):
        loop.step(graph, behind_paced)
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start_ns) / 1e9


def measure(loop: Loop, rounds: int, steps: int) -> dict:
    delays = {kind: sleeper(cycles_of(delay)) for kind, delay in DELAYS_NS.items()}
    plain = loop.graph(NO_LENGTH, NO_LENGTH)
    runs = {
        "plain": (plain, NO_LENGTH),
        "chain": (loop.graph(delays["chain"], NO_LENGTH), NO_LENGTH),
        "beside": (loop.graph(NO_LENGTH, delays["beside"]), NO_LENGTH),
        "paced": (plain, delays["paced"]),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            seconds[name].append(timed(loop, steps, *run))
    injected = {
        kind: steps * CALLS[kind] * (delay_s(kind, delay) - delay_s(kind, NO_LENGTH))
        for kind, delay in delays.items()
    }
    return {"steps": steps, "seconds": seconds, "injected_s": injected}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--steps", type=int, default=150)
    given = parser.parse_args()
    torch.manual_seed(1)
    loop = Loop()
    made = {}
    if given.rounds:
        made = measure(loop, given.rounds, given.steps)
    if given.seconds:
        graph = loop.graph(NO_LENGTH, NO_LENGTH)
        deadline = time.monotonic() + given.seconds
        while time.monotonic() < deadline:
            loop.step(graph, NO_LENGTH)
    print(json.dumps({"workload": "causal_steps", **made}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
