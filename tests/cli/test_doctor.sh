# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# doctor: both formats say the same, and a missing thing changes the exit status.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"

python=/usr/bin/python3
state() { # state CHECK NAME=VALUE...: state of one check in the JSON
    local name=$1
    shift
    env "$@" "$TILEWISE" doctor --format=json "$work" | $python -c '
import json, sys
print({c["name"]: c["state"] for c in json.load(sys.stdin)["checks"]}[sys.argv[1]])' "$name"
}
ready() { env "$@" "$TILEWISE" doctor --format=json "$work"; }
equal() { echo "'$1' '$2'"; [ "$1" = "$2" ]; }
same_checks() {
    local name
    "$TILEWISE" doctor --format=json "$work" | $python -c '
import json, sys
for c in json.load(sys.stdin)["checks"]: print(c["name"])' >"$work/json"
    "$TILEWISE" doctor "$work" | sed '$d' >"$work/text"
    while read -r name; do grep -q " $name  " "$work/text" || return 1; done <"$work/json"
    [ "$(wc -l <"$work/json")" -eq "$(wc -l <"$work/text")" ]
}

check "text and JSON list the same checks" same_checks
check "the shim of this build loads" equal "$(state shim)" ok
check "an absent shim is missing" equal "$(state shim TILEWISE_SHIM=/nonexistent.so)" missing
echo "not a library" >"$work/bad.so"
check "a file that is no library does not load" equal "$(state shim TILEWISE_SHIM="$work/bad.so")" missing
check "without a shim the status is 1" equal \
    "$(ready TILEWISE_SHIM=/nonexistent.so >/dev/null; echo $?)" 1
mkdir "$work/alone" && cp "$TILEWISE" "$work/alone/"
check "a program without a shim beside it says how to name one" grep -q "set TILEWISE_SHIM" \
    <("$work/alone/tilewise" doctor "$work")
check "the baseline library is there" equal "$(state openblas)" ok
check "a forced instruction set is noted" equal \
    "$(state 'blas limits' OPENBLAS_CORETYPE=Haswell)" note
check "no limit, no note" equal "$(state 'blas limits' -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE \
    -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS -u MKL_CBWR -u MKL_ENABLE_INSTRUCTIONS)" ok
check "gnuplot outside PATH is missing" equal "$(state gnuplot PATH=/nonexistent)" missing
check "a preload that is set is noted" equal \
    "$(state preload LD_PRELOAD=libm.so.6)" note
mkdir -m 0500 "$work/closed"
check "an output directory that is not writable is missing" equal \
    "$(as_nobody "$TILEWISE" doctor "$work/closed" | awk '$2 == "output" { print $1 }')" missing
check "no probe file stays behind" equal "$(ls -A "$work/closed")" ""
finish
