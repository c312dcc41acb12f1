# SPDX-License-Identifier: Apache-2.0
"""Hold the #include lines of every folder against the table of docs/architecture.md (TAP)."""
import pathlib
import re
import sys

MAY_INCLUDE = {
    "traces": {"traces"},
    "tracer": {"tracer", "traces"},
    "replayer": {"replayer", "traces"},
    "kernels": {"kernels", "traces", "replayer/candidate.h"},
    "analysis": {"analysis", "traces"},
    "cli": {"cli", "analysis", "replayer", "kernels", "traces"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def violations(root: pathlib.Path, folder: str):
    allowed = MAY_INCLUDE[folder]
    for path in sorted((root / folder).rglob("*")):
        if path.suffix not in {".c", ".h", ".cu", ".cuh", ".def", ".S"}:
            continue
        for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
            head = name.split("/", 1)[0]
            if head in MAY_INCLUDE and head not in allowed and name not in allowed:
                yield f"{path.relative_to(root)} includes {name}"


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    failed = 0
    print(f"1..{len(MAY_INCLUDE)}")
    for number, folder in enumerate(MAY_INCLUDE, 1):
        found = list(violations(root, folder))
        failed += bool(found)
        print(f"{'not ok' if found else 'ok'} {number} - {folder} includes only what it may")
        for line in found:
            print(f"# {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
