# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# cuDNN's plans: what each does is read once, when it is finalized, and counted at each execution.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

run() { recorded "$1" "$VENDOR_BIN/host_cudnn_plan" "$1"; }
counted() { # NAME FAILED DROPPED
    equal "$(counter seen "$1") $(counter failed "$1") $(counter dropped "$1")" \
        "$(($(counter recorded "$1") + $3)) $2 $3"
}
rows_of() { run "$1" && same_rows "$1" && counted "$1" "${2:-0}" "${3:-0}"; }

check "convolutions of each direction, each padding apart" rows_of convolutions
check "the same graph built twice is one row" rows_of twice
check "attention, as one operation and as two products with a softmax" rows_of attentions
check "the gradient of attention, where it is clear which heads are whose" rows_of gradients
check "a product" rows_of products_alone
check "fused ends are told apart" rows_of fused
check "graphs that are not understood are counted without a shape" rows_of shapes_unknown
check "a type of a future library" rows_of types_unknown
check "plans restored from JSON, and a broken one" rows_of from_json
check "a destroyed plan's address is used again" rows_of reuse 2
check "a destroyed plan's address has another one each time" rows_of replaced
check "descriptors that are no plans are never looked at" rows_of packs
check "plans by turns" rows_of turns
check "more plans than are found at a glance" rows_of many
check "more plans than there is room for, side by side" rows_of crowd
check "what could not be created changes nothing" rows_of uncreated
check "two threads build, execute and destroy" rows_of threads
check "cuBLASLt called by an engine's library is part of the call" rows_of inner
check "what an engine's library is refused is not the host's failure" rows_of refused
check "what the host is refused is, and does not wait for the loader" rows_of host_refused 21
check "a host's call in the middle is not: it is dropped, and said" rows_of handler 0 10
streams() { run streams 2>"$work/asked" && diff "$work/streams.said" <(dump streams streams); }
check "a handle's stream, told, refused, and of another handle at its address" streams
check "the library was asked once for each handle" equal "$(cat "$work/asked")" 2
populates() { run populate && same_calls populate && counted populate 0 0; }
check "a plan put into a CUDA graph counts by the launches" populates
within_10_s() { for _ in $(seq 100); do "$@" && return || sleep 0.1; done; }
is() { "$TILEWISE" ctl "$work/switched" status 2>/dev/null | grep -q "^$1 "; }
switched() {
    mkfifo "$work/go"
    run switched <>"$work/go" 2>"$work/steps" &
    local pid=$!
    within_10_s is on && "$TILEWISE" ctl "$work/switched" off && within_10_s is off
    echo >"$work/go"
    within_10_s test -s "$work/steps" && "$TILEWISE" ctl "$work/switched" on && within_10_s is on
    echo >"$work/go"
    wait $pid && same_rows switched
}
check "plans are followed while recording is off" switched
captures() { run captured && same_calls captured; }
check "executions that are captured count by the launches" captures
check "calls of the graph have a row of their own" \
    equal "$(dump graphs populate)" "cudnnBackendPopulateCudaGraph 50"
check "without the shim the program runs as well" "$VENDOR_BIN/host_cudnn_plan" convolutions

real() { # PRELOADED...: the real cuDNN, where executions do nothing
    TILEWISE_OUT="$work/real" LD_PRELOAD="$*" "$VENDOR_BIN/host_cudnn_real" >"$work/real.said"
}
real_rows() { real "$SHIM" "$VENDOR_BIN/libcudnn_nothing.so" && same_rows real; }
if real "$VENDOR_BIN/libcudnn_nothing.so" 2>/dev/null; then
    check "the real cuDNN tells what its plan does" real_rows
else
    skip "the real cuDNN tells what its plan does" "it makes no plan here"
fi
finish
