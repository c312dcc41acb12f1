# SPDX-License-Identifier: Apache-2.0
"""The report of a run: checks and figures, as JSON and for people.

A run of some of the cases can be taken into an earlier report (`--into`): what those cases said there
is replaced as a whole, the rest stays, and all that is of the later run names it.

  environment   of the run that the report began with
  later_runs    the environment of each run that was taken in, by its number from 1
  checks[]      "case"; "run": number of its later run, if it is of one
  figures, figure_cases, figure_runs   value, case, and number of the later run if any, by name
"""

import dataclasses
import json
import pathlib

from session import Check, Session


def of_session(session: Session, facts: dict) -> dict:
    return {
        "environment": facts,
        "passed": all(check.ok is True for check in session.checks),
        "checks": [dataclasses.asdict(check) for check in session.checks],
        "figures": session.figures,
        "figure_cases": session.figure_cases,
    }


def load(path: pathlib.Path) -> dict:
    """An earlier report. ValueError: not one, or so old that its checks and figures name no case."""
    report = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(report, dict) or not {"environment", "checks", "figures"} <= report.keys():
        raise ValueError(f"{path}: no report of run.sh")
    if not all("case" in check for check in report["checks"]) or "figure_cases" not in report:
        raise ValueError(f"{path}: its checks name no case: nothing can be taken into it")
    return report


def _placed(earlier: dict, taken: dict, cases: set[str]) -> list[dict]:
    """Checks, with those that were taken in where their case stood, or behind."""
    checks: list[dict] = []
    left = list(taken["checks"])
    for check in earlier["checks"]:
        if check["case"] not in cases:
            checks.append(check)
            continue
        checks += [one for one in left if one["case"] == check["case"]]
        left = [one for one in left if one["case"] != check["case"]]
    return checks + left


def merge(earlier: dict, later: dict, cases: list[str]) -> dict:
    """cases: those that the later run was asked for, whatever became of them."""
    runs = [*earlier.get("later_runs", []), later["environment"]]
    number, replaced = len(runs), set(cases)
    taken = later | {"checks": [check | {"run": number} for check in later["checks"]]}

    def kept(values: dict) -> dict:
        return {n: v for n, v in values.items() if earlier["figure_cases"].get(n) not in replaced}

    checks = _placed(earlier, taken, replaced)
    return {
        "environment": earlier["environment"],
        "later_runs": runs,
        "passed": all(check["ok"] is True for check in checks),
        "checks": checks,
        "figures": kept(earlier["figures"]) | later["figures"],
        "figure_cases": kept(earlier["figure_cases"]) | later["figure_cases"],
        "figure_runs": kept(earlier.get("figure_runs", {})) | dict.fromkeys(later["figures"], number),
    }


def word(ok: bool | None) -> str:
    return {True: "pass", False: "FAIL", None: "unclear"}[ok]


def _environment(facts: dict) -> list[str]:
    return [
        f"- {key}: {json.dumps(value) if isinstance(value, (dict, list)) else value}"
        for key, value in facts.items()
    ]


def _is_table(value) -> bool:
    """Rows of the same columns, each cell a text, a number or nothing."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(row, dict) and row.keys() == value[0].keys() for row in value)
        and not any(isinstance(cell, (dict, list)) for row in value for cell in row.values())
    )


def _table_lines(rows: list[dict]) -> list[str]:
    def line(cells) -> str:
        texts = ("-" if cell is None else str(cell).replace("|", "\\|") for cell in cells)
        return "| " + " | ".join(texts) + " |"

    return [line(rows[0]), line(["---"] * len(rows[0])), *(line(row.values()) for row in rows)]


def as_markdown(what: str, report: dict) -> str:
    runs = report.get("later_runs", [])
    dates = [""] + [f"{run['date']}, {run.get('commit', '')}".rstrip(", ") for run in runs]
    lines = [f"# GPU {what}", "", f"Written by `tests/gpu/run.sh {what}`.", "", "## Environment", ""]
    lines += _environment(report["environment"])
    for number, run in enumerate(runs, 1):
        lines += ["", f"## Later run {number}: {dates[number]}", ""]
        lines += ["What names this run below was taken in from it (`--into`).", ""]
        lines += _environment(run)
    passed = sum(check["ok"] is True for check in report["checks"])
    lines += ["", f"## Checks: {passed} of {len(report['checks'])} passed", ""]
    lines += ["| | check | later run |", "| --- | --- | --- |"] if runs else ["| | check |", "| --- | --- |"]
    for check in report["checks"]:
        row = f"| {word(check['ok'])} | {check['name']} |"
        lines.append(f"{row} {dates[check.get('run', 0)]} |" if runs else row)
    lines += ["", "## Figures", ""]
    tables = {name: value for name, value in report["figures"].items() if _is_table(value)}
    of_run = {name: f" ({dates[n]})" for name, n in report.get("figure_runs", {}).items()}
    for name, value in report["figures"].items():
        if name not in tables:
            lines.append(f"- {name}: `{json.dumps(value)}`{of_run.get(name, '')}")
    for name, rows in tables.items():
        lines += ["", f"### {name}{of_run.get(name, '')}", "", *_table_lines(rows)]
    return "\n".join(lines) + "\n"


def write(what: str, report: dict, out: pathlib.Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(as_markdown(what, report), encoding="utf-8")
