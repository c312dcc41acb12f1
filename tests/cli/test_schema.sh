# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# report --format=json keeps what docs/report.schema.json promises; and the check can fail.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

schema=$TILEWISE_SOURCE/docs/report.schema.json
conforms() { /usr/bin/python3 "$TILEWISE_SOURCE/tests/schema.py" --strict "$schema" "$@"; }
report() { "$TILEWISE" report --format=json "$@" >"$work/report.json"; [ $? -le 1 ] && conforms "$work/report.json"; }

check "the golden trace (withheld)" report "$TILEWISE_SOURCE/tests/golden/trace-v1.twt"
shopt -s nullglob
for sample in "$TILEWISE_SOURCE"/traces/samples/*.twt; do
    check "sample $(basename "$sample")" report "$sample"
done
# Hostile and odd traces: whatever can be read keeps the promise too.
corpus() {
    local trace
    mkdir "$work/c"
    for trace in "$TILEWISE_SOURCE"/tests/fuzz/corpus/reader/*; do
        "$TILEWISE" report --format=json -o "$work/c/${trace##*/}.json" "$trace" 2>/dev/null
    done
    set -- "$work"/c/*.json
    [ $# -ge 5 ] && conforms "$@"
}
check "the corpus of the fuzzer" corpus
record_numpy "$work/t" 12000
check "a trace" report "$work"/t/*.twt
"$TILEWISE" replay --budget 2 --uncap-baseline -o "$work/r.twr" "$work"/t/*.twt >/dev/null
check "a trace and its replay" report "$work"/t/*.twt "$work/r.twr"
cp "$work/report.json" "$work/whole.json"
head -c 500 "$work"/t/*.twt >"$work/cut.twt"
check "a torn trace" report "$work/cut.twt"

# Every change breaks the promise in one place.
broken() {
    /usr/bin/python3 -c '
import json, sys
r = json.load(open(sys.argv[2]))
exec(sys.argv[1])
json.dump(r, open(sys.argv[3], "w"))' "$1" "$work/whole.json" "$work/broken.json" || return 1
    conforms "$work/broken.json" >"$work/why" && return 1
    cat "$work/why"
    [ "$(wc -l <"$work/why")" -eq 1 ] && grep -q -e "$2" "$work/why"
}
check "a field that is gone is found" broken 'del r["shapes"][0]["calls"]' 'shapes\[0\].calls: missing'
check "a share above 1 is found" broken 'r["ops"][0]["heat"]["value"] = 1.5' 'ops\[0\].heat.value: 1.5 is out of range'
check "a text for a number is found" broken 'r["trace"]["seen"] = "7"' 'trace.seen: "7" is not of type'
check "an unknown verdict is found" broken 'r["ops"][0]["verdict"] = "go"' 'ops\[0\].verdict: "go" is not one of'
check "an undocumented field is found" broken 'r["trace"]["more"] = 1' 'trace.more: not in the schema'
check "a call nobody knows is found" broken 'r["shapes"][0]["candidates"][0]["call"] = "QUICK"' 'call: "QUICK" is not one of'
finish
