#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own profiler around a fixed number of products: what it sees must not depend on us.

The last line of stdout is JSON: how many kernels and how much GPU time the profiler reports.
"""

import argparse
import json

import torch
from torch.profiler import ProfilerActivity, profile


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--products", type=int, default=50)
    given = parser.parse_args()
    a = torch.rand(512, 512, device="cuda", dtype=torch.bfloat16)
    (a @ a).sum().item()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(given.products):
            a @ a
        torch.cuda.synchronize()
    kernels = [
        event
        for event in profiler.events()
        if event.device_type == torch.autograd.DeviceType.CUDA and event.device_time_total > 0
    ]
    report = {
        "workload": "torch_profiler",
        "kernels": len(kernels),
        "names": sorted({event.name for event in kernels}),
        "gpu_us": sum(event.device_time_total for event in kernels),
    }
    print(json.dumps(report))
    return 0 if kernels else 1


if __name__ == "__main__":
    raise SystemExit(main())
