# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every way to a GPU library: each caller reaches its own copy, and each call is recorded once.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"
export LD_LIBRARY_PATH=$VENDOR_BIN

by() { # WAY COPIES
    recorded "$1" "$VENDOR_BIN/host_doors" "$1" 2>"$work/copies" && equal "$(cat "$work/copies")" "$2" &&
        same_calls "$1"
}
check "two copies, RTLD_LOCAL, by dlsym" by dlsym "a 5 b 10"
check "two copies, RTLD_LOCAL, linked to plugins" by linked "a 50 b 100"
check "two copies, by dlsym and linked" by both "a 55 b 110"
check "names that no library has stay absent" recorded absent "$VENDOR_BIN/host_doors" absent
check "without the shim they are absent too" "$VENDOR_BIN/host_doors" absent

bypassed() {
    recorded deepbind "$VENDOR_BIN/host_doors" deepbind 2>/dev/null && same_calls deepbind &&
        dump facts deepbind | grep "^bypassed_by libvendor_plugin_a.so"
}
check "RTLD_DEEPBIND: what goes by the shim is said, the rest is recorded" bypassed
honest() { ! dump facts both | grep bypassed_by; }
check "nobody goes by where nobody does" honest
finish
