# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a handle was told before a call becomes part of its signature, at no question to the library.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

rows_of() { recorded "$1" "$VENDOR_BIN/host_state" "$1" && same_rows "$1"; }
streams_of() { recorded "$1" "$VENDOR_BIN/host_state" "$1" 2>"$work/asked" &&
    diff "$work/$1.said" <(dump streams "$1"); }
inner() { recorded inner "$VENDOR_BIN/host_state" inner && same_calls inner; }

check "pointer mode and math mode, where they matter" rows_of modes
check "set before the first call" rows_of told_before
check "a setter that was refused" rows_of setter_refused
check "a stream that was refused" streams_of stream_refused
check "a destroyed handle's address is used again" rows_of destroyed
check "five thousand handles" rows_of many
check "a call that differs from the expected one in one thing" rows_of one_thing
check "types of a future library: counted, apart, not replayable" rows_of unknown
check "the stream is set before every call" streams_of streams
check "the library was asked for one handle, once" equal "$(cat "$work/asked")" 3
check "cuBLAS that calls cuBLASLt is one call" inner
journaled() { recorded journaled "$VENDOR_BIN/host_state" journaled && same_calls journaled; }
check "a product of a known handle is written to the journal" journaled
burst() { rows_of burst && equal "$(counter seen burst) $(counter dropped burst)" "$(counter recorded burst) 0"; }
check "bursts of three threads, more than fits at once: every call, none twice" burst
check "each on its stream" equal "$(dump streams burst)" $'stream 1 27000\nstream 2 27000'
finish
