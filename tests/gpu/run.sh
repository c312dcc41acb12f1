#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The acceptance of the tracer, of the replay, and of the kernels of other compilers, on a machine with a GPU.
#   run.sh capture|replay|cutile|causal [--minutes 9] [--only a,b,...] [--into REPORT.json] [--keep DIR]
# TILEWISE_BUILD is a build or an installation (bin/tilewise, lib/libtilewise-tracer.so), CUDA_HOME
# the toolkit (/usr/local/cuda), PYTHON the python3 that has PyTorch, CAPTURE_OUT, REPLAY_OUT, CUTILE_OUT or CAUSAL_OUT
# the report without its suffix (docs/results/h200-capture, -replay, -cutile, -causal); sample traces go to samples/
# beside it. Prints TAP; without a GPU everything is skipped.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cuda=${CUDA_HOME:-/usr/local/cuda}

usage() {
    sed -n '4,9s/^# \{0,1\}//p' "$0" >&2
    exit 64
}

skip() {
    printf '1..1\nok 1 - %s on a GPU # SKIP %s\n' "$what" "$1"
    exit 0
}

refuse() {
    echo "run.sh: $1" >&2
    exit 2
}

# build_tools DIR: what measures beside the shim; none of it shares code with it.
build_tools() {
    local flags=(-std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -I"$cuda/include")
    "${CC:-cc}" "${flags[@]}" -shared -fPIC "$here/kernel_times.c" -o "$1/kernel_times.so" -ldl -lpthread
    local blas=("-L$cuda/lib64" "-Wl,-rpath,$cuda/lib64" -lcublas -lcublasLt)
    "${CC:-cc}" "${flags[@]}" "$here/call_cost.c" "$here/call_routines.c" -o "$1/call_cost" \
        "${blas[@]}" -lcudart -ldl
    "${CC:-cc}" "${flags[@]}" -shared -fPIC "$here/call_routines.c" -o "$1/call_direct.so" "${blas[@]}"
    "${CC:-cc}" -shared -fPIC -x c /dev/null -o "$1/empty_preload.so"
}

what=${1:-}
case $what in capture | replay | cutile | causal) shift ;; *) usage ;; esac
nvidia-smi -L >/dev/null 2>&1 || skip "no GPU"
[ "$what" != capture ] || [ -e "$cuda/include/cupti.h" ] || skip "no CUDA toolkit in $cuda (set CUDA_HOME)"
"${PYTHON:-python3}" -c 'import torch' 2>/dev/null || skip "no PyTorch in ${PYTHON:-python3} (set PYTHON)"
build=${TILEWISE_BUILD:-$root/build/dev}
[ -x "$build/bin/tilewise" ] || refuse "no $build/bin/tilewise: build tilewise, or set TILEWISE_BUILD"
[ -e "$build/lib/libtilewise-tracer.so" ] || refuse "no $build/lib/libtilewise-tracer.so"

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
[ "$what" != capture ] || build_tools "$tools"
out=${what^^}_OUT
out=${!out:-$root/docs/results/h200-$what}
"${PYTHON:-python3}" "$here/$what.py" --build "$build" --tools "$tools" --out "$out" "$@"
