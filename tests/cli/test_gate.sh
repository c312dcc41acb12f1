# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# gate: what fails a CI job, what only is a note, and mistakes in the policy.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

record_numpy "$work/base" 12000 && record_numpy "$work/other" 12000 48 128 32
replay() { "$TILEWISE" replay --budget 4 --uncap-baseline -o "$@" "$work"/base/*.twt >"$work/replay.txt"; }
check "a replay" exits 0 replay "$work/base/r.twr"
check "a replay of a kernel that does nothing" exits 1 replay "$work/null.twr" --kernel null

gate() { "$TILEWISE" gate "$@"; }
check "a trace alone passes" exits 0 gate "$work/base"/*.twt
check "against itself it passes" exits 0 gate --base "$work/base" "$work/base"
check "and says so" prints "^gate: passed" gate --base "$work/base" "$work/base"
check "the base may be a result alone" exits 0 gate --base "$work/base/r.twr" "$work/base"
check "drift fails" exits 1 gate --base "$work/base" "$work/other"
check "one line names operation, numbers and threshold" prints \
    "^FAIL drift: gemm f32: the mix of shapes is 1.000 from the base .* allowed: 0.050" \
    gate --base "$work/base" "$work/other"
check "a wrong kernel fails" exits 1 gate "$work/base"/*.twt "$work/null.twr"
check "its shape is named" prints "^FAIL verification: gemm f32 64 x 32 x 128 NN: null failed" \
    gate "$work/base"/*.twt "$work/null.twr"

printf 'gate:\n  drift: no\n  verification: no\n' >"$work/mild.yaml"
check "the policy may let drift pass" exits 0 gate --policy "$work/mild.yaml" --base "$work/base" "$work/other"
check "it is a note then" prints "^note drift: " gate --policy "$work/mild.yaml" --base "$work/base" "$work/other"
check "and wrong kernels" exits 0 gate --policy "$work/mild.yaml" "$work/base"/*.twt "$work/null.twr"

# The reference counts in double, element by element: no library is slower.
check "a replay of the reference" exits 0 replay "$work/ref.twr" --kernel ref
check "a slow kernel that nobody chose passes" exits 0 gate "$work/base"/*.twt "$work/ref.twr"
check "a named one may not lose to the library" prints "^FAIL regression: gemm f32 64 x 32 x 128 NN: ref runs at " \
    gate --kernel ref "$work/base"/*.twt "$work/ref.twr"

golden=$TILEWISE_SOURCE/tests/golden/trace-v1.twt
printf 'gate: { withheld: yes }\n' >"$work/strict.yaml"
check "thin evidence is a note" exits 0 gate "$golden"
check "and fails when asked" exits 1 gate --policy "$work/strict.yaml" "$golden"
printf 'heat: { high: 0 }\ngate: { drift: no }\n' >"$work/hot.yaml"
printf 'heat: { high: 0 }\ngate: { drift: no, verdict: yes }\n' >"$work/word.yaml"
check "another verdict is a note" prints "^note verdict: gemm f32: .*, was withheld" \
    gate --policy "$work/hot.yaml" --base "$golden" "$work/base"
check "and fails when asked" exits 1 gate --policy "$work/word.yaml" --base "$golden" "$work/base"
printf 'gate: { min-coverage: 1 }\n' >"$work/cover.yaml"
check "coverage fails below what is asked for" prints "^FAIL coverage: trace: " gate --policy "$work/cover.yaml" "$golden"

gate --format=json "$work/base"/*.twt "$work/null.twr" >"$work/gate.json"
check "JSON lists the same" holds \
    'not r["passed"] and any(f["kind"] == "verification" and f["fails"] for f in r["findings"])' "$work/gate.json"

printf 'gate:\n  max-regresion: 0.1\n' >"$work/typo.yaml"
check "a mistyped key is named with its place" refuses 2 \
    "typo.yaml:2:3: unknown key 'max-regresion' (did you mean 'max-regression'?)" \
    "$TILEWISE" gate --policy "$work/typo.yaml" "$golden"
printf 'gate:\n  drift: sometimes\n' >"$work/value.yaml"
check "so is a value" refuses 2 "value.yaml:2:10: drift expects true or false, not 'sometimes'" \
    "$TILEWISE" gate --policy "$work/value.yaml" "$golden"
check "one policy file serves report too" exits 0 "$TILEWISE" report --policy "$work/mild.yaml" "$golden"
check "a result alone is refused" refuses 2 "only results" "$TILEWISE" gate "$work/null.twr"
finish
