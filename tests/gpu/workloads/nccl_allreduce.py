#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torch.distributed over every GPU of this machine, one process each: NCCL collectives.

The last line of stdout is JSON; `rows` says how often each rank asked for each collective. With one
GPU it is one rank, which still goes through NCCL.
"""

import argparse
import json
import os
import socket
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

ELEMENTS = (1, 1024, 65536, 1 << 20, (1 << 22) + 3)
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "i64": torch.int64}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def all_reduces(rank: int, ranks: int, repeat: int, rows: list[dict]) -> None:
    for name, dtype in DTYPES.items():
        for count in ELEMENTS:
            data = torch.full((count,), rank + 1, dtype=dtype, device="cuda")
            dist.all_reduce(data)
            if data[0].item() != ranks * (ranks + 1) / 2:
                raise RuntimeError(f"all-reduce of {count} {name} is wrong: {data[0].item()}")
            for _ in range(repeat - 1):
                dist.all_reduce(data)
            rows.append({"collective": "AllReduce", "dtype": name, "count": count, "calls": repeat})


def others(rank: int, ranks: int, repeat: int, rows: list[dict]) -> None:
    part = torch.ones(4096, device="cuda")
    whole = torch.ones(4096 * ranks, device="cuda")
    for _ in range(repeat):
        dist.all_gather_into_tensor(whole, part)
        dist.reduce_scatter_tensor(part, whole)
        dist.broadcast(part, src=0)
    for collective in ("AllGather", "ReduceScatter", "Broadcast"):
        rows.append({"collective": collective, "dtype": "f32", "count": 4096, "calls": repeat})


def work(rank: int, ranks: int, repeat: int, port: int, queue) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl", rank=rank, world_size=ranks, device_id=torch.device("cuda", rank)
    )
    rows: list[dict] = []
    all_reduces(rank, ranks, repeat, rows)
    others(rank, ranks, repeat, rows)
    torch.cuda.synchronize()
    queue.put({"rank": rank, "pid": os.getpid(), "rows": rows})
    dist.destroy_process_group()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=10)
    given = parser.parse_args()
    # On machines of several GPUs NVLink multicast may be shared with others; it changes nothing here.
    os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
    ranks = torch.cuda.device_count()
    start = time.monotonic()
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, args=(ranks, given.repeat, free_port(), queue), nprocs=ranks)
    results = sorted((queue.get() for _ in range(ranks)), key=lambda result: result["rank"])
    version = ".".join(map(str, torch.cuda.nccl.version()))
    report = {"workload": "nccl_allreduce", "ranks": results, "nccl": version}
    print(json.dumps(report | {"wall_s": time.monotonic() - start}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
