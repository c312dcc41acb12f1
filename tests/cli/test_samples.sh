# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Traces of real GPUs (traces/samples, made by tests/gpu/run.sh capture) are read everywhere.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

shopt -s nullglob
samples=("$TILEWISE_SOURCE"/traces/samples/*.twt)
is_small() { [ "$(stat -c %s "$1")" -lt 204800 ]; }
has_work() {
    "$TILEWISE" report --format=json "$1" >"$work/report.json"
    [ $? -le 1 ] && /usr/bin/python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(not (r["shapes"] and r["trace"]["seen"] > 0))' "$work/report.json"
}
# reports FORMAT FILE: 0 or 1 is an answer (1: withheld), and something was printed.
reports() {
    "$TILEWISE" report --format="$1" "$2" >"$work/report"
    [ $? -le 1 ] && [ -s "$work/report" ] && ! grep -qwi 'nan\|inf' "$work/report"
}

# Heat is that of the kernels: windows of GPU time were recorded.
has_heat_of_kernels() {
    holds 'any(o["op"] == "gemm" and o["dtype"] == "bf16" and o["heat"]["method"] == "causal"
               and 0.02 < o["heat"]["value"] < 0.6 and o["verdict"] != "withheld" for o in r["ops"])' "$work/report.json"
}

# A launch takes the same time whatever it launches: without GPU time there is no verdict.
judges_no_launches() {
    "$TILEWISE_BUILD/bin/make_trace" "$work/launches.twt" cublasGemmEx:bf16:TN:4096x16x4096:20000 || return
    "$TILEWISE" report --format=json "$work/launches.twt" >"$work/report.json"
    holds 'all(o["verdict"] == "withheld" and o["heat"]["value"] is None
               for o in r["ops"])' "$work/report.json"
}
check "no verdict from the time of launches" judges_no_launches

# Two recordings of the same are no finding; a decode and a prefill server are. Their evidence is too
# thin to fail a job by.
decode=$TILEWISE_SOURCE/traces/samples/llm-decode-graph.twt
prefill=$TILEWISE_SOURCE/traces/samples/llm-prefill-eager.twt
check "diff: a sample against itself" answers 0 '^no finding' "$TILEWISE" diff "$decode" "$decode"
check "diff: decode against prefill" answers 1 'gemm bf16: DRIFTED' "$TILEWISE" diff "$decode" "$prefill"
check "gate: the samples pass" answers 0 '^gate: passed' "$TILEWISE" gate "${samples[@]}"
check "gate: prefill against decode is too thin to fail" answers 0 'too thin to call it drift' \
    "$TILEWISE" gate --base "$decode" "$prefill"
printf 'gate: { withheld: yes }\n' >"$work/strict.yaml"
check "gate: it fails when asked" answers 1 '^FAIL withheld: ' "$TILEWISE" gate --policy "$work/strict.yaml" "$prefill"

check "at least three samples" test ${#samples[@]} -ge 3
for sample in "${samples[@]}"; do
    name=$(basename "$sample")
    check "$name: less than 200 KiB" is_small "$sample"
    check "$name: info" "$TILEWISE" info "$sample"
    check "$name: validate" "$TILEWISE" validate "$sample"
    check "$name: histogram" "$TILEWISE" histogram "$sample"
    check "$name: holds work" has_work "$sample"
    if [[ $name == llm-decode-graph.twt ]]; then
        check "$name: heat is that of the kernels" has_heat_of_kernels
    fi
    check "$name: docs/results/samples has its report (else: docs/results/samples/make.sh)" \
        diff <("$TILEWISE" report --format=md "$sample") "$TILEWISE_SOURCE/docs/results/samples/${name%.twt}.md"
    for format in text json csv md html; do
        check "$name: report --format=$format" reports "$format" "$sample"
    done
done
finish
