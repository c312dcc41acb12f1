# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every row of the tables of CUDA graphs: with its hook the calls are exact, without it they are not.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

needed() { # SYMBOL
    recorded "$1" "$VENDOR_BIN/host_graph_rows" "$1" && same_calls "$1" &&
        equal "$(counter seen "$1") $(counter dropped "$1")" "$(counter recorded "$1") 0" || return 1
    recorded "$1.past" "$VENDOR_BIN/host_graph_rows" "$1" past || return 1
    ! same_calls "$1.past"
}
for symbol in $(rows driver.def graph.def); do
    check "$symbol: exact with its hook, wrong without" needed "$symbol"
done
finish
