#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of reports, and of taking a run into an earlier one (TAP)."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import report
import tap
from session import Session


def run(date: str, said: dict[str, dict[str, bool | None]]) -> dict:
    """A report of the cases in `said`: check -> ok."""
    one = Session(*[pathlib.Path("/nowhere")] * 3, minutes=1)
    for case, checks in said.items():
        own = one.of_case(case)
        for name, ok in checks.items():
            own.check(name, ok)
        own.figures[f"figure of {case}"] = date
        with contextlib.redirect_stdout(io.StringIO()):
            one.take_in(own)
    return report.of_session(one, {"date": date, "commit": f"commit of {date}"})


def said(merged: dict) -> list[tuple[str, bool | None, int]]:
    return [(check["name"], check["ok"], check.get("run", 0)) for check in merged["checks"]]


FIRST = {"a": {"a1": True, "a2": None}, "b": {"b1": True}, "c": {"c1": False}}


def test_a_report_says_unclear():
    text = report.as_markdown("capture", run("Monday", FIRST))
    for part in ("2 of 4 passed", "| pass | a1 |", "| unclear | a2 |", "| FAIL | c1 |",
                 "- figure of a: `\"Monday\"`\n", "- date: Monday"):  # fmt: skip
        assert part in text, part


def test_a_case_is_replaced_as_a_whole():
    merged = report.merge(run("Monday", FIRST), run("Tuesday", {"a": {"a2": True, "a3": True}}), ["a"])
    assert said(merged) == [("a2", True, 1), ("a3", True, 1), ("b1", True, 0), ("c1", False, 0)]
    assert merged["figures"] == {"figure of b": "Monday", "figure of c": "Monday",
                                 "figure of a": "Tuesday"}  # fmt: skip
    assert merged["environment"]["date"] == "Monday" and not merged["passed"]
    text = report.as_markdown("capture", merged)
    for part in ("3 of 4 passed", "| pass | a2 | Tuesday, commit of Tuesday |", "| pass | b1 |  |",
                 "- figure of a: `\"Tuesday\"` (Tuesday, commit of Tuesday)",
                 "- figure of b: `\"Monday\"`\n"):  # fmt: skip
        assert part in text, part


def test_a_case_that_broke_leaves_nothing_of_before():
    merged = report.merge(run("Monday", FIRST), run("Tuesday", {"b": {"b: broke": False}}), ["b", "c"])
    assert said(merged) == [("a1", True, 0), ("a2", None, 0), ("b: broke", False, 1)]
    assert "figure of c" not in merged["figures"] and "figure of c" not in merged["figure_cases"]


def test_several_runs_are_taken_in():
    merged = run("Monday", FIRST)
    for date, case, ok in (("Tuesday", "a", False), ("Wednesday", "c", True), ("Thursday", "a", True)):
        merged = report.merge(merged, run(date, {case: {f"{case}1": ok}}), [case])
    assert said(merged) == [("a1", True, 3), ("b1", True, 0), ("c1", True, 2)] and merged["passed"]
    assert merged["figure_runs"] == {"figure of a": 3, "figure of c": 2}
    with tempfile.TemporaryDirectory() as name:
        out = pathlib.Path(name) / "folder" / "report"
        report.write("capture", merged, out)
        assert report.load(out.with_suffix(".json")) == merged
        assert out.with_suffix(".md").read_text() == report.as_markdown("capture", merged)


def test_what_is_no_report_with_cases_is_refused():
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "x.json"
        old = run("Monday", FIRST)
        del old["checks"][1]["case"]
        for text in ("[]", "{", json.dumps({"checks": []}), json.dumps(old)):
            path.write_text(text)
            assert tap.refuses(report.load, path), text


if __name__ == "__main__":
    sys.exit(tap.run(globals()))
