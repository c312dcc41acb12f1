# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# history: keep replays, show them over time, refuse to compare machines.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

history() { "$TILEWISE" history "$@"; }
record_numpy "$work/t" 12000
for i in 1 2; do
    "$TILEWISE" replay --budget 2 --seed $i --uncap-baseline -o "$work/r$i.twr" "$work"/t/*.twt >/dev/null
    check "replay $i is kept" exits 0 history add "$work/h" "$work/r$i.twr" "$work"/t/*.twt
done
count() { test "$(ls "$work/h" | wc -l)" -eq "$1"; }
check "there are two" count 2
sums=$(cd "$work/h" && sha256sum ./*)
check "the same again is no error" exits 0 history add "$work/h" "$work/r1.twr" "$work"/t/*.twt
check "and changes nothing" count 2
check "not a byte" test "$sums" = "$(cd "$work/h" && sha256sum ./*)"
check "kept results are private" test "$(stat -c %a "$work"/h/* | sort -u)" = 600
check "and whole" exits 0 "$TILEWISE" validate "$work"/h/*.twr
check "report still reads them" exits 0 "$TILEWISE" report "$work"/t/*.twt "$work"/h/*.twr

check "the table names the operation" prints '^gemm f32$' history "$work/h"
check "and the shape" prints '^gemm f32 64 x 32 x 128 NN$' history "$work/h"
history --format=json "$work/h" >"$work/h.json"
check "JSON: two entries on one machine, with verdicts and the fingerprint" holds '
r["same_hardware"] and len(r["entries"]) == 2 and all(
    e["verdicts"] and e["device"] and e["library"] and e["core"] and e["date"] and e["replayed_with"]
    for e in r["entries"])' "$work/h.json"
check "JSON: the shape has a point in each" holds '
[p["entry"] for s in r["shapes"] if (s["m"], s["n"], s["k"]) == (64, 32, 128) for p in s["points"]] == [0, 1]' \
    "$work/h.json"
check "fewer shapes when asked" prints '^1 more shapes: --shapes' history --shapes 0 "$work/h"
check "they are in order of time" holds 'r["entries"][0]["date"] <= r["entries"][1]["date"]' "$work/h.json"
check "Markdown" prints '^| date | library | verdict |' history --format=md "$work/h"
if command -v gnuplot >/dev/null; then
    check "a chart" exits 0 history --format=svg -o "$work/h.svg" "$work/h"
    check "is SVG with both panels" grep -q 'times the library' "$work/h.svg"
else
    skip "a chart" "no gnuplot"
fi

# The library with the instructions of an older processor is another machine.
OPENBLAS_CORETYPE=Sandybridge "$TILEWISE" replay --budget 2 -o "$work/old.twr" "$work"/t/*.twt >/dev/null 2>&1
check "a replay with another core may be kept" exits 0 history add "$work/h" "$work/old.twr" "$work"/t/*.twt
check "two machines are not compared" refuses 2 'times do not compare; --any-hardware' "$TILEWISE" history "$work/h"
check "unless told" prints 'and other hardware: compare with care' history --any-hardware "$work/h"

check "add needs a result and traces" refuses 64 "add DIR RESULT.twr TRACE" "$TILEWISE" history add "$work/h" "$work/r1.twr"
check "a trace is no result" refuses 2 "not a result of tilewise replay" \
    "$TILEWISE" history add "$work/h" "$work"/t/*.twt "$work"/t/*.twt
mkdir "$work/empty"
check "an empty directory is named" refuses 2 "$work/empty: no .twt or .twr" "$TILEWISE" history "$work/empty"
check "a directory of traces holds no history" refuses 2 "no result of tilewise replay" "$TILEWISE" history "$work/t"
check "a history that is not there" refuses 2 "/nowhere: No such file" "$TILEWISE" history /nowhere
check "a result that is not there" refuses 2 "/nowhere.twr: No such file" \
    "$TILEWISE" history add "$work/new" /nowhere.twr /nowhere.twt
finish
