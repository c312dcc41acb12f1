# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What a hook costs: `bash tests/shim/vendor/cost.sh BUILD [ROUNDS]`. Runs take turns; printed is the
# median over rounds of ns per call, fake library included.
build=${1:?build folder} rounds=${2:-5}
bin=$build/tests/shim/vendor/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'int tilewise_empty_preload;' | cc -shared -fPIC -x c -o "$work/empty.so" -
for ((round = 0; round < rounds; round++)); do
    "$bin/vendor_cost" | sed 's/^/none /'
    LD_PRELOAD=$work/empty.so "$bin/vendor_cost" | sed 's/^/empty /'
    LD_PRELOAD=$build/lib/libtilewise-tracer.so "$bin/vendor_cost" | sed 's/^/unarmed /'
    TILEWISE_OUT=$work/counts TILEWISE_EVENTS=off LD_PRELOAD=$build/lib/libtilewise-tracer.so \
        "$bin/vendor_cost" | sed 's/^/counts /'
    TILEWISE_OUT=$work/events LD_PRELOAD=$build/lib/libtilewise-tracer.so \
        "$bin/vendor_cost" | sed 's/^/events /'
done | sort -k1,2 -k3n | awk '
    { key = $1 " " $2; n[key]++; value[key, n[key]] = $3; how[$1]; call[$2] }
    END {
        printf "%-18s", "ns per call"
        split("none empty unarmed counts events", order)
        for (i = 1; i <= 5; i++) printf "%10s", order[i]
        print ""
        for (c in call) {
            printf "%-18s", c
            for (i = 1; i <= 5; i++) { k = order[i] " " c; printf "%10.1f", value[k, int((n[k] + 1) / 2)] }
            print ""
        }
    }'
