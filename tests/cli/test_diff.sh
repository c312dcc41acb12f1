# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# diff: the same server again, a drifted one, directories, formats, exit codes.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

record_numpy "$work/base" 12000 && record_numpy "$work/again" 12000 && record_numpy "$work/other" 12000 48 128 32
json() { "$TILEWISE" diff --format=json "$@" >"$work/diff.json"; }

# Whether two runs of a busy machine are equally hot is not ours to say: no verdict may depend on it.
printf 'heat: { high: 1.0 }\n' >"$work/cool.yaml"
cool() { "$TILEWISE" diff --policy "$work/cool.yaml" "$@"; }
check "the same workload: nothing to report" exits 0 cool "$work/base" "$work/again"
check "it says so" prints "no finding" cool "$work/base" "$work/again"
check "another shape: drift" exits 1 cool "$work/base" "$work/other"
check "it is named" prints "DRIFTED" cool "$work/base" "$work/other"
json --policy "$work/cool.yaml" "$work"/base/*.twt "$work/other"
check "a file and a directory; one bit apart, all new, all vanished" holds '
[(o["drifted"], round(o["drift"]["divergence"], 9), o["new_share"], o["vanished_share"])
 for o in r["ops"] if o["op"] == "gemm"] == [(True, 1, 1, 1)] and r["findings"] == 1' "$work/diff.json"
check "shares of both sides are told" holds \
    'sorted(s["time_share_before"] for s in r["ops"][0]["shapes"]) == [0, 1]' "$work/diff.json"
check "Markdown has a table and the reasons" prints "DRIFTED" cool --format=md "$work/base" "$work/other"
check "the output goes to a file" exits 1 cool -o "$work/diff.md" --format=md "$work/base" "$work/other"
check "and is there" grep -q '^| gemm f32' "$work/diff.md"

# 12,000 calls in an idle process: hot by one policy, cold by another.
printf 'heat: { high: 0 }\n' >"$work/hot.yaml"
check "an operation that comes hot is a changed verdict" exits 1 "$TILEWISE" diff \
    --policy "$work/hot.yaml" "$TILEWISE_SOURCE/tests/golden/trace-v1.twt" "$work/base"

mkdir "$work/empty"
check "one argument is not enough" refuses 64 "missing argument" "$TILEWISE" diff "$work/base"
check "three are too many" refuses 64 "unexpected argument" "$TILEWISE" diff a b c
check "a directory without traces is named" refuses 2 "$work/empty: no .twt" \
    "$TILEWISE" diff "$work/empty" "$work/base"
check "a file that is not there is named" refuses 2 "nowhere" "$TILEWISE" diff "$work/nowhere" "$work/base"
printf 'heat: { hihg: 0 }\n' >"$work/bad.yaml"
check "a policy is held against its schema" refuses 2 "bad.yaml:1:9: .*did you mean 'high'" \
    "$TILEWISE" diff --policy "$work/bad.yaml" "$work/base" "$work/again"
finish
