# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Libraries by the names of an installation, loaded by path: nothing of the program is linked to one.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"
a=$VENDOR_BIN/soname/a b=$VENDOR_BIN/soname/b

by() { recorded "$@" && same_calls "$1"; }
loads() { by "$1" "$VENDOR_BIN/host_soname" "$@"; }
plainly() { "$VENDOR_BIN/host_soname" "$@" >"$work/plain" && equal "$(cat "$work/plain")" "$(cat "$work/$1.said")"; }

check "all six, RTLD_LOCAL: each call and each launch is recorded" loads local "$a"
check "the sum is of every library" equal "$(dump calls local | tr '\n' ' ')" \
    "cublasLtMatmul 1 cublasSgemm_v2 23 cudnnConvolutionForward 1 ncclAllReduce 1 "
library_is_named() { dump facts local | grep "^library libcublas.so.13$"; }
check "libraries are named as they are installed" library_is_named
check "without the shim the program does the same" plainly local "$a"
check "two copies of one soname, in two folders" loads copies "$a" "$b"
check "RTLD_DEEPBIND: what the program looks up itself is recorded" loads deepbind "$a" "$b"
check "a copy in a namespace of its own: what is looked up from outside is recorded" loads dlmopen "$a"
check "without the shim it works as well" plainly dlmopen "$a"
finish
