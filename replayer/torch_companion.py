# SPDX-License-Identifier: Apache-2.0
"""PyTorch as a second baseline: makes the calls that `tilewise replay` asks for and times them by
the same protocol (docs/measuring.md). Usage: torch_companion.py cpu|cuda, lines on stdin and stdout.
"""
import os
import sys
import time

NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
         "c64": "complex64", "c128": "complex128"}
SWEEP_CACHES = 2  # read before a cold burst, times the last cache
WARM_UP_CALLS = 3
CLOCK_HZ = 2e9  # of a GPU, about: how long it is kept busy while the host prepares
AHEAD_S = 0.5e-3
TOLERANCE = 2.0**-5  # of the check: is it this product at all?


class Unsupported(Exception):
    pass


class Operand:
    """FIRST + batch STRIDE + row ROW_STEP + column COL_STEP, as replayer/operand.h counts."""

    def __init__(self, torch, text):
        dtype, *numbers = text.split(",")
        if dtype not in NAMES:
            raise Unsupported(f"no PyTorch operator for {dtype}")
        self.dtype = getattr(torch, NAMES[dtype])
        (self.rows, self.cols, self.row_step, self.col_step, self.batch, self.stride, self.first,
         self.elements) = map(int, numbers)
        if self.row_step < 0 or self.col_step < 0 or self.first < 0:
            raise Unsupported("PyTorch has no negative strides")

    def create(self, torch, device):
        """Normal values in every element, gaps included; a matrix, or a batch of them."""
        memory = torch.randn(self.elements, dtype=self.dtype, device=device)
        if self.batch > 1:
            return memory.as_strided((self.batch, self.rows, self.cols),
                                     (self.stride, self.row_step, self.col_step), self.first)
        return memory.as_strided((self.rows, self.cols), (self.row_step, self.col_step), self.first)


class Case:
    def __init__(self, torch, device, words):
        self.torch, self.device = torch, device
        self.op, self.cold = words["op"], words["cold"] == "1"
        self.alpha, self.beta = float(words["alpha"]), float(words["beta"])
        operands = [Operand(torch, words[name]) for name in "abc" if name in words]
        torch.set_num_threads(max(1, int(words["threads"])))
        torch.manual_seed(int(words["seed"]))
        torch.backends.cuda.matmul.allow_tf32 = words["compute"] == "tf32"
        self.sets = [[o.create(torch, device) for o in operands]
                     for _ in range(int(words["sets"]))]
        self.call, self.name = self.choose()
        self.next = 0
        self.graphs = {}
        self.check()

    def choose(self):
        """What a team would write for it; results go where the recorded call's go."""
        torch, alpha, beta = self.torch, self.alpha, self.beta
        if self.op == "add":
            return (lambda x, y: torch.add(y, x, alpha=alpha, out=y)), "torch.add"
        if self.op not in ("gemm", "gemv"):
            raise Unsupported(f"no PyTorch operator for {self.op}")
        plain = alpha == 1 and beta == 0
        a, _, c = self.sets[0]
        # Column-major results are rows of the transpose, as PyTorch has them.
        rows = c.stride(-1) == 1
        if self.op == "gemv":
            if plain:
                return (lambda a, x, y: torch.mv(a, x[:, 0], out=y[:, 0])), "torch.mv"
            return (lambda a, x, y: torch.addmv(y[:, 0], a, x[:, 0], beta=beta, alpha=alpha,
                                                out=y[:, 0])), "torch.addmv"
        name = ("mm" if a.dim() == 2 else "bmm") if plain else (
            "addmm" if a.dim() == 2 else "baddbmm")
        function = getattr(torch, name)

        def call(a, b, c):
            if not rows:
                a, b, c = b.mT, a.mT, c.mT
            if plain:
                function(a, b, out=c)
            else:
                function(c, a, b, beta=beta, alpha=alpha, out=c)
        return call, f"torch.{name}"

    def check(self):
        """A random projection of one result, in f64."""
        torch, wide = self.torch, lambda t: t.to(torch.complex128 if t.is_complex() else torch.float64)
        operands = self.sets[0]
        before = wide(operands[-1].clone())
        self.call(*operands)
        after = wide(operands[-1])
        v = torch.sign(torch.randn(after.shape[-1], 1, device=self.device)).to(after.dtype)
        if self.op == "add":
            want = self.alpha * (wide(operands[0]) @ v) + before @ v
            scale = wide(operands[0]).abs().sum(-1) + before.abs().sum(-1)
        else:
            want = self.alpha * (wide(operands[0]) @ (wide(operands[1]) @ v))
            scale = wide(operands[0]).abs() @ wide(operands[1]).abs().sum(-1, keepdim=True)
            if self.beta:
                want = want + self.beta * (before @ v)
                scale = scale + before.abs().sum(-1, keepdim=True)
            scale = scale[..., 0]
        off = ((after @ v - want)[..., 0].abs() / scale).max().item()
        if not off < TOLERANCE:
            raise Unsupported(f"{self.name} gives another result (off by {off:.2g})")

    def step(self):
        self.call(*self.sets[self.next])
        self.next = (self.next + 1) % len(self.sets)


class Processor:
    """Bursts of a case on the processor."""

    def __init__(self, torch):
        self.torch, self.name = torch, "cpu"
        self.sweep = torch.ones(SWEEP_CACHES * (64 << 20), dtype=torch.uint8)

    def burst(self, case, calls):
        if case.cold:
            self.sweep.sum()
        case.step()
        start = time.perf_counter_ns()
        for _ in range(calls):
            case.step()
        return time.perf_counter_ns() - start

    def release(self):
        pass


class Gpu:
    """Bursts as CUDA graphs. The GPU is kept busy until the host has launched the graph, so that no
    gap of the host lies between the events."""

    def __init__(self, torch):
        self.torch, self.name = torch, "cuda"
        cache = getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 64 << 20)
        self.sweep = torch.ones(SWEEP_CACHES * cache, dtype=torch.uint8, device="cuda")
        self.start = torch.cuda.Event(enable_timing=True)
        self.stop = torch.cuda.Event(enable_timing=True)

    def graph_of(self, case, calls):
        if calls not in case.graphs:
            stream = self.torch.cuda.Stream()
            stream.wait_stream(self.torch.cuda.current_stream())
            with self.torch.cuda.stream(stream):
                for _ in range(WARM_UP_CALLS):
                    case.step()
            self.torch.cuda.current_stream().wait_stream(stream)
            graph = self.torch.cuda.CUDAGraph()
            with self.torch.cuda.graph(graph):
                for _ in range(calls):
                    case.step()
            graph.replay()
            self.torch.cuda.synchronize()
            begin = time.perf_counter()
            graph.replay()
            case.graphs[calls] = graph, time.perf_counter() - begin
            self.torch.cuda.synchronize()
        return case.graphs[calls]

    def burst(self, case, calls):
        graph, launch_s = self.graph_of(case, calls)
        if case.cold:
            self.sweep.sum()
        self.torch.cuda._sleep(int((AHEAD_S + 2 * launch_s) * CLOCK_HZ))
        self.start.record()
        graph.replay()
        self.stop.record()
        self.stop.synchronize()
        return self.start.elapsed_time(self.stop) * 1e6

    def release(self):
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()


def serve(torch, device):
    """One answer for every line."""
    case = None
    for line in sys.stdin:
        number, verb, *rest = line.split()
        words = dict(word.split("=", 1) for word in rest)
        try:
            if verb == "case":
                case = None
                case = Case(torch, device.name, words)
                answer = f"ready {case.name}"
            elif verb == "burst" and case is None:
                answer = "error no case"
            elif verb == "burst":
                answer = f"ns {device.burst(case, int(words['calls']))}"
            else:
                case = None
                device.release()
                answer = "ready"
        except Exception as error:  # whatever PyTorch raises is an answer
            text = " ".join(str(error).split()) or type(error).__name__
            answer, case = f"error {text[:200]}", None
        print(number, answer, flush=True)


def main():
    where = sys.argv[1]
    # What a library prints belongs elsewhere than between the answers.
    answers = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(answers, "w", buffering=1)
    try:
        import torch
        if where == "cuda" and not torch.cuda.is_available():
            raise RuntimeError(f"PyTorch {torch.__version__} finds no GPU")
        torch.set_grad_enabled(False)
        device = Gpu(torch) if where == "cuda" else Processor(torch)
    except Exception as error:
        print(0, "error", " ".join(str(error).split())[:200], flush=True)
        return 1
    print(0, "ready PyTorch", torch.__version__.partition("+")[0], flush=True)
    serve(torch, device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
