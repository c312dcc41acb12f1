# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Every row of the tables, and every way in which a host comes to its BLAS.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/shim.sh"

linked_rows() { exact 0 "$host" rows && "$check_trace" rows "$traces"; }
looked_up_rows() { exact 0 "$host_dl" rows "$SHIM_BIN/libfake_blas.so" && "$check_trace" rows "$traces"; }
check "every row, linked: arguments, errno and signature" linked_rows
check "every row, by dlsym: arguments and signature" looked_up_rows

# host_dl MODE SEEN LIBRARY...: right for the host, and so many calls recorded.
lookup() {
    local mode=$1 want=$2
    shift 2
    fresh
    shimmed "$host_dl" "$mode" "$@" || return 1
    echo "seen $(seen), wanted $want"
    [ "$(seen)" -eq "$want" ]
}
# Without the shim the host must be content too: else the test tests nothing.
plain() {
    "$host_dl" "$@"
}
a=$SHIM_BIN/libfake_a.so b=$SHIM_BIN/libfake_b.so
for i in 1 2 3 4 5; do cp "$a" "$work/copy$i.so"; done

check "dlerror, without the shim" plain errors "$a"
check "dlerror is as without the shim" lookup errors 2 "$a"
check "RTLD_DEFAULT and dlopen(NULL)" lookup global 7 "$a"
check "dlvsym" lookup versioned 6 "$SHIM_BIN/libfake_versioned.so"
check "two libraries with one symbol, by dlsym" lookup copies 5 "$a" "$b"
check "more libraries than bound hooks: the rest is called, unrecorded" \
    lookup copies 9 "$work"/copy{1,2,3,4,5}.so
check "two libraries with one symbol, each linked to a plugin" \
    lookup plugins 16 "$SHIM_BIN/libplugin_a.so" "$a" "$SHIM_BIN/libplugin_b.so" "$b"
check "the C routine calls the Fortran one: one call; LAPACK's calls count" \
    lookup netlib 9 "$SHIM_BIN/libfake_netlib.so"
vendor_part() { VENDOR_PART=$a lookup vendor 3 "$SHIM_BIN/libvendor.so" "$a"; }
check "a library that looks up its own names in its parts" vendor_part
check "RTLD_DEEPBIND goes past us and works" lookup deepbind 0 "$SHIM_BIN/libplugin_a.so" "$a"
check "a function that only has a name of BLAS" lookup homonym 0 "$SHIM_BIN/libhomonym.so"

nested() {
    fresh
    env LD_PRELOAD="$1" TILEWISE_OUT="$traces" "$host_dl" next "$a" >"$work/out" || return 1
    cat "$work/out"
    grep -qx "through both" "$work/out" && [ "$(seen)" -eq 5 ]
}
check "another preload in front of us (RTLD_NEXT)" nested "$SHIM_BIN/libnext.so:$SHIM"
check "another preload behind us (RTLD_NEXT)" nested "$SHIM:$SHIM_BIN/libnext.so"
check "the same without us" env LD_PRELOAD="$SHIM_BIN/libnext.so" "$host_dl" next "$a"
finish
