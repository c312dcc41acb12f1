# SPDX-License-Identifier: Apache-2.0
"""Every verdict on a workload that is known exactly (make_load), moved across its threshold (TAP).

A row names one number of the workload. It is set just below and just above the threshold that the
report says is in force, everything else stays, and the verdict becomes the neighbouring word.
"""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BIN = pathlib.Path(os.environ["TILEWISE_BUILD"]) / "bin"
TILEWISE = os.environ["TILEWISE"]
NEAR = 0.02  # how far from the threshold, as a share of it

# What gain.lo is at a ratio: E (1 - 1/r), less 50 ns of each call of 1 ms.
DISPATCH = 50e-9 / 1e-3


def ratio_for(gain: float, heat: float) -> float:
    return 1 / (1 - (gain + DISPATCH) / heat)


def real(of=lambda t: t):
    """The value is a function of the threshold, which is approached from both sides."""
    return lambda t: (of(t * (1 - NEAR)), of(t * (1 + NEAR)))


def shapes_for(k90: float):
    """So many equal shapes are held to 90 % by k90 of them, and one more by k90 + 1."""
    return math.floor(k90 / 0.9), math.floor(k90 / 0.9) + 1


def in_order(promised: float):
    """Of busy time the kernels promise 1 - 1/r; the load's order gains a multiple of the middle."""
    middle = 1 - 1 / (1.01 * RATIO)
    return lambda _: (promised / middle * 0.995, promised / middle * 1.005)


RATIO = 1.25
PROMISED_LO = 1 - 1 / RATIO
# Where the lower bound of the order, 1.002 below its ratio, reaches the upper promise.
PROMISED_HI = 1 - (1 / (1.02 * RATIO)) / 1.002

COLD = {"heat": 0.05}
HOT = {"heat": 0.42}
REPLAYED = {**HOT, "RESULT": True}
GOOD = {**REPLAYED, "ratio": RATIO, "order": 1}
LOSES = {**REPLAYED, "ratio": 0.9}

# number, threshold, its values, word below, word above, what one of the reasons names, the rest
ROWS = (
    ("heat", "heat.high", real(), "note", "spike", "0.10", {}),
    ("heat", "heat.high", real(), "stay", "batch-first", "0.10", {"shapes": 40}),
    ("shapes", "stability.k90", shapes_for, "note", "stay", "too many shapes", COLD),
    ("shapes", "stability.k90", shapes_for, "spike", "batch-first", "to at most 32 shapes", HOT),
    ("surprise", "stability.cov05", real(lambda t: 1 - t), "batch-first", "spike",
     "the table of yesterday misses tomorrow", HOT),
    ("singles", "stability.unseen", real(), "spike", "batch-first", "new shapes keep coming", HOT),
    ("drift", "stability.drift", lambda t: (0.9 * t, 1.1 * t), "spike", "batch-first",
     "the mix drifts", HOT),
    ("unknown", "evidence.coverage-time", real(lambda t: 1 - t), "withheld", "spike", "80 % is needed", HOT),
    ("lost", "evidence.lost", real(), "spike", "withheld", "1 % is the limit", HOT),
    ("calls", "evidence.windows", lambda t: (100 * t - 10, 100 * t), "withheld", "spike",
     "10 are needed; record longer", HOT),
    ("calls", "evidence.calls-per-window", lambda t: (10 * t - 10, 10 * t), "withheld", "spike",
     "of at least 100 calls", HOT),
    ("replayed", "evidence.replayed", real(), "spike", "keep-baseline", "at least 80 %", LOSES),
    ("headroom", "headroom.stop", real(lambda t: t / 0.42), "keep-baseline", "pilot", "at least 3 %",
     {**REPLAYED, "ratio": 1.05}),
    ("ratio", "gain.pilot", real(lambda t: ratio_for(t, 0.42)), "keep-baseline", "pilot", "at least 0.5 %",
     REPLAYED),
    ("ratio", "gain.noise", real(lambda t: 1 + t), "keep-baseline", "pilot", "at least 0.5 %",
     {**REPLAYED, "heat": 0.8}),
    ("ratio", "gain.adopt", real(lambda t: ratio_for(t, 0.42)), "pilot", "adopt", "at least 2.0 %", GOOD),
    ("worst", "gain.worst-ratio", lambda t: (t - 0.001, t + 0.001), "pilot", "adopt", "worst ratio 0.99", GOOD),
    ("deterministic", None, lambda _: (0, 1), "pilot", "adopt", "bitwise equal repeat runs", GOOD),
    ("covered", "evidence.replayed", real(), "pilot", "adopt", "stands for 80 %", GOOD),
    ("order", None, in_order(PROMISED_LO), "pilot", "adopt", "promised at least 8.40 %", GOOD),
    ("order", None, in_order(PROMISED_HI), "adopt", "pilot", "distrust both", GOOD),
    ("recorded", "gain.pilot", real(lambda t: 1 / (1 - t / 0.42)), "keep-baseline", "retune",
     "the best library call gains 0.51 %", LOSES),
    ("hi", "gain.pilot", real(lambda t: 1 / (1 - t / 0.42)), "keep-baseline", "spike",
     "4 shapes are UNCLEAR and might gain up to 0.51 %", {**REPLAYED, "ratio": 0.95, "call": "UNCLEAR"}),
)

# A reason ends with the one thing that would change the verdict, and has numbers. Where a verdict is
# withheld that is the missing evidence.
CHANGES = re.compile(r"(would change this|Missing for adopt: .+)\.$")
EVIDENCE = re.compile(r"; (record|see) .+\.$")


def verdict(folder: pathlib.Path, numbers: dict):
    """The verdict of the gemm with its reason, and the policy in force."""
    files = [str(folder / "t.twt")] + ([str(folder / "t.twr")] if numbers.get("RESULT") else [])
    pairs = [f"{key}={value}" for key, value in numbers.items() if key != "RESULT"]
    subprocess.run([BIN / "make_load", *files, *pairs], check=True)
    out = subprocess.run([TILEWISE, "report", "--format=json", *files], check=True, capture_output=True)
    report = json.loads(out.stdout)
    gemm = next(op for op in report["ops"] if op["op"] == "gemm")
    return gemm["verdict"], gemm["reason"], report["policy"]


def problems(folder: pathlib.Path, row, policy: dict):
    number, threshold, values, below, above, named, rest = row
    sides = [(*verdict(folder, {**rest, number: value}), value) for value in values(policy.get(threshold))]
    for (word, reason, _, value), wanted in zip(sides, (below, above)):
        if word != wanted:
            yield f"{number} = {value:.6g}: {word}, not {wanted}: {reason}"
        changes = EVIDENCE if word == "withheld" else CHANGES
        if not changes.search(reason) or not re.search(r"\d", reason):
            yield f"{number} = {value:.6g}: nothing that would change it in: {reason}"
    if not any(named in reason for _, reason, _, _ in sides):
        yield f"'{named}' stands in neither reason: " + " / ".join(side[1] for side in sides)


def words() -> set:
    """All verdicts that there are, by the help page."""
    text = subprocess.run([TILEWISE, "help", "words"], check=True, capture_output=True, text=True).stdout
    return {word for line in text.splitlines() if line.startswith("  ")
            for word in re.split(r", ", re.split(r"  +", line.strip())[0])}


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        policy = verdict(folder, HOT)[2]
        for count, row in enumerate(ROWS, 1):
            found = list(problems(folder, row, policy))
            failed += bool(found)
            print(f"{'not ok' if found else 'ok'} {count} - {row[0]} takes {row[3]} to {row[4]}"
                  + (f" at {row[1]}" if row[1] else ""))
            for line in found:
                print(f"#   {line}")
    missing = words() - {word for row in ROWS for word in row[3:5]}
    failed += bool(missing)
    print(f"{'not ok' if missing else 'ok'} {len(ROWS) + 1} - every word is met")
    for word in sorted(missing):
        print(f"#   {word}")
    print(f"1..{len(ROWS) + 1}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
