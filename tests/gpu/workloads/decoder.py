#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Llama-like decoder (transformers, random weights, grouped-query attention), prefill and decode.

Modes: `eager`; `graph` (one CUDA graph of a decode step per batch size, over a static cache);
`compile` (torch.compile of the model). Several modes and batch sizes may be given, separated by
commas. The last line of stdout is JSON: per mode and batch size the prefill time, the median time of
a step and how often each graph was launched (marks.py).

With --seconds the decode loop runs that long instead of --steps. --step-times FILE gets a line "MODE
BATCH START_UNIX_NS DURATION_NS" for each step.

With --turns it decodes on demand: a line "MODE SECONDS" on stdin is answered by a line of JSON on
stdout, what a step of that turn took. So two processes, one recorded, can take turns on one machine
without paying their start each time. The first step of a turn is not in it. With --switch (the shim is
loaded) a line "MODE SECONDS SEED" takes the shim's hooks out and puts them back between products, in an
order of that seed (switch.py); the answer has what they cost, how many steps they were in, and which
ones were taken out.
"""

import argparse
import contextlib
import gc
import json
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator

import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import marks
import switch

WARM_UP_STEPS = 3


class Decoder:
    """A model and its static cache for one batch size; everything that a step changes is a tensor."""

    def __init__(self, model: LlamaForCausalLM, batch: int, prompt: int, steps: int):
        device = model.device
        self.model, self.prompt, self.steps = model, prompt, steps
        length = prompt + steps + WARM_UP_STEPS
        self.cache = StaticCache(model.config, max_cache_len=length)
        self.forward: Callable = model.forward
        self.prompt_ids = torch.randint(model.config.vocab_size, (batch, prompt), device=device)
        self.token = torch.zeros(batch, 1, dtype=torch.long, device=device)
        self.position = torch.zeros(1, 1, dtype=torch.long, device=device)
        self.slots = torch.arange(length, device=device).view(1, 1, 1, length)
        self.rewind(0)

    def rewind(self, length: int) -> None:
        """Forget what lies behind the first `length` tokens."""
        for layer in self.cache.layers:
            layer.cumulative_length.fill_(length)
        self.position.fill_(length)

    def prefill(self) -> None:
        self.rewind(0)
        logits = self.model(
            self.prompt_ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1
        ).logits
        self.token.copy_(logits[:, -1:].argmax(-1))
        self.position.fill_(self.prompt)

    def step(self) -> None:
        """One token for every sequence; no host value changes from step to step."""
        seen = (self.slots <= self.position).expand(self.token.shape[0], -1, -1, -1)
        logits = self.forward(
            self.token,
            attention_mask=seen,
            position_ids=self.position,
            past_key_values=self.cache,
            use_cache=True,
        ).logits
        self.token.copy_(logits[:, -1:].argmax(-1))
        self.position.add_(1)


def build(given: argparse.Namespace) -> LlamaForCausalLM:
    config = LlamaConfig(
        hidden_size=given.hidden,
        intermediate_size=given.hidden * 11 // 4,
        num_hidden_layers=given.layers,
        num_attention_heads=given.hidden // 128,
        num_key_value_heads=max(1, given.hidden // 512),
        vocab_size=32000,
        max_position_embeddings=8192,
        dtype=torch.bfloat16,
    )
    torch.manual_seed(1)
    with torch.device(given.device):
        torch.set_default_dtype(torch.bfloat16)
        model = LlamaForCausalLM(config).eval()
        torch.set_default_dtype(torch.float32)
    return model


def capture(decoder: Decoder, graph_number: int) -> Callable[[], None]:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP_STEPS):
            decoder.step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    marks.place(torch, 2 * graph_number)
    with torch.cuda.graph(graph):
        decoder.step()
    marks.place(torch, 2 * graph_number + 1)
    return graph.replay


def synchronize(given: argparse.Namespace) -> None:
    if given.device == "cuda":
        torch.cuda.synchronize()


@contextlib.contextmanager
def phase(given: argparse.Namespace, name: str) -> Iterator[None]:
    if not given.phase_marks:
        yield
        return
    torch.cuda.nvtx.range_push(name)
    yield
    torch.cuda.nvtx.range_pop()


def decode(
    given: argparse.Namespace,
    decoder: Decoder,
    step: Callable,
    before: Callable[[int], None] = lambda _: None,
) -> list[tuple[int, int]]:
    """(start_unix_ns, duration_ns) of each step; `before` gets its number."""
    times: list[tuple[int, int]] = []
    deadline = time.monotonic() + given.seconds
    while (time.monotonic() < deadline) if given.seconds else len(times) < given.steps:
        if len(times) % given.steps == 0:
            decoder.rewind(given.prompt)
            synchronize(given)
        before(len(times))
        start_unix_ns, start_ns = time.time_ns(), time.perf_counter_ns()
        with phase(given, "decode"):
            step()
            synchronize(given)
        times.append((start_unix_ns, time.perf_counter_ns() - start_ns))
    return times


def measure(given: argparse.Namespace, model: LlamaForCausalLM, mode: str, batch: int, graph: int):
    decoder = Decoder(model, batch, given.prompt, given.steps)
    decoder.prefill()
    synchronize(given)
    start_ns = time.perf_counter_ns()
    with phase(given, "prefill"):
        decoder.prefill()
        synchronize(given)
    prefill_ns = time.perf_counter_ns() - start_ns
    step: Callable = decoder.step
    start_ns = time.perf_counter_ns()
    if mode == "compile":
        decoder.forward = torch.compile(model.forward, dynamic=False)
    if mode == "graph":
        step = capture(decoder, graph)
    else:
        for _ in range(WARM_UP_STEPS):
            step()
    synchronize(given)
    prepare_ns = time.perf_counter_ns() - start_ns
    times = decode(given, decoder, step)
    if given.step_times:
        with open(given.step_times, "a", encoding="ascii") as out:
            out.writelines(f"{mode} {batch} {start} {length}\n" for start, length in times)
    durations = [duration for _, duration in times]
    return {
        "mode": mode,
        "batch": batch,
        "steps": len(times),
        "prefill_ms": prefill_ns / 1e6,
        "prepare_s": prepare_ns / 1e9,
        "step_ms": {
            "median": statistics.median(durations) / 1e6,
            "mean": statistics.fmean(durations) / 1e6,
            "min": min(durations) / 1e6,
        },
        "last_token": decoder.token.flatten()[0].item(),
    }


def prepared(given: argparse.Namespace, model: LlamaForCausalLM, mode: str, graph: int):
    """A decoder and its step, ready to run."""
    decoder = Decoder(model, int(given.batch), given.prompt, given.steps)
    decoder.prefill()
    step: Callable = decoder.step
    if mode == "graph":
        step = capture(decoder, graph)
    else:
        for _ in range(WARM_UP_STEPS):
            step()
    synchronize(given)
    return decoder, step


def cost_of_hooks(calls: switch.Switch, steps: Callable, seed: str) -> dict:
    """Of the shim's hooks, while `steps` makes steps; it is given what to do before each."""
    starts: list[int] = []
    groups, times = calls.drawn(
        len(switch.OWN), lambda: steps(lambda _: starts.append(calls.count())), seed
    )
    calls.choose(len(switch.OWN) - 1)
    found = switch.cost_of_steps([groups[a:b] for a, b in zip(starts, starts[1:], strict=False)])
    with_hooks = len(times) * statistics.fmean(switch.OWN[group.variant] for group in groups)
    return {"steps": with_hooks, "ns": found._asdict(), "hooks": sorted(calls.held)}


def take_turns(given: argparse.Namespace, model: LlamaForCausalLM) -> None:
    ready = {m: prepared(given, model, m, i) for i, m in enumerate(given.mode.split(","))}
    calls = switch.own_hooks(given.switch) if given.switch else None
    keep_still(given)
    print(json.dumps({"ready": list(ready)}), flush=True)
    for line in sys.stdin:
        mode, seconds, *seed = line.split()
        given.seconds = float(seconds)
        if seed:
            answer = cost_of_hooks(calls, lambda before: decode(given, *ready[mode], before), *seed)
        else:
            times = decode(given, *ready[mode])
            answer = {"median_ns": statistics.median(length for _, length in times[1:])}
        print(json.dumps(answer), flush=True)


def keep_still(given: argparse.Namespace) -> None:
    """What is not the work: the main thread stays where it is, and garbage is not looked for."""
    if given.pin:  # after the libraries have started their threads, so that it is this one alone
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        gc.collect()
        gc.freeze()
        gc.disable()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", default="eager", help="eager, graph, compile (commas allowed)")
    parser.add_argument("--batch", default="16", help="batch sizes, separated by commas")
    parser.add_argument("--steps", type=int, default=200, help="decode steps, and cache length")
    parser.add_argument("--prompt", type=int, default=128, help="prompt tokens")
    parser.add_argument("--hidden", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0, help="run this long instead of --steps")
    parser.add_argument("--step-times", metavar="FILE", help="append each step's start and length")
    parser.add_argument("--phase-marks", action="store_true", help="NVTX ranges prefill and decode")
    parser.add_argument("--turns", action="store_true", help="decode when stdin says so")
    parser.add_argument(
        "--switch", metavar="LIBRARY", help="with --turns: of switch.c, to take the shim's hooks out"
    )
    parser.add_argument(
        "--pin", action="store_true", help="main thread on one processor, no garbage collection"
    )
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    return parser.parse_args()


@torch.inference_mode()
def main() -> int:
    given = arguments()
    model = build(given)
    if given.turns:
        take_turns(given, model)
        return 0
    keep_still(given)
    runs, replays = [], {}
    for mode in given.mode.split(","):
        for batch in map(int, given.batch.split(",")):
            result = measure(given, model, mode, batch, len(replays))
            runs.append(result)
            if mode == "graph":
                replays[len(replays)] = result["steps"]
    print(json.dumps({"workload": "decoder", "runs": runs, "replays": replays}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
