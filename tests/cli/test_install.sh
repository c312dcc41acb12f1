# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# An installed tilewise finds its shim, and records.
. "$TILEWISE_SOURCE/tests/tap.sh"

prefix=$work/prefix
check "cmake --install" cmake --install "$TILEWISE_BUILD" --prefix "$prefix"
check "the shim is found and loads" grep -q "^ok  *shim  *$prefix/" <("$prefix/bin/tilewise" doctor --device=cpu "$work")
record() {
    "$prefix/bin/tilewise" record -o "$work/traces" -- /usr/bin/python3 -c '
import numpy as np
np.ones((4, 4)) @ np.ones((4, 4))'
}
check "the installed program records" record
check "a trace was written" test -s "$(find "$work/traces" -name '*.twt')"
finish
