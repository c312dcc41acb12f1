# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What phases cost: `bash tests/shim/vendor/cost_nvtx.sh BUILD [ROUNDS]`. Runs take turns; printed is
# the median over rounds of ns per call, fake library included. none: no preload; off: recorded
# without phases; on: with them.
build=${1:?build folder} rounds=${2:-5}
bin=$build/tests/shim/vendor/bin shim=$build/lib/libtilewise-tracer.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for ((round = 0; round < rounds; round++)); do
    "$bin/host_nvtx" cost | sed 's/^/none /'
    TILEWISE_OUT=$work/off LD_PRELOAD=$shim "$bin/host_nvtx" cost | sed 's/^/off /'
    TILEWISE_OUT=$work/on TILEWISE_NVTX=1 NVTX_INJECTION64_PATH=$shim LD_PRELOAD=$shim \
        "$bin/host_nvtx" cost | sed 's/^/on /'
done | sort -k1,2 -k3n | awk '
    { key = $1 " " $2; n[key]++; value[key, n[key]] = $3; call[$2] }
    END {
        printf "%-16s%8s%8s%8s\n", "ns per call", "none", "off", "on"
        split("none off on", order)
        for (c in call) {
            printf "%-16s", c
            for (i = 1; i <= 3; i++) { k = order[i] " " c; printf "%8.1f", value[k, int((n[k] + 1) / 2)] }
            print ""
        }
    }'
