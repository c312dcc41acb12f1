# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every verdict, moved across its threshold by one number.
exec /usr/bin/python3 "$TILEWISE_SOURCE/tests/cli/verdicts.py"
