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
with_objects() { # NAME OBJECT...: a program of no vendor's, calling a BLAS, with these objects beside it
    local name=$1
    shift
    TILEWISE_OUT="$work/$name" LD_PRELOAD="$SHIM ${*/#/$VENDOR_BIN/lib}" \
        "$TILEWISE_BUILD/tests/shim/bin/host" calls 10 && test "$(counter seen "$name")" -gt 0
}
without_driver() { with_objects cpu static_both.so && equal "$(said_of cpu)" ""; }
check "cuBLAS inside a process without a driver cannot be called, and nothing is said" without_driver
with_driver() { with_objects gpu static_both.so fake_gpu.so && equal "$(said_of gpu)" "libstatic_both.so $note"; }
check "the same program with a driver" with_driver
while_running() { STAY=1 with running host_static "libstatic_both.so $note" static_both.so; }
check "it is found while the process runs, a part a second" while_running
finish
