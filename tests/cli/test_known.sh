# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# gate, diff and history on workloads and replays that are known exactly (make_load): what fails a
# job and what does not, each by one number.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"

# load NAME [KEY=VALUE...]: NAME/t.twt and NAME/t.twr.
load() {
    local name=$1
    mkdir -p "$work/$name" && "$TILEWISE_BUILD/bin/make_load" "$work/$name/t.twt" "$work/$name/t.twr" "${@:2}"
}
load base

# gates STATUS PATTERN POLICY [KEY=VALUE...] [-- OPTION...]: the base with these numbers changed, by
# that policy, ends with STATUS and prints a line that matches.
gates() {
    local status=$1 pattern=$2 policy=$3 numbers=()
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do numbers+=("$1"); shift; done
    load now "${numbers[@]}" && printf 'gate: { %s }\n' "$policy" >"$work/p.yaml"
    answers "$status" "$pattern" "$TILEWISE" gate --policy "$work/p.yaml" "${@:2}" --base "$work/base" "$work/now"
}

# 1.25 to 1.275 in the base; the upper bound of now must reach 1.25 x 0.95 = 1.1875.
check "gate: the same passes" gates 0 '^gate: passed; 0 findings' ''
check "gate: a loss within what is allowed passes" gates 0 '^gate: passed; 0 findings' '' ratio=1.166
check "gate: one beyond it fails" gates 1 '^FAIL regression: gemm f32 8 x 384 x 128 NN: gemm_f32_portable runs at ' '' ratio=1.162
check "gate: the policy may allow more" gates 0 '^gate: passed' 'max-regression: 0.1' ratio=1.162
check "gate: and let it pass as a note" gates 0 '^note regression: ' 'regression: no' ratio=1.162
check "gate: a kernel that is gone fails" gates 1 '^FAIL regression: .* not offered' '' kernel=another
for status in failed crashed timeout; do
    check "gate: a kernel with status $status fails" gates 1 "^FAIL verification: .* $status" '' status=$status
done
check "gate: UNCLEAR is a note" gates 0 '^note unclear: .* too noisy to tell' '' ratio=0.9 hi=1.4 call=UNCLEAR
check "gate: UNCLEAR fails when asked" gates 1 '^FAIL unclear: ' 'unclear: yes' ratio=0.9 hi=1.4 call=UNCLEAR
check "gate: other hardware is not compared" gates 0 '^note unclear: replay: the base was replayed on other hardware' '' ratio=1 core=Zen
check "gate: unless told" gates 1 '^FAIL regression: ' '' ratio=1 core=Zen -- --any-hardware
check "gate: another mix fails" gates 1 '^FAIL drift: gemm f32: ' '' shapes=8
check "gate: a mix within the threshold passes" gates 0 '^gate: passed' '' singles=0.01
check "gate: another verdict is a note" gates 0 '^note verdict: gemm f32: note, was pilot' '' heat=0.05
check "gate: another verdict fails when asked" gates 1 '^FAIL verdict: ' 'verdict: yes' heat=0.05
check "gate: slower calls are a note" gates 0 '^note pace: gemm f32: a recorded call takes 1.200' '' slow=1.2
check "gate: slower calls fail when asked" gates 1 '^FAIL pace: ' 'pace: yes' slow=1.2
check "gate: little coverage fails when a least is given" gates 1 '^FAIL coverage: trace: 90.0 % ' 'min-coverage: 0.95' unknown=0.1
check "gate: thin evidence is a note" gates 0 '^note withheld: gemm f32: ' '' lost=0.05
check "gate: thin evidence fails when asked" gates 1 '^FAIL withheld: ' 'withheld: yes' lost=0.05
check "gate: drift on thin evidence is no drift" gates 0 'too thin to call it drift' '' shapes=8 lost=0.05
rm -rf "$work/now" && load now && rm "$work/now/t.twr"
check "gate: what nobody replayed is a note" prints '^note unclear: replay: 4 of 4 shapes' "$TILEWISE" gate --base "$work/base" "$work/now"

# differs STATUS PATTERN [KEY=VALUE...]
differs() {
    load now "${@:3}" && answers "$1" "$2" "$TILEWISE" diff "$work/base" "$work/now"
}
check "diff: the same" differs 0 '^no finding'
check "diff: a mix that moved a little" differs 0 '^no finding' singles=0.01
check "diff: a mix that moved" differs 1 'gemm f32: DRIFTED' shapes=8
check "diff: a verdict that changed by heat alone" differs 1 'pilot > note: CHANGED' heat=0.05
check "diff: slower calls are neither" differs 0 '^no finding' slow=1.2

# One replay a day: the kernel gets slower, then loses its place.
keep() {
    load "day$1" date="2026-01-0$1T00:00:00Z" ratio="$2" "${@:3}" &&
        "$TILEWISE" history add "$work/h" "$work/day$1/t.twr" "$work/day$1/t.twt"
}
keep_three() { keep 2 1.1 && keep 1 1.25 && keep 3 0.9; }
check "history: three replays are kept" keep_three
history() { "$TILEWISE" history "$@"; }
history --format=json "$work/h" >"$work/h.json"
check "history: in order of time, with the verdicts of their days" holds '
[(e["date"][:10], [v["verdict"] for v in e["verdicts"]]) for e in r["entries"]] == [
    ("2026-01-01", ["pilot"]), ("2026-01-02", ["pilot"]), ("2026-01-03", ["keep-baseline"])]' "$work/h.json"
marks_changes() { [ "$(history "$work/h" | grep -c CHANGED)" -eq "$1" ]; }
check "history: the change is marked once" marks_changes 1
check "history: other hardware may be kept" keep 4 1.25 device=another
check "history: and is refused beside it" refuses 2 'times do not compare; --any-hardware' "$TILEWISE" history "$work/h"
check "history: unless told" exits 0 history --any-hardware "$work/h"
if command -v gnuplot >/dev/null; then
    check "history: a chart of it" exits 0 history --any-hardware --format=svg -o "$work/h.svg" "$work/h"
    check "history: is well formed, with its four days" /usr/bin/python3 -c '
import sys, xml.etree.ElementTree as tree
text = "".join(tree.parse(sys.argv[1]).getroot().itertext())
sys.exit(not all(f"2026-01-0{day}" in text for day in (1, 2, 3, 4)))' "$work/h.svg"
else
    skip "history: a chart of it" "no gnuplot"
fi
finish
