# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tests of this folder, after tap.sh.
#   recorded NAME PROGRAM ARGS...   run it under the shim; its stdout to $work/NAME.said, its traces
#                                   to $work/NAME
#   dump WHAT NAME                  what these traces hold, sorted
#   counter WHICH NAME              one counter
#   same_rows NAME                  the program printed the rows of the trace
#   rows FILE...                    symbols of the rows of tables, sorted
#   same_calls NAME                 the program printed the calls that were executed

recorded() {
    local name=$1
    shift
    TILEWISE_OUT="$work/$name" LD_PRELOAD="$SHIM" "$@" >"$work/$name.said"
}
dump() { "$VENDOR_BIN/vendor_dump" "$1" "$work/$2" | LC_ALL=C sort; }
counter() { dump counters "$2" | sed -n "s/^$1 //p"; }
said() { LC_ALL=C sort "$work/$1.said"; }
same_rows() { test -s "$work/$1.said" && diff <(said "$1") <(dump rows "$1"); }
same_calls() { test -s "$work/$1.said" && diff <(said "$1") <(dump calls "$1"); }
rows() {
    local table
    for table; do
        printf '#define ROW(family, symbol, ...) @symbol\n#include "tracer/%s"\n' "$table" |
            cc -E -P -x c -I "$TILEWISE_SOURCE" - | tr ' ' '\n' | sed -n 's/^@//p'
    done | LC_ALL=C sort
}
equal() { test "$1" = "$2" || { echo "$1, not $2"; return 1; }; }
