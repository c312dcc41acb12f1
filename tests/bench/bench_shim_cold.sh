#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What hooks of GPU libraries cost with cold caches: bench_shim_cold.c under the shim, in several
# processes, events on and off. Columns: a call without the shim; what the hook adds while recording
# is off; what recording adds to that; quartiles over calls in brackets.
#   tests/bench/bench_shim_cold.sh [BUILD_DIRECTORY [ROUNDS [CALLS]]]
set -eu
build=$(realpath "${1:-build/release}") rounds=${2:-3} calls=${3:-400}
here=$(cd "$(dirname "$0")" && pwd)
shim=${SHIM:-$build/lib/libtilewise-tracer.so}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
places=$(PYTHONPATH=$here/../gpu python3 -B -c 'import sys, switch; print(switch.places(sys.argv[1]))' "$shim")
for ((i = 0; i < rounds; i++)); do
    for events in ${EVENTS:-on off}; do
        echo "events $events"
        LD_PRELOAD=$shim TILEWISE_OUT=$work/t TILEWISE_EVENTS=$events \
            "$build/tests/bench/bench_shim_cold" "$build"/tests/bench/libcold_calls_{direct,hooked}.so \
            "$places" "$calls"
        rm -rf "$work/t"
    done
done
