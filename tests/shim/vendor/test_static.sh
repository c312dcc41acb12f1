# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# cuBLAS linked into an object: its calls are not seen, and the trace says so.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

said_of() { dump facts "$1" | sed -n 's/^static_library //p'; }
with() { # NAME PROGRAM EXPECTED OBJECT...
    local name=$1 program=$2 want=$3
    shift 3
    recorded "$name" "$VENDOR_BIN/$program" "${@/#/$VENDOR_BIN/lib}" && equal "$(said_of "$name")" "$want"
}
note="(calls in it are not seen)"
check "a program with cuBLAS inside" with program host_static_inside "the program itself $note"
check "a library with cuBLAS inside" with library host_static "libstatic_both.so $note" static_both.so
check "GPU code alone, the text alone: neither is cuBLAS" with neither host_static "" static_code.so static_mark.so
check "one that exports its cuBLAS and is called through the hooks is recorded" \
    with exported host_static "" static_exported.so
check "its calls are counted" equal "$(counter seen exported)" 2
in_words() {
    "$TILEWISE" info "$work"/program/*.twt | grep "^  warning: cuBLAS is linked statically into the program itself" &&
        "$TILEWISE" info --format=json "$work"/program/*.twt | grep -A2 '"notes"' | grep "statically" &&
        ! "$TILEWISE" info "$work"/neither/*.twt | grep warning
}
check "info warns of it" in_words
check "without any nothing is said" with none host_static ""
while_running() { STAY=1 with running host_static "libstatic_both.so $note" static_both.so; }
check "it is found while the process runs, a part a second" while_running
finish
