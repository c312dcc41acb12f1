#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what judges the figures of the GPU runs: intervals, costs, cases (TAP)."""

import contextlib
import io
import json
import pathlib
import random
import sys
import tempfile
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import capture
import cases
import cost
import intervals
import replay_cases
import tap
from session import Check, Session


def noisy(generator: random.Random, mean: float, count: int = 400) -> list[float]:
    return [generator.gauss(mean, 0.05) for _ in range(count)]


def test_blocks_are_means():
    assert intervals.blocks([1, 9, 2, 2, 2, 8, 7], 2) == [4, 4]
    assert tap.refuses(intervals.blocks, [1.0], 2)


def played(generator: random.Random, cost: float, rounds: int = 3, count: int = 20) -> list:
    """Turns of an eager loop as it was seen: two speeds, of which neighbours mostly share one."""

    def pair() -> tuple[float, float]:
        speed = generator.choice((18.0, 26.0))
        slip = generator.choices((1.0, 1.4, 1 / 1.4), (18, 1, 1))[0]  # it changed between the two
        step = generator.gauss
        return speed * step(1.0, 0.002), speed * step(1.0 + cost, 0.002) * slip

    return [[pair() for _ in range(count)] for _ in range(rounds)]


def test_a_cost_is_found_in_a_loop_of_two_speeds():
    generator = random.Random(7)
    for cost in (0.0, 0.002, 0.02):
        found = intervals.ratio_of_turns(played(generator, cost))
        assert found.lo < 1 + cost < found.hi, (cost, found)
        assert found.hi - found.lo < 0.005, found
    assert tap.refuses(intervals.ratio_of_turns, [[(1.0, 1.0)] * 2])
    assert tap.refuses(intervals.ratio_of_turns, [])


def test_turns_of_processes_that_disagree_widen_the_interval():
    found = intervals.ratio_of_turns([[(1.0, 1.0 + c)] * 10 for c in (-0.02, 0.03, 0.0)])
    assert found.hi - found.lo > 0.02, found


def test_a_difference_of_calls():
    pairs = [(2000.0 + i, 2150.0 + i + (900 if i == 4 else i % 3)) for i in range(8)]
    found = intervals.median_difference(pairs)
    assert 150 <= found.lo <= found.value <= found.hi < 200, found


def test_no_difference_is_inside_nearly_always():
    inside = 0
    for seed in range(10):
        generator = random.Random(seed)
        rounds = [
            tuple(intervals.blocks(noisy(generator, mean), 20) for _ in range(2))
            for mean in (1.0, 1.1, 0.9, 1.05)
        ]
        found = intervals.ratio_of_rounds(rounds)
        inside += found.lo < 1.0 < found.hi
    assert inside >= 8, inside


def test_rounds_that_disagree_widen_the_interval():
    same = [([1.0] * 20, [1.01] * 20)] * 4
    apart = [([1.0] * 20, [1.0 + cost] * 20) for cost in (-0.02, 0.04, -0.02, 0.04)]
    narrow, wide = intervals.ratio_of_rounds(same), intervals.ratio_of_rounds(apart)
    assert narrow.hi - narrow.lo < 1e-9 and wide.hi - wide.lo > 0.02


def test_verdicts_need_the_whole_interval():
    assert intervals.judge(intervals.Interval(0.002, 0.001, 0.004), 0.005) is True
    assert intervals.judge(intervals.Interval(0.009, 0.006, 0.012), 0.005) is False
    assert intervals.judge(intervals.Interval(0.004, 0.001, 0.008), 0.005) is None


FAKE_DECODER = """
import json, sys
print("chatter")
print(json.dumps({"ready": []}), flush=True)
for line in sys.stdin:
    if line.startswith("end"):
        break
    print(json.dumps({"steps": 5, "median_ns": 2.5}), flush=True)
"""


def test_a_player_answers_each_turn_and_its_end_is_told():
    with tempfile.TemporaryDirectory() as name:
        one = session(name)
        one.workload = lambda *_: [sys.executable, "-c", FAKE_DECODER]
        player = cost.Player(one, "none", 0)
        player.wait()
        assert [player.turn("eager", 0.1) for _ in range(3)] == [2.5] * 3
        assert player.steps == 15
        try:
            player.turn("end", 0)
            raise AssertionError("an answer from a process that ended")
        except RuntimeError:
            pass
        player.end()


def test_kernel_names_of_matrix_libraries():
    for name in (
        "nvjet_sm90_tst_64x8_64x16_4x2_h_bz_TNT",
        "_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif",
        "cutlass_80_simt_sgemm_128x64_8x5_nn_align1",
        "gemv2T_kernel_val",
    ):
        assert cases.GEMM_KERNEL.search(name), name
    for name in (
        "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16",
        "_ZN2at6native29vectorized_elementwise_kernelILi8E",
    ):
        assert not cases.GEMM_KERNEL.search(name), name


def session(folder: str) -> Session:
    path = pathlib.Path(folder)
    return Session(path, path, path, minutes=1)


def test_unattributed_time_fails():
    wanted = {"time_ns": Counter({"nvjet_a": 1000, "elementwise": 500})}
    for attributed_ns, ok in ((960, True), (940, False), (1200, False), (None, False)):
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            one = session(name)
            report = {"shapes": [{"op": "gemm", "gpu_time_ns": attributed_ns}]}
            cases._attributed(one, report, wanted)
            assert one.checks[0].ok is ok, attributed_ns


def test_a_kernel_that_is_missing_fails():
    wanted = {"launches": Counter({"a": 2, "b": 1})}
    for kernels, ok in (
        ([("a", 2), ("b", 1)], True),
        ([("a", 2)], False),
        ([("a", 2), ("b", 1), ("c", 1)], False),
        ([], False),
    ):
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            one = session(name)
            rows = [{"name": kernel, "launches": launches} for kernel, launches in kernels]
            cases._names(one, {"kernels": rows}, wanted)
            assert one.checks[0].ok is ok, kernels


def test_a_broken_case_is_a_failed_check_and_the_rest_runs():
    def broken(_):
        raise OSError("gone")

    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        one = session(name)
        capture.run(one, {"x": broken, "y": lambda s: s.check("fine", True)}, ["x", "y"])
    assert [check.ok for check in one.checks] == [False, True]


def test_the_report_says_unclear():
    checks = [Check("a", True, {}), Check("b", None, {}), Check("c", False, {})]
    text = capture.as_markdown("capture", {"environment": {"cores": 2}, "figures": {"x": 1}}, checks)
    for part in ("1 of 3 passed", "| pass | a |", "| unclear | b |", "| FAIL | c |", "- x: `1`"):
        assert part in text, part


def replayed(total, error, noise, call="FASTER") -> dict:
    shape = {
        **{"op": "gemm", "dtype": "bf16", "m": 4096, "n": 16, "k": 4096, "batch": 1},
        **{"trans": "TN", "entry": "cublasGemmEx", "calls": 10, "baseline_noise": noise},
        "baseline_ns": {"recorded": 30_000, "best": 30_000},
        "fidelity": {"by_events": False, "error": error},
        "candidates": [{"name": "tile", "call": call}],
    }
    row = {"total": total, "median_abs_error": error, "why": None, "shapes": [{"error": error}]}
    found = {"total": total, "median_abs_error": error, "same_kernel_share": 1.0}
    return {"shapes": [shape], "fidelity": {**found, "in_order": [row] if total else []}}


def test_replays_are_judged_in_order():
    judge = replay_cases._in_order
    for total, error, ok in ((1.01, 0.02, True), (0.97, 0.02, False), (1.0, 0.04, False)):
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            one = session(name)
            judge(one, "w", replayed(total, error, 0.001))
            assert all(check.ok for check in one.checks) is ok, (total, error)


def test_a_replay_without_figures_passes_nothing():
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        one = session(name)
        nothing = replayed(None, None, None)
        replay_cases._isolated(one, "w", nothing | {"fidelity": nothing["fidelity"]
                                                    | {"same_kernel_share": None}})
        replay_cases._in_order(one, "w", nothing)
        replay_cases._noise(one, "w", nothing)
        assert len(one.checks) == 5 and not any(check.ok for check in one.checks)


def test_noise_above_the_limit_fails():
    for noise, ok in ((0.004, True), (0.006, False)):
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            one = session(name)
            replay_cases._noise(one, "w", replayed(1.0, 0.0, noise))
            assert one.checks[0].ok is ok


def test_calls_are_compared_by_shape_and_kernel():
    assert list(replay_cases._calls(replayed(1.0, 0.0, 0.0, "SAME")).values()) == ["SAME"]
    assert not replay_cases._calls(replayed(1.0, 0.0, 0.0, None))


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
