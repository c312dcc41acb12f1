# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What gpu_kernels --check-only does on a GPU, on the emulated kernels ($1) and small shapes.
. "$TILEWISE_SOURCE/tests/tap.sh"

kernels=$1
runs() { "$kernels" --check-only "$@" >"$work/out"; }
says() { grep -q "$1" "$work/out"; }
# Every kernel had shapes to work on.
none_is_idle() { ! grep '"cases":0,' "$work/out"; }
same_again() {
    grep -v seconds "$work/out" >"$work/first"
    runs --cases 200 --largest 40 && grep -v seconds "$work/out" | cmp - "$work/first"
}
refuses() {
    "$kernels" "$@"
    [ $? -eq 64 ]
}

check "all kernels are right on 200 shapes" runs --cases 200 --largest 40
check "and were asked" none_is_idle
check "the seed is printed" says '"first_seed":1,'
check "the same seed, the same cases" same_again
check "adds of long lines" runs --only add_ --cases 40 --largest 120 --seed 77
check "an unknown option is refused" refuses --no-such-option
check "no largest size is refused" refuses --largest 0
finish
