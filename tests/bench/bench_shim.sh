#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the shim costs, against an empty preload, in interleaved runs:
#   - a call of cblas_sgemm on 4x4 matrices, in processor time of the calling thread: recording on
#     (so few calls that each gets an event; so many that the ring is full most of the time; counts
#     alone), and preloaded without TILEWISE_OUT;
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

# Median start-up time of bash in us with each of two preloads, one start of each by turns; in an
# environment of their own, because $BASH_ENV may start more programs.
starts() {
    /usr/bin/python3 - "$work/t" "$@" <<'END'
import os, statistics, sys, time
directory = sys.argv.pop(1)
took = {library: [] for library in sys.argv[1:]}
for _ in range(1500):
    for library in took:
        begin = time.perf_counter_ns()
        os.waitpid(os.posix_spawn("/bin/bash", ["bash", "-c", ":"],
                                  {"LD_PRELOAD": library, "TILEWISE_OUT": directory}), 0)
        took[library].append((time.perf_counter_ns() - begin) / 1000)
print(*(statistics.median(t) for t in took.values()))
END
}

for ((i = 0; i < rounds; i++)); do
    LD_PRELOAD=$work/empty.so run "$bench" >>"$work/empty"
    LD_PRELOAD=$shim TILEWISE_OUT=$work/t run "$bench" 2000 30 >>"$work/events"
    LD_PRELOAD=$shim TILEWISE_OUT=$work/t run "$bench" >>"$work/full"
    LD_PRELOAD=$shim TILEWISE_OUT=$work/t TILEWISE_EVENTS=off run "$bench" >>"$work/counts"
    LD_PRELOAD=$shim run "$bench" >>"$work/unarmed"
    rm -rf "$work/t"
done

base=$(median <"$work/empty")
printf '%-34s %9s %9s %7s\n' "one cblas_sgemm, 4x4x4" "ns" "added ns" "ratio"
printf '%-34s %9.1f\n' "empty preload" "$base"
for row in "events:recording, an event each" "full:recording, ring full" \
    "counts:recording, counts alone" "unarmed:preloaded, not armed"; do
    value=$(median <"$work/${row%%:*}")
    awk -v name="${row#*:}" -v v="$value" -v b="$base" \
        'BEGIN { printf "%-34s %9.1f %9.1f %7.2f\n", name, v, v - b, v / b }'
done
read -r empty denied < <(starts "$work/empty.so" "$shim")
awk -v e="$empty" -v s="$denied" 'BEGIN {
    printf "%-34s %9.1f\n", "start of bash, empty preload (us)", e
    printf "%-34s %9.1f %9.1f %7.2f\n", "start of bash, denied (us)", s, s - e, s / e }'
