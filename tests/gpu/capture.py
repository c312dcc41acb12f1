#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The acceptance of the tracer on a GPU: run every case, print TAP, write the figures.

Called by run.sh, which builds the tools and looks for the GPU.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor

import cases
import cost
import report
from session import OutOfTime, Session

GPU_QUERY = (
    "name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.limit,"
    "temperature.gpu,memory.total,mig.mode.current"
)
# What a case may break with: the report says it, and the other cases run.
BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    subprocess.SubprocessError,
)
Cases = dict[str, Callable[[Session], None]]
# Of these calls are counted and no times judged: they run beside each other.
BESIDE = ("a", "b", "b-compile", "c", "d", "e", "profiler", "nvtx", "samples")
# What is hardest to get, and what it needs: if the time runs out, it runs out for the others.
FIRST = ("windows", *BESIDE, "cost-calls", "cost-turns", "cost-graphs")
VERSIONS = """
import importlib.metadata as m, json
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
names = ["torch", "transformers", "triton", "jax", "jaxlib", "cupy-cuda13x", "nvidia-cublas",
         "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "nvidia-cuda-cupti", "numpy"]
print(json.dumps({name: version(name) for name in names}))
"""


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def gpus() -> list[dict[str, str]]:
    lines = output("nvidia-smi", f"--query-gpu={GPU_QUERY}", "--format=csv,noheader").splitlines()
    names = GPU_QUERY.split(",")
    return [dict(zip(names, line.split(", "), strict=False)) for line in lines]


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def environment(session: Session, what: str, given: argparse.Namespace) -> dict:
    command = f"tests/gpu/run.sh {what} --minutes {given.minutes:g}"
    here = str(pathlib.Path(__file__).parent)
    commit = output("git", "-C", here, "describe", "--always", "--dirty")
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "command": f"{command} --only {given.only}" if given.only else command,
        "tilewise": output(session.tilewise, "--version"),
        "commit": os.environ.get("TILEWISE_COMMIT") or commit or "unknown",
        "gpus": gpus(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "kernel": os.uname().release,
        "packages": json.loads(output(session.python, "-c", VERSIONS) or "{}"),
    }


def _run_one(own: Session, case: Callable[[Session], None]) -> Session:
    """One case's failure is not the others'."""
    start = time.monotonic()
    try:
        case(own)
    except OutOfTime as late:
        own.check(f"{own.case}: not finished within the time", False, why=str(late))
    except BROKEN as error:
        trace = traceback.format_exc(limit=-3).splitlines()
        own.check(f"{own.case}: the case broke", False, error=repr(error), trace=trace)
    own.figures[f"seconds of case {own.case}"] = round(time.monotonic() - start, 1)
    return own


def run(session: Session, all_cases: Cases, beside: Collection[str] = ()) -> None:
    """In their order, but for those that run beside each other: all of them where the first is."""
    left = list(all_cases)
    while left:
        now = [name for name in left if name in beside] if left[0] in beside else left[:1]
        left = [name for name in left if name not in now]
        with ThreadPoolExecutor(len(now)) as threads:
            owns = [session.of_case(name) for name in now]
            for own in threads.map(_run_one, owns, map(all_cases.get, now)):
                session.take_in(own)


def write_samples(session: Session, facts: dict, folder: pathlib.Path) -> None:
    """The traces and how each was made."""
    made = []
    for name, (trace, words) in session.samples.items():
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"{name}.twt"
        shutil.copyfile(trace, target)
        option, workload, *given = words
        program = f"tests/gpu/workloads/{workload}.py"
        command = " ".join(["tilewise record", option, "-- python3", program, *given])
        made.append({"file": target.name, "bytes": target.stat().st_size, "command": command})
    if made:
        manifest = {"environment": facts, "samples": made}
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")


def arguments(all_cases: Cases, about: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a tilewise build")
    parser.add_argument("--tools", type=pathlib.Path, required=True, help="what run.sh has built")
    parser.add_argument(
        "--out", type=pathlib.Path, required=True, help="report, without its suffix"
    )
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--only", default="", help=",".join(all_cases))
    parser.add_argument("--into", type=pathlib.Path, help="take the cases into this report (JSON)")
    parser.add_argument("--keep", type=pathlib.Path, help="keep traces and logs in this folder")
    given = parser.parse_args()
    absent = {name for name in given.only.split(",") if name} - all_cases.keys()
    if absent:
        parser.error(f"no case {', '.join(sorted(absent))}: there are {', '.join(all_cases)}")
    return given


def main(what: str, all_cases: Cases, about: str, beside: Collection[str] = ()) -> int:
    given = arguments(all_cases, about)
    earlier = report.load(given.into) if given.into else None
    only = [name for name in given.only.split(",") if name] or list(all_cases)
    work = given.keep or pathlib.Path(tempfile.mkdtemp(prefix=f"tilewise-{what}-"))
    work.mkdir(parents=True, exist_ok=True)
    session = Session(given.build.resolve(), given.tools.resolve(), work.resolve(), given.minutes)
    session.earlier = earlier["figures"] if earlier else {}
    facts = environment(session, what, given)
    try:
        run(session, {name: case for name, case in all_cases.items() if name in only}, beside)
        written = report.of_session(session, facts)
        if earlier:
            written = report.merge(earlier, written, only)
        report.write(what, written, given.out)
        write_samples(session, facts, given.out.parent / "samples")
    finally:
        if not given.keep:
            shutil.rmtree(work, ignore_errors=True)
    print(f"1..{len(session.checks)}")
    return 0 if all(check.ok is True for check in session.checks) else 1


if __name__ == "__main__":
    everything = cases.CASES | cost.CASES
    in_order = {name: everything[name] for name in FIRST} | everything
    sys.exit(main("capture", in_order, __doc__, BESIDE))
