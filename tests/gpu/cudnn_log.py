# SPDX-License-Identifier: Apache-2.0
"""Read cuDNN's own log (CUDNN_LOGLEVEL_DBG=3): each executed graph as a row of a trace.

cudnnBackendExecute writes a record with the whole operation graph before the call and one with the
status after it. A convolution is one operation; attention is one SDPA operation or, for other
shapes, a chain of two matrix products with the softmax between them: both were seen in one program.
The dimensions are those of docs/trace-format.md.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

HEAD = "function cudnnBackendExecute() called:"
FAILED = re.compile(r"status: type=cudnnStatus_t; val=CUDNN_STATUS_(?!SUCCESS)")
OPERATION = re.compile(r"operation: type=CUDNN_BACKEND_OPERATION_(\w+)_DESCRIPTOR:")
TENSOR = re.compile(r"(\w+)Desc: type=CUDNN_BACKEND_TENSOR_DESCRIPTOR:")
TYPE = re.compile(r"\btype: type=cudnnDataType_t; val=CUDNN_DATA_(\w+) ")
SIZES = re.compile(r"dimA: type=int; val=\[([-\d,]*)\];")
TYPES = {
    "FLOAT": "f32",
    "DOUBLE": "f64",
    "HALF": "f16",
    "BFLOAT16": "bf16",
    "INT8": "i8",
    "FP8_E4M3": "e4m3",
    "FP8_E5M2": "e5m2",
}


class Executed(NamedTuple):
    op: str
    dtype: str
    m: int
    n: int
    k: int
    batch: int
    operation: str


class Graph:
    """Names of the operations, and the first tensor of each name: (type, sizes)."""

    def __init__(self) -> None:
        self.operations: list[str] = []
        self.tensors: dict[str, tuple[str, list[int]]] = {}
        self._name = self._type = ""

    def read(self, line: str) -> None:
        if found := OPERATION.search(line):
            self.operations.append(found.group(1))
        elif found := TENSOR.search(line):
            self._name, self._type = found.group(1), ""
        elif found := TYPE.search(line):
            self._type = TYPES.get(found.group(1), "unknown")
        elif (found := SIZES.search(line)) and found.group(1):
            sizes = [int(size) for size in found.group(1).split(",")]
            self.tensors.setdefault(self._name, (self._type, sizes))

    def _first(self, *names: str) -> tuple[str, list[int]]:
        return next(self.tensors[name] for name in names if name in self.tensors)

    def row(self) -> Executed:
        first = self.operations[0] if self.operations else "NONE"
        if first.startswith("CONVOLUTION_"):
            return self._convolution(first)
        if first.startswith("SDPA"):
            (dtype, q), (_, k) = self._first("q"), self._first("k")
            return self._attention(first, dtype, q, k[-2])
        if self.operations.count("MATMUL") == 2:
            (dtype, q), (_, k) = self._first("a"), self._first("b")
            return self._attention("MATMUL+MATMUL", dtype, q, k[-1])
        return Executed("other", "none", 0, 0, 0, 1, first)

    def _convolution(self, operation: str) -> Executed:
        dtype, x = self._first("x", "dx")
        _, w = self._first("w", "dw")
        _, y = self._first("y", "dy")
        groups = x[1] // w[1]
        pixels = math.prod(y[2:])
        return Executed(
            "conv", dtype, w[0] // groups, pixels, math.prod(w[1:]), x[0] * groups, operation
        )

    @staticmethod
    def _attention(operation: str, dtype: str, q: list[int], keys: int) -> Executed:
        return Executed("attention", dtype, q[-2], keys, q[-1], math.prod(q[:-2]), operation)


def executed(lines: Iterable[str]) -> Counter:
    """Executions that did not fail, by content."""
    counts: Counter = Counter()
    graph, inside, last = Graph(), False, None
    for line in lines:
        if line.startswith("I! CuDNN"):
            if inside and graph.operations:
                last = graph.row()
                counts[last] += 1
            inside, graph = HEAD in line, Graph()
        elif inside:
            graph.read(line)
            if last is not None and FAILED.search(line):
                counts[last] -= 1
    if inside and graph.operations:
        counts[graph.row()] += 1
    return +counts
