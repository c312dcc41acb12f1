# SPDX-License-Identifier: Apache-2.0
"""How fast PyTorch adds, beside gpu_kernels: y += 0.5 x on cold buffers in turn, in CUDA graphs.

One JSON object per line: dtype, elements, median, 10 % and 90 % microseconds of a call, TB/s.
"""
import json
import statistics
import sys

import torch

COLD_BYTES = 512 << 20
ROTATIONS_MAX = 64
ROUNDS = 24


def record(x, y, calls: int):
    graph = torch.cuda.CUDAGraph()
    for a, b in zip(x, y):
        b.add_(a, alpha=0.5)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for i in range(calls):
            y[i % len(y)].add_(x[i % len(x)], alpha=0.5)
    return graph


def microseconds(graph, calls: int) -> float:
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    graph.replay()
    stop.record()
    torch.cuda.synchronize()
    return start.elapsed_time(stop) * 1e3 / calls


def measure(dtype, shape, gap: int) -> dict:
    """gap: elements behind each line of a matrix."""
    wide = (*shape[:-1], shape[-1] + gap)
    elements = shape[0] * (shape[1] if len(shape) > 1 else 1)
    size = torch.empty((), dtype=dtype).element_size()
    rotations = max(2, min(ROTATIONS_MAX, -(-COLD_BYTES // (2 * elements * size))))
    x, y = ([torch.rand(wide, device="cuda").to(dtype)[..., : shape[-1]] for _ in range(rotations)]
            for _ in range(2))
    calls = rotations
    us = microseconds(record(x, y, calls), calls)
    calls = max(rotations, min(256, int(1500 / us) + 1))
    graph = record(x, y, calls)
    microseconds(graph, calls)
    times = sorted(microseconds(graph, calls) for _ in range(ROUNDS))
    median = statistics.median(times)
    return {"torch": str(dtype).split(".")[-1], "shape": list(shape), "gap": gap,
            "us": round(median, 2), "low": round(times[ROUNDS // 10], 2),
            "high": round(times[-1 - ROUNDS // 10], 2),
            "tb_per_s": round(3 * elements * size / median * 1e-6, 3), "rotations": rotations}


def main() -> int:
    if not torch.cuda.is_available():
        print("torch_add.py: no GPU", file=sys.stderr)
        return 77
    print(json.dumps({"device": torch.cuda.get_device_name(), "pytorch": torch.__version__}))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for shape, gap in (((1 << 20,), 0), ((1 << 24,), 0), ((1 << 27,), 0), ((4096, 4096), 64),
                           ((16384, 1000), 24)):
            print(json.dumps(measure(dtype, shape, gap)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
