# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The whole path, as a user walks it: record a program, look at its shapes, replay them, report.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"

one_liner='import numpy as np; a=np.ones((64,128),"f"); b=np.ones((128,32),"f"); [a@b for _ in range(1000)]'
record() { "$TILEWISE" record -o "$work/t" -- /usr/bin/python3 -c "$one_liner"; }
report() { "$TILEWISE" report --format=json "$work"/t/*.twt >"$work/report.json"; }
# holds EXPRESSION FILE: a Python expression over the JSON document `r` is true.
holds() {
    /usr/bin/python3 -c '
import json, sys
r = json.load(open(sys.argv[2]))
value = eval(sys.argv[1])
print(json.dumps(r, indent=1)[:3000] if not value else "")
sys.exit(not value)' "$1" "$2"
}

check "record runs the program" record
check "one trace file was written" test "$(ls "$work"/t/*.twt | wc -l)" -eq 1
check "traces are private" test "$(stat -c %a "$work"/t/*.twt | sort -u)" = 600
check "report --format=json" report
check "one f32 gemm shape" holds \
    '[(s["op"], s["dtype"]) for s in r["shapes"]] == [("gemm", "f32")]' "$work/report.json"
check "called 1000 times" holds 'r["shapes"][0]["calls"] == 1000' "$work/report.json"
check "m, n, k as called" holds \
    '[r["shapes"][0][d] for d in "mnk"] == [64, 32, 128]' "$work/report.json"
check "every call is covered" holds 'r["trace"]["coverage"]["calls"] == 1.0' "$work/report.json"
check "nothing was dropped" holds \
    'r["trace"]["seen"] == r["trace"]["recorded"] == 1000 and sum(r["trace"]["dropped"].values()) == 0' \
    "$work/report.json"
check "the trace ended cleanly" holds 'r["trace"]["complete"] is True' "$work/report.json"
check "one op with a verdict and a reason" holds \
    'len(r["ops"]) == 1 and r["ops"][0]["verdict"] and r["ops"][0]["reason"]' "$work/report.json"
check "without a replay, what was not measured is null" holds \
    'r["shapes"][0]["baseline_ns"]["best"] is None' "$work/report.json"

info_agrees() {
    "$TILEWISE" info --format=json "$work"/t/*.twt >"$work/info.json" &&
        holds 'r["trace"]["seen"] == 1000 and r["trace"]["complete"]' "$work/info.json"
}
check "info counts the same" info_agrees
check "validate finds nothing" "$TILEWISE" validate "$work"/t/*.twt

replay() {
    "$TILEWISE" replay --budget 15 --uncap-baseline -o "$work/r.twr" "$work"/t/*.twt >"$work/replay.txt" &&
        "$TILEWISE" report --format=json "$work"/t/*.twt "$work/r.twr" >"$work/replayed.json"
}
check "replay and report" replay
check "replay prints the shape" grep -q '64.*32.*128' "$work/replay.txt"
check "replay says passed and a call" grep -Eq 'passed.*(FASTER|SAME|SLOWER|UNCLEAR)' "$work/replay.txt"
check "a candidate passed verification" holds \
    'any(c["status"] == "passed" for c in r["shapes"][0]["candidates"])' "$work/replayed.json"
check "its ratio has an interval around it" holds \
    'all(c["ratio"]["lo"] <= c["ratio"]["best"] <= c["ratio"]["hi"] for c in r["shapes"][0]["candidates"] if c["status"] == "passed")' \
    "$work/replayed.json"
check "both baselines were measured" holds \
    'r["shapes"][0]["baseline_ns"]["recorded"] > 0 and r["shapes"][0]["baseline_ns"]["best"] > 0' \
    "$work/replayed.json"
ghost() { "$TILEWISE" replay --mode check --kernel null "$work"/t/*.twt >"$work/ghost.txt" 2>&1; echo $?; }
check "a kernel that does nothing is a finding" test "$(ghost)" -eq 1
check "it fails verification, and how to see that again is said" \
    grep -q "reproduce: $TILEWISE replay" "$work/ghost.txt"
check "it never passes" sh -c '! grep -q "null .*passed" "$1"' sh "$work/ghost.txt"
for format in text csv md html dispatch; do
    check "report --format=$format" "$TILEWISE" report --format=$format -o "$work/report.$format" \
        "$work"/t/*.twt "$work/r.twr"
done
check "the page needs no network" sh -c '! grep -Eiq "(src|href)=.?(https?:)?//" "$1"' sh "$work/report.html"
check "the page shows the verdict" grep -q "$(/usr/bin/python3 -c '
import json, sys
print(json.load(open(sys.argv[1]))["ops"][0]["verdict"])' "$work/replayed.json")" "$work/report.html"

twice() {
    "$TILEWISE" merge -o "$work/twice.twt" "$work"/t/*.twt "$work"/t/*.twt &&
        "$TILEWISE" info --format=json "$work/twice.twt" >"$work/twice.json" &&
        holds 'r["trace"]["seen"] == 1000 and r["trace"]["processes"] == 1' "$work/twice.json"
}
check "the same trace merged twice counts once" twice
finish
