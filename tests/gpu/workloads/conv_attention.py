#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cuDNN through PyTorch: convolutions and scaled dot-product attention, forward and backward.

The last line of stdout is JSON; `rows` says how often each convolution and attention was asked of
cuDNN, so a trace can be held against it.
"""

import argparse
import json
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

# PyTorch has its own kernel for one channel a group, so the grouped row has several.
# batch, channels, height, width, filters, filter size, stride, padding, groups
CONVOLUTIONS = (
    (8, 64, 56, 56, 128, 3, 1, 1, 1),
    (8, 128, 28, 28, 256, 1, 1, 0, 1),
    (4, 3, 224, 224, 64, 7, 2, 3, 1),
    (2, 96, 31, 33, 96, 5, 2, 2, 4),
)
# batch, query heads, key heads, query length, key length, head size
ATTENTIONS = ((2, 16, 16, 512, 512, 64), (4, 16, 4, 256, 256, 128), (8, 8, 8, 1, 384, 128))
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def convolutions(repeat: int, rows: list[dict]) -> None:
    for name, dtype in DTYPES.items():
        for n, c, h, w, k, size, stride, padding, groups in CONVOLUTIONS:
            x = torch.randn(n, c, h, w, device="cuda", dtype=dtype)
            weight = torch.randn(k, c // groups, size, size, device="cuda", dtype=dtype)
            for _ in range(repeat):
                y = F.conv2d(x, weight, stride=stride, padding=padding, groups=groups)
            row = {"op": "conv", "dtype": name, "x": list(x.shape), "w": list(weight.shape)}
            row |= {"y": list(y.shape), "stride": stride, "padding": padding, "groups": groups}
            rows.append(row | {"direction": "forward", "calls": repeat})


def gradients(rows: list[dict]) -> None:
    n, c, h, w, k, size, stride, padding, groups = CONVOLUTIONS[0]
    for name in ("f32", "bf16"):
        layer = torch.nn.Conv2d(c, k, size, stride, padding, bias=False).to("cuda", DTYPES[name])
        x = torch.randn(n, c, h, w, device="cuda", dtype=DTYPES[name], requires_grad=True)
        layer(x).sum().backward()
        row = {"op": "conv", "dtype": name, "x": list(x.shape), "w": list(layer.weight.shape)}
        for direction in ("forward", "data gradient", "filter gradient"):
            rows.append(row | {"groups": groups, "direction": direction, "calls": 1})


def attentions(repeat: int, rows: list[dict], skipped: list[dict]) -> None:
    for name in ("f16", "bf16"):
        for batch, heads, key_heads, length, keys, size in ATTENTIONS:
            q = torch.randn(batch, heads, length, size, device="cuda", dtype=DTYPES[name])
            k = torch.randn(batch, key_heads, keys, size, device="cuda", dtype=DTYPES[name])
            row = {"op": "attention", "dtype": name, "q": list(q.shape), "k": list(k.shape)}
            try:
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    for _ in range(repeat):
                        F.scaled_dot_product_attention(
                            q, k, k, is_causal=length == keys, enable_gqa=heads != key_heads
                        )
                rows.append(row | {"direction": "forward", "calls": repeat})
            except RuntimeError as error:
                skipped.append(row | {"error": str(error).splitlines()[0]})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = False
    start = time.monotonic()
    rows: list[dict] = []
    skipped: list[dict] = []
    with torch.no_grad():
        convolutions(given.repeat, rows)
        attentions(given.repeat, rows, skipped)
    gradients(rows)
    torch.cuda.synchronize()
    report = {"workload": "conv_attention", "rows": rows, "skipped": skipped}
    report |= {"cudnn": torch.backends.cudnn.version(), "wall_s": time.monotonic() - start}
    print(json.dumps(report))
    return 1 if skipped else 0


if __name__ == "__main__":
    raise SystemExit(main())
