#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch under emit_nvtx(record_shapes=True): additions of known sizes in two named phases.

The last line of stdout is JSON: how often each phase was entered, and how often each size was added.
"""

import json

import torch

SIZES = {(64, 128): 5, (256, 96): 7}
ENTRIES = {"prefill": 2, "decode": 6}


def main() -> int:
    pairs = [
        (torch.ones(size, device="cuda"), torch.ones(size, device="cuda"), repeat)
        for size, repeat in SIZES.items()
    ]
    weight = torch.ones(128, 128, device="cuda")
    weight @ weight  # outside of every phase
    with torch.autograd.profiler.emit_nvtx(record_shapes=True):
        for name, entries in ENTRIES.items():
            for _ in range(entries):
                torch.cuda.nvtx.range_push(name)
                for left, right, repeat in pairs:
                    for _ in range(repeat):
                        torch.add(left, right)
                weight @ weight
                torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()
    entries = sum(ENTRIES.values())
    adds = [{"size": size, "calls": entries * repeat} for size, repeat in SIZES.items()]
    print(json.dumps({"workload": "nvtx_ops", "phases": ENTRIES, "adds": adds}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
