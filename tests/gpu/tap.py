# SPDX-License-Identifier: Apache-2.0
"""Runs the test_* functions of a module and prints TAP."""

import traceback
from collections.abc import Mapping


def refuses(call, *arguments) -> bool:
    try:
        call(*arguments)
    except ValueError:
        return True
    return False


def run(module: Mapping[str, object]) -> int:
    """module: its globals(). The exit status."""
    tests = [(name, test) for name, test in module.items() if name.startswith("test_")]
    failed = 0
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        title = name.removeprefix("test_").replace("_", " ")
        try:
            test()
            print(f"ok {number} - {title}")
        except Exception:  # a test may break in any way
            failed += 1
            print(f"not ok {number} - {title}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
    return 1 if failed else 0
