# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# cublasLtMatmul: every kind of descriptor, read by learned places or by the getters.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

rows_with() { # NAME MODE ARGS...
    local name=$1 mode=$2
    shift 2
    FAKE_LT=$mode recorded "$name" "$VENDOR_BIN/host_lt" "$@" && same_rows "$name" &&
        equal "$(counter failed "$name") $(counter dropped "$name")" "1 0"
}
asked() { FAKE_LT=$1 recorded "asked_$1" "$VENDOR_BIN/host_lt" asked 2>&1 >/dev/null; }
more_than() { test "$2" -gt "$1" || { echo "$2 is not above $1"; return 1; }; }

check "descriptors whose attributes lie open" rows_with plain plain
check "descriptors that only the getters can read" rows_with scrambled scrambled
check "setters that refuse what cannot be" rows_with strict strict
check "descriptors of an older layout" rows_with old plain old
check "open descriptors are read without a single getter" equal "$(asked plain)" 0
check "the getters are asked where they must be" more_than 1000 "$(asked scrambled)"
finish
