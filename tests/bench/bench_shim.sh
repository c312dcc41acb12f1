#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the shim costs, against an empty preload, in interleaved runs:
#   - a call of cblas_sgemm on 4x4 matrices, recording on (with events, with counts alone), and
#     preloaded without TILEWISE_OUT;
#   - the start of a program that is denied (bash).
#   tests/bench/bench_shim.sh [BUILD_DIRECTORY [ROUNDS]]
set -eu
build=${1:-build/release} rounds=${2:-11}
shim=$(realpath "$(find "$build" -name libtilewise-tracer.so | head -n 1)")
bench=$(realpath "$(find "$build" -name bench_shim -type f | head -n 1)")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int empty;' | gcc -shared -fPIC -o "$work/empty.so" -x c -

# OpenBLAS as it chooses itself; one thread, as for any matrix this small.
run() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 "$@"; }
median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int((NR + 2) / 2)]) / 2 }'; }

start_ns() { # mean start-up time of bash over 200 runs
    LD_PRELOAD=$1 TILEWISE_OUT=$work/t /usr/bin/python3 -c '
import os, time
env = dict(os.environ)
begin = time.perf_counter_ns()
for _ in range(200):
    os.waitpid(os.posix_spawn("/bin/bash", ["bash", "-c", ":"], env), 0)
print((time.perf_counter_ns() - begin) / 200)'
}

for ((i = 0; i < rounds; i++)); do
    LD_PRELOAD=$work/empty.so run "$bench" >>"$work/empty"
    LD_PRELOAD=$shim TILEWISE_OUT=$work/t run "$bench" >>"$work/events"
    LD_PRELOAD=$shim TILEWISE_OUT=$work/t TILEWISE_EVENTS=off run "$bench" >>"$work/counts"
    LD_PRELOAD=$shim run "$bench" >>"$work/unarmed"
    rm -rf "$work/t"
    start_ns "$work/empty.so" >>"$work/start_empty"
    start_ns "$shim" >>"$work/start_shim"
done

base=$(median <"$work/empty")
printf '%-34s %9s %9s %7s\n' "one cblas_sgemm, 4x4x4" "ns" "added ns" "ratio"
printf '%-34s %9.1f\n' "empty preload" "$base"
for row in "events:recording, events" "counts:recording, counts alone" "unarmed:preloaded, not armed"; do
    value=$(median <"$work/${row%%:*}")
    awk -v name="${row#*:}" -v v="$value" -v b="$base" \
        'BEGIN { printf "%-34s %9.1f %9.1f %7.2f\n", name, v, v - b, v / b }'
done
awk -v e="$(median <"$work/start_empty")" -v s="$(median <"$work/start_shim")" 'BEGIN {
    printf "%-34s %9.1f\n", "start of bash, empty preload (us)", e / 1000
    printf "%-34s %9.1f %9.1f %7.2f\n", "start of bash, denied (us)", s / 1000, (s - e) / 1000, s / e }'
