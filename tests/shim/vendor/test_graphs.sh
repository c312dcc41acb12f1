# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# CUDA graphs: the calls of a trace are those that the fake GPU executed, captured times launched.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

exact() { # SCENARIO
    recorded "$1" "$VENDOR_BIN/host_graph" "$1" && same_calls "$1" &&
        equal "$(counter seen "$1") $(counter dropped "$1") $(counter complete "$1")" \
            "$(counter recorded "$1") 0 1"
}
graph_calls() { dump graphs "$1" | tr '\n' ' '; }

check "capture, instantiate, destroy the graph, launch" exact one
check "calls of graphs and calls outside have rows of their own" \
    equal "$(graph_calls one)" "cublasDgemm_v2 200 cublasSgemm_v2 500 "
check "a call that is expected as work is captured, and the other way" exact expected
check "a graph that is never launched is no work" exact never_launched
check "child graphs, nested" exact child
check "a launch into a capture is part of it" exact launch_in_capture
check "an updated executable launches the new graph" exact update
check "an update that is refused changes nothing" exact update_refused
check "child graphs by the generic call, with the arguments of CUDA 12 and 13" exact generic_child
check "child graphs, eight levels deep" exact deep
check "children replaced in the executable graph, taken out of the graph" exact set_child
check "streams captured in all modes, others at work beside them" exact modes
check "an invalidated capture of two streams" exact invalid_joined
note() { dump facts "$1" | grep -q "^note .*$2"; }
conditions_are_said() { exact conditional && note conditional conditional; }
check "bodies of conditional nodes: not counted, and said" conditions_are_said
no_body_no_note() { exact conditional_empty && ! note conditional_empty conditional; }
check "a condition around no call is not worth a word" no_body_no_note
device_is_said() { exact device_launch && note device_launch "kernels may launch"; }
check "launches by the device: not counted, and said" device_is_said
check "a clone has what its original had" exact clone
check "handles used again after destroy" exact reuse
check "capture into an existing graph" exact into_existing
check "streams that join a capture, and one that does not" exact joined
check "an invalidated capture is no work, and the next one is" exact invalid
check "the driver's functions, per-thread streams too" exact driver
check "the stream that a thread has for itself" exact per_thread
check "the driver's functions, from cuGetProcAddress" exact by_address
check "a runtime that calls the driver by name counts once" exact nested
check "a grouped call under capture" exact grouped
check "four threads capture and launch at once" exact threads

captured_while_off() {
    recorded paused "$VENDOR_BIN/host_graph" paused &&
        equal "$(graph_calls paused)" "cublasDgemm_v2 10 cublasSgemm_v2 20 "
}
check "captured while recording is off, launched while it is on" captured_while_off

unknown_is_said() {
    recorded unknown "$VENDOR_BIN/host_graph" unknown && dump facts unknown | grep "note.*graph"
}
check "launches of graphs of unknown content are said" unknown_is_said
cards_are_counted() { dump facts paused | grep "^gpus 2$"; }
check "the cards are counted" cards_are_counted
finish
