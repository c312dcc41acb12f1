# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# An installed tilewise finds its shim, and records.
. "$TILEWISE_SOURCE/tests/tap.sh"

prefix=$work/prefix
check "cmake --install" cmake --install "$TILEWISE_BUILD" --prefix "$prefix"
check "the shim is found and loads" grep -q "^ok  *shim  *$prefix/" <("$prefix/bin/tilewise" doctor --device=cpu "$work")
kernels=$prefix/share/tilewise/kernels
check "kernels compiled ahead of time are installed" sh -c '"$1" kernels --candidate "$2" | grep -q "^cutile_bf16_tn_128x128 "' sh \
    "$prefix/bin/tilewise" "$kernels/cutile/matmul.yaml"
check "so are Triton's" sh -c '"$1" kernels --candidate "$2" | grep -q "^triton_add_vector_f32 "' sh \
    "$prefix/bin/tilewise" "$kernels/triton/add.yaml"
check "and the second baseline" test -s "$prefix/share/tilewise/torch_companion.py"
record() {
    "$prefix/bin/tilewise" record -o "$work/traces" -- /usr/bin/python3 -c '
import numpy as np
np.ones((4, 4)) @ np.ones((4, 4))'
}
check "the installed program records" record
check "a trace was written" test -s "$(find "$work/traces" -name '*.twt')"
plugin() {
    cc -shared -fPIC -Werror -I"$prefix/include/tilewise" "$TILEWISE_SOURCE/examples/candidate_c/candidate.c" -o "$work/plugin.so" &&
        chmod 755 "$work/plugin.so" && "$prefix/bin/tilewise" kernels --candidate "$work/plugin.so"
}
check "a plug-in is built against the installed headers" plugin
finish
