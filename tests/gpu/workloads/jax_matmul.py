#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX: jit-compiled matrix products, which XLA resolves through dlsym.

By default the compiler is told to leave products to the vendor's library and to launch them one by
one, so that the vendor's log shows every call. --xla default leaves everything to XLA: its own
kernels, and command buffers (CUDA graphs) whose replays no log shows. The last line of stdout is
JSON.
"""

import argparse
import json
import os
import time

LIBRARY_FLAGS = (
    "--xla_gpu_enable_triton_gemm=false",
    "--xla_gpu_enable_command_buffer=",
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xla", default="library", choices=("library", "default"))
    parser.add_argument("--repeat", type=int, default=20, help="calls of each compiled function")
    return parser.parse_args()


def functions(jax, jnp):
    """(name, function, arguments): compiled once, called --repeat times."""

    def random(seed: int, *shape: int, dtype) -> object:
        return (jax.random.uniform(jax.random.key(seed), shape) - 0.5).astype(dtype)

    def attention(q, k, v):
        weights = jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k), axis=-1)
        return jnp.einsum("bhqk,bhkd->bhqd", weights, v)

    for dtype in (jnp.float32, jnp.bfloat16, jnp.float16, jnp.float64):
        name = jnp.dtype(dtype).name
        for m, k, n in ((256, 256, 256), (16, 1024, 2048), (100, 200, 300)):
            operands = random(m, m, k, dtype=dtype), random(n, k, n, dtype=dtype)
            yield f"matmul {name} {m}x{k}x{n}", jnp.matmul, operands
        yield (
            f"batched {name}",
            lambda a, b: jnp.einsum("bij,bkj->bik", a, b),
            (random(1, 8, 64, 96, dtype=dtype), random(2, 8, 32, 96, dtype=dtype)),
        )
        yield (
            f"vector {name}",
            jnp.matmul,
            (random(1, 512, 768, dtype=dtype), random(2, 768, dtype=dtype)),
        )
    dtype = jnp.bfloat16
    yield (
        "layer with bias and gelu",
        lambda x, w, b: jax.nn.gelu(x @ w + b),
        (
            random(1, 64, 512, dtype=dtype),
            random(2, 512, 1024, dtype=dtype),
            random(3, 1024, dtype=dtype),
        ),
    )
    yield (
        "gradient",
        jax.grad(lambda w, x: jnp.tanh(x @ w).sum().astype(jnp.float32)),
        (random(1, 512, 256, dtype=dtype), random(2, 64, 512, dtype=dtype)),
    )
    heads = tuple(random(seed, 2, 8, 128, 64, dtype=dtype) for seed in range(3))
    yield "attention", attention, heads
    yield (
        "scan of 10",
        lambda x, w: jax.lax.scan(lambda c, _: (jnp.tanh(c @ w), None), x, None, length=10)[0],
        (random(1, 32, 256, dtype=dtype), random(2, 256, 256, dtype=dtype)),
    )


def main() -> int:
    given = arguments()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if given.xla == "library":
        os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *LIBRARY_FLAGS])
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    start, done = time.monotonic(), []
    for name, function, operands in functions(jax, jnp):
        compiled = jax.jit(function)
        for _ in range(given.repeat):
            compiled(*operands).block_until_ready()
        done.append({"op": name, "repeat": given.repeat})
    report = {"workload": "jax_matmul", "platform": jax.devices()[0].platform, "ops": done}
    print(json.dumps(report | {"wall_s": time.monotonic() - start}))
    return 0 if report["platform"] == "gpu" else 1


if __name__ == "__main__":
    raise SystemExit(main())
