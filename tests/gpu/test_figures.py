#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what judges the figures of the GPU runs: intervals, costs, cases (TAP)."""

import contextlib
import io
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import capture
import cases
import cost
import ground_truth
import intervals
import replay_cases
import tap
from session import Session


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


def test_processes_that_disagree_widen_the_interval():
    costs = (0.004, 0.005, 0.006)
    found = intervals.of_processes(costs)
    # Student's t of two degrees of freedom, times 0.001 / sqrt(3).
    assert abs(found.value - 0.005) < 1e-12, found
    assert abs(found.hi - found.value - 4.303 * 0.001 / 3**0.5) < 1e-9, found
    assert abs(found.hi + found.lo - 2 * found.value) < 1e-12, found
    sure = intervals.of_processes(costs, 0.99)
    assert abs(sure.hi - sure.value - 9.925 * 0.001 / 3**0.5) < 1e-9, sure
    for few in ([], [0.0] * 2, [0.0] * 13):
        assert tap.refuses(intervals.of_processes, few)


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
    fast = SPEED
    if len(line.split()) == 3:
        added = dict.fromkeys(("added", "mean_added"), 0.001 * fast) | OTHER
        found = {"step": fast, "product": 90, "execution": 700, "alike": 0} | added
        print(json.dumps({"steps": 160.0, "ns": found, "hooks": ["cublasGemmEx"]}), flush=True)
    else:
        print(json.dumps({"median_ns": fast}), flush=True)
"""
# As `tilewise`: ctl obeys at once, info and report know one process.
FAKE_TILEWISE = """#!{python}
import json, pathlib, sys
state = pathlib.Path("{folder}/state")
if sys.argv[1] == "ctl" and sys.argv[3] == "status":
    calls = pathlib.Path("{folder}/seen")
    seen = int(calls.read_text()) if calls.exists() else 0
    calls.write_text(str(seen + 1440))
    print("state pid seen")
    print("gone 1 5")
    print(state.read_text() if state.exists() else "on", 2, seen)
elif sys.argv[1] == "ctl":
    state.write_text(sys.argv[3])
elif sys.argv[1] == "info":
    print("  FACTS")
"""
WAITING = "cupti: waiting: being attached would cost more than half of the budget"


def test_a_player_answers_each_turn_and_its_end_is_told():
    with tempfile.TemporaryDirectory() as name:
        one = session(name)
        one.workload = lambda *_: [sys.executable, "-c", FAKE_DECODER.replace("SPEED", "2.5").replace("OTHER", "{}")]
        player = cost.Player(one, "none", 0)
        player.wait()
        assert [player.turn("eager", 0.1) for _ in range(3)] == [2.5] * 3
        found, steps, hooks = player.alternate("eager", 0.1)
        assert found == cost.switch.StepCost(2.5, 0.0025, 0.0025, 90, 700, 0), found
        assert steps == 160 and hooks == ["cublasGemmEx"]
        try:
            player.turn("end", 0)
            raise AssertionError("an answer from a process that ended")
        except RuntimeError:
            pass
        player.end()


@contextlib.contextmanager
def little_time(**changed):
    kept = {name: getattr(cost, name) for name in changed}
    for name, value in changed.items():
        setattr(cost, name, value)
    yield
    for name, value in kept.items():
        setattr(cost, name, value)


def played_costs(folder: str, facts: str, other: str = "{}") -> Session:
    """All of the turns, with decoders and a tilewise that are not. other: of what a step costs, as JSON."""
    one = Session(*[pathlib.Path(folder)] * 3, minutes=9)
    one.workload = lambda *_: [sys.executable, "-c", FAKE_DECODER.replace("SPEED", "6e6").replace("OTHER", other)]
    one.record = lambda *_: []
    tilewise = pathlib.Path(folder) / "tilewise"
    script = FAKE_TILEWISE.replace("{python}", sys.executable).replace("{folder}", folder)
    tilewise.write_text(script.replace("FACTS", facts))
    tilewise.chmod(0o700)
    one.tilewise = str(tilewise)
    one.earlier["ns added to cublasGemmEx, events, against an empty preload"] = {"value": 170.0}
    short = {"CTL_SECONDS": 60, "STATUS_SECONDS": 0, "CTL_PAIRS": 3, "GRAPH_TURNS": 4}
    short["PRINTED_TURNS"] = dict.fromkeys(cost.MODES, 3)
    with little_time(**short), contextlib.redirect_stdout(io.StringIO()):
        for case in (cost.turns, cost.graphs, cost.printed):
            case(one)
    return one


def test_the_cost_of_an_eager_step_is_that_of_its_hooks():
    with tempfile.TemporaryDirectory() as name:
        one = played_costs(name, WAITING)
    assert [check.ok for check in one.checks] == [True] * 5, one.checks
    eager = one.checks[1].detail
    calls = one.figures["calls of an eager step, counts"]
    assert calls == 1440 / 160, calls
    assert abs(eager["value"] - 0.001) < 1e-9 and eager["alike"]["value"] == 0, eager
    assert len(eager["of_processes"]) == cost.ALTERNATING["counts"]
    assert one.figures["ns added to an execution of cuDNN of the eager decoder, counts"]["value"] == 700
    predicted = one.figures["cost: counts, eager, predicted by the price of a call"]
    assert abs(predicted - 170 * calls / 6e6) < 1e-12
    assert one.figures["cost: counts, eager, off and on by ctl"]["pairs"] == 3
    assert "cost: attached, eager, against no shim" in one.figures


def test_a_method_that_tells_like_from_like_is_unclear():
    with tempfile.TemporaryDirectory() as name:
        one = played_costs(name, WAITING, '{"alike": 9000}')
    assert [check.ok for check in one.checks] == [True, None, None, True, True], one.checks


def test_what_is_rare_and_dear_fails():
    with tempfile.TemporaryDirectory() as name:
        one = played_costs(name, WAITING, '{"mean_added": 45000}')  # 0.75 % of a step
    assert [check.ok for check in one.checks] == [True, False, True, True, True], one.checks


def test_windows_that_attached_are_judged_by_whole_processes():
    kept, asked = cost.processes, []
    cost.processes = lambda _, mode: asked.append(mode)
    try:
        with tempfile.TemporaryDirectory() as name:
            one = played_costs(name, "cupti: windows")
    finally:
        cost.processes = kept
    assert asked == ["eager", "graph"] and len(one.checks) == 3


def test_the_price_of_a_call_is_taken_from_three_settings():
    rows = {
        "empty": {"off": [20.0] * 9, "on": []},
        "counts": {"off": [25.0] * 9, "on": [125.0] * 9},
        "events": {"off": [26.0] * 9, "on": [136.0] * 9},
    }

    cold = {"m": 0, "direct": [900.0, 950.0, 990.0], "off": [970.0, 1010.0, 1080.0],
            "on": [1200.0, 1190.0, 1300.0]}  # fmt: skip

    def fake(_, setting, number):
        one = {"cublasGemmEx": {"m": 0} | rows[setting]}
        return one if setting == "empty" else one | {"cold": cold}

    kept, cost._call_cost = cost._call_cost, fake
    try:
        with tempfile.TemporaryDirectory() as name:
            one = session(name)
            cost.calls(one)
    finally:
        cost._call_cost = kept
    assert {name: figure["value"] for name, figure in one.figures.items()} == {
        "ns of the hook of cublasGemmEx while recording is off": 6.0,
        "ns added to cublasGemmEx, counts": 100.0,
        "ns added to cublasGemmEx, counts, against an empty preload": 105.0,
        "ns added to cublasGemmEx, events": 110.0,
        "ns added to cublasGemmEx, events, against an empty preload": 116.0,
        "ns of a product and its setters without the shim, caches emptied": 950.0,
        cost.WHILE_OFF: 70.0,
        "ns added to a product and its setters by recording, caches emptied": 220.0,
    }


def measured(time_ns: int, attributed_ns: int, window_s: float) -> dict:
    gpu = {"windows": 3, "time_ns": time_ns, "attributed_ns": attributed_ns, "window_s": window_s}
    return {"trace": {"gpu": gpu | {"timeline": {"streams": 2}}}}


def test_windows_that_disagree_or_are_too_full_fail():
    full = measured(10_000, 3_700, 1.0)
    for few, ok in (
        (measured(1_000, 365, 1e-6), [True, True]),
        (measured(1_000, 200, 1e-6), [False, True]),
        (measured(9_000, 3_300, 1e-6), [True, False]),
        ({"trace": {"gpu": None}}, [False, False]),
    ):
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            one = session(name)
            cases._agree(one, few, full)
            assert [check.ok for check in one.checks] == ok, few


def is_running(stat: pathlib.Path) -> bool:
    try:
        return stat.read_text().split(") ")[1][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_what_takes_too_long_ends_with_what_it_started():
    with tempfile.TemporaryDirectory() as name:
        pid = pathlib.Path(name) / "pid"
        timeout = 0.5
        while not pid.exists():  # it may be slow to begin
            try:
                ground_truth.finish(
                    ["sh", "-c", f"sleep 600 & echo $! >{pid}.new; mv {pid}.new {pid}; wait"], timeout=timeout
                )
                raise AssertionError("it came back")
            except subprocess.TimeoutExpired:
                timeout *= 2
        left = pathlib.Path(f"/proc/{pid.read_text().strip()}/stat")
        while is_running(left):  # it was told to end: it does at its next turn
            time.sleep(0.01)


def test_one_gpu_unless_all_are_wanted():
    with tempfile.TemporaryDirectory() as name:
        one = session(name)
        assert "," not in one.environment()["CUDA_VISIBLE_DEVICES"]
        assert "CUDA_VISIBLE_DEVICES" not in one.environment(all_gpus=True)


def test_the_open_cases_are_cases():
    assert set(capture.FIRST) <= set(cases.CASES | cost.CASES)


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
        capture.run(one, {"x": broken, "y": lambda s: s.check("fine", True)})
    assert [(check.case, check.ok) for check in one.checks] == [("x", False), ("y", True)]


def test_cases_that_run_beside_each_other_are_told_in_their_order():
    together = threading.Barrier(2, timeout=60)

    def find(one: Session) -> None:
        if one.case in "bd":
            together.wait()
        one.check(f"check of {one.case}", one.case != "d")
        one.figures[f"figure of {one.case}"] = one.known("figure of a")
        one.samples[one.case] = (pathlib.Path(), sorted(one.samples))

    def broken(_):
        raise OSError("gone")

    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()) as said:
        one = session(name)
        one.earlier["figure of a"] = 1
        all_cases = {"a": find, "b": find, "c": find, "d": find, "x": broken}
        capture.run(one, all_cases, beside=("d", "x", "b"))
    told = [("a", True), ("b", True), ("d", False), ("x", False), ("c", True)]
    assert [(check.case, check.ok) for check in one.checks] == told
    assert [line for line in said.getvalue().splitlines() if "check of" in line] == [
        "ok 1 - check of a", "ok 2 - check of b", "not ok 3 - check of d", "ok 5 - check of c"]  # fmt: skip
    assert all(one.figures[f"figure of {case}"] == 1 for case in "abcd"), one.figures
    assert one.figure_cases["figure of d"] == "d" and one.figure_cases["seconds of case x"] == "x"
    assert [words for _, words in one.samples.values()] == [[], ["a"], ["a"], ["a", "b", "d"]]


def test_a_case_that_there_is_not_is_refused():
    here = pathlib.Path(capture.__file__).parent
    words = [sys.executable, str(here / "capture.py"), "--build=b", "--tools=t", "--out=o", "--only=a,zz"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "zz" in done.stderr, done


def replayed(total, error, noise, call="FASTER") -> dict:
    shape = {
        **{"op": "gemm", "dtype": "bf16", "m": 4096, "n": 16, "k": 4096, "batch": 1},
        **{"trans": "TN", "entry": "cublasGemmEx", "calls": 10, "baseline_noise": noise},
        "baseline_ns": {"recorded": 30_000, "best": 30_000},
        "fidelity": {"by_events": False, "error": error},
        "candidates": [{"name": "tile", "call": call}],
    }
    row = {
        **{"status": "passed", "why": None, "source": "stream 1", "repeats": 10, "total": total},
        **{"recorded_ns": 1e6, "replayed_ns": 1e6 * (total or 0)},
        "shapes": [{"error": error, "recorded_ns": 30_000}],
    }
    found = {"total": total, "median_abs_error": error, "same_kernel_share": 1.0}
    return {"shapes": [shape], "fidelity": {**found, "in_order": [row] if total else []}}


def test_replays_are_judged_in_order():
    judge = replay_cases._in_order
    for total, error, ok in ((1.01, 0.02, True), (0.97, 0.02, False), (1.0, 0.04, False)):
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            one = session(name)
            judge(one, "w", replayed(total, error, 0.001))
            assert all(check.ok for check in one.checks) is ok, (total, error)


def test_stretches_weigh_as_often_as_they_were_recorded():
    report = replayed(1.0, 0.01, 0.001)
    rows = report["fidelity"]["in_order"]
    rows.append(rows[0] | {"repeats": 1, "replayed_ns": 0.9e6, "total": 0.9})
    for replays, ok in ((1, True), (10, False)):
        rows[1]["repeats"] = replays
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            one = session(name)
            replay_cases._in_order(one, "w", report)
            assert one.checks[0].ok is ok, one.checks[0].detail


def test_a_stretch_that_was_not_replayed_fails():
    report = replayed(1.0, 0.01, 0.001)
    rows = report["fidelity"]["in_order"]
    rows.append(rows[0] | {"status": "timeout", "replayed_ns": None, "shapes": []})
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        one = session(name)
        replay_cases._in_order(one, "w", report)
        assert [check.ok for check in one.checks] == [False, True, True]


def test_a_large_error_needs_a_reason():
    for recorded_ns, ok in ((3_000, True), (30_000, False)):
        report = replayed(1.0, 0.07, 0.001)
        report["fidelity"]["in_order"][0]["shapes"][0]["recorded_ns"] = recorded_ns
        with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
            one = session(name)
            replay_cases._in_order(one, "w", report)
            assert one.checks[2].ok is ok


def test_wrong_kernels_are_read_from_what_is_printed():
    text = (
        "   1  f32 gemm 40x24x50 NN col     10   2.9 %\n"
        "      wrong_alpha_f32            failed       integer data: batch 0\n"
        "        reproduce: tilewise replay --kernel wrong_alpha_f32 x.twt\n"
        "      wrong_a_name_that_is_longer_than_its_column_f32 passed\n"
        "      right_plain_f32            passed\n"
        "      wrong_alpha_f32            not-verified a reason\n"
    )
    assert replay_cases._statuses(text) == {
        "wrong_alpha_f32": {"failed", "not-verified"},
        "wrong_a_name_that_is_longer_than_its_column_f32": {"passed"},
        "right_plain_f32": {"passed"},
    }


def test_what_is_no_number_is_none():
    text = '{"checked":"add","wrong":1,"worst":inf}\n{"us":-nan,"low":nan}\nnoise\n'
    rows = [{"checked": "add", "wrong": 1, "worst": None}, {"us": None, "low": None}]
    assert replay_cases._rows(text) == rows


def test_adds_of_pytorch_have_our_names():
    text = (
        '{"device": "x"}\n{"torch": "float32", "shape": [1024], "us": 2.0}\n'
        '{"torch": "bfloat16", "shape": [16384, 1000], "us": 3.0}\n'
    )
    assert replay_cases._torch_adds(text) == {"f32 add 1024x1": 2.0, "bf16 add 1000x16384": 3.0}


def test_a_replay_without_figures_passes_nothing():
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        one = session(name)
        nothing = replayed(None, None, None)
        replay_cases._isolated(one, "w", nothing | {"fidelity": nothing["fidelity"]
                                                    | {"same_kernel_share": None}})
        replay_cases._in_order(one, "w", nothing)
        replay_cases._noise(one, "w", nothing)
        assert len(one.checks) == 6 and not any(check.ok for check in one.checks)


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
