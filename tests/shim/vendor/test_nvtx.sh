# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Phases: programs that name what they do by NVTX, through a client of ours and through NVIDIA's own
# header where it is installed. The trace holds the phases that the program says it had.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

injected() { # NAME CLIENT SCENARIO [VARIABLE=VALUE...]
    local name=$1 client=$2 scenario=$3
    shift 3
    recorded "$name" env TILEWISE_NVTX=1 NVTX_INJECTION64_PATH="$SHIM" "$@" \
        "$VENDOR_BIN/host_nvtx$client" "$scenario" "$VENDOR_BIN/nvtx$client"
}
adds_up() {
    local name=$1 complete
    complete=$(dump counters "$name" | grep -c '^complete 1$')
    equal "$(counter seen "$name") $(dump counters "$name" | grep -c '^dropped 0$')" \
        "$(counter recorded "$name") $complete"
}
same_phases() { test -s "$work/$1.said" && diff -a <(said "$1") <(dump phases "$1"); }
exact() { injected "$3$2$1" "$2" "$1" && same_phases "$3$2$1" && adds_up "$3$2$1"; }

of_client() { # CLIENT HOW
    local scenario
    for scenario in phases expected nested unbalanced deep names domains process_ranges threads copies \
        operators_alone forked paused graphs torch; do
        check "$2: $scenario" exact "$scenario" "$1"
    done
    check "$2: more names than there is room for" many "$1"
}
many() {
    local name=many$1
    injected "$name" "$1" many_names && adds_up "$name" &&
        equal "$(dump phases "$name" | grep -c '^phase phase [0-9]* x 1 1 1$')" 64 &&
        equal "$(dump phases "$name" | grep -v '^phase')" $'lost 36\nwithout 36'
}

of_client "" "a client of ours"
if [ -x "$VENDOR_BIN/host_nvtx_real" ]; then
    of_client _real "NVIDIA's header"
else
    skip "NVIDIA's header" "nvtx3/nvToolsExt.h is not installed"
fi

counts_only() {
    injected counts "" phases TILEWISE_EVENTS=off && same_phases counts && adds_up counts
}
check "the same without events" counts_only

operators() {
    equal "$(dump calls torch | tr '\n' ' ')" \
        "_C::rms_norm 1 aten::_softmax 50 aten::add_ 50 cublasSgemm_v2 51 "
}
check "operators are counted by name, what the library is called for is not" operators
shape_of() {
    "$TILEWISE" report --format=json "$work/torch"/*.twt >"$work/torch.json" &&
        /usr/bin/python3 - "$work/torch.json" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
adds = [s for s in report["shapes"] if s["op"] == "add"]
assert [(s["m"], s["n"], s["dtype"], s["calls"]) for s in adds] == [(8, 8, "unknown", 50)], adds
END
}
check "an add arrives with its sizes and without a type" shape_of

whole() {
    "$TILEWISE" merge -o "$work/merged.twt" "$work"/{torch,threads,phases}/*.twt &&
        "$TILEWISE" validate "$work/merged.twt" "$work"/{torch,many}/*.twt | grep -c ': whole,' | grep -x 3
}
check "such traces are whole, and merged ones too" whole
one_phase() {
    "$TILEWISE" report --format=json --phase=decode "$work"/phases/*.twt >"$work/decode.json" &&
        /usr/bin/python3 - "$work/decode.json" <<'END' &&
import json, sys
report = json.load(open(sys.argv[1]))
assert sum(s["calls"] for s in report["shapes"]) == 20, report["shapes"]
assert {p["name"]: p["calls"] for p in report["phases"]} == {"decode": 20, "prefill": 3}
END
        "$TILEWISE" report --phase=dekode "$work"/phases/*.twt 2>&1 | grep 'most are in: [pd]'
}
check "a report of one phase, and a name that has none" one_phase

nothing() { # NAME: calls are recorded, phases are not, and nothing is said of them
    equal "$(dump phases "$1" | tr '\n' ' ')" "without 28 " && adds_up "$1" &&
        ! dump facts "$1" | grep '^nvtx on'
}
off() { injected off "" phases TILEWISE_NVTX=0 && nothing off; }
check "not asked for, the door stays shut" off
refused() {
    injected none "" phases TILEWISE_DISABLE=1 && ! test -e "$work/none"
}
check "a process that is not recorded is left alone" refused
other_tool() {
    injected other "" phases NVTX_INJECTION64_PATH=/nowhere/libtool.so && nothing other &&
        dump facts other | grep '^nvtx off: NVTX_INJECTION64_PATH names another tool$'
}
check "another tool is there: shapes are recorded, and the trace says so" other_tool
injected_alone() { # without a preload, the door alone: operators, but no calls
    TILEWISE_OUT="$work/alone" TILEWISE_NVTX=1 NVTX_INJECTION64_PATH="$SHIM" \
        "$VENDOR_BIN/host_nvtx" operators_alone >"$work/alone.said" && same_phases alone
}
check "loaded by NVTX alone" injected_alone

by_python() {
    recorded python env TILEWISE_NVTX=1 NVTX_INJECTION64_PATH="$SHIM" python3 \
        "$TILEWISE_SOURCE/tests/shim/vendor/nvtx_python.py" "$VENDOR_BIN/libfake_cublas.so" &&
        same_phases python && adds_up python
}
if python3 -c 'import nvtx' 2>/dev/null; then
    check "Python's nvtx" by_python
else
    skip "Python's nvtx" "the package is not installed"
fi

by_record() {
    "$TILEWISE" record --nvtx -o "$work/command" -- "$VENDOR_BIN/host_nvtx" phases \
        >"$work/command.said" 2>"$work/command.err" && same_phases command
}
check "tilewise record --nvtx" by_record
by_record_taken() {
    NVTX_INJECTION64_PATH=/nowhere/libtool.so "$TILEWISE" record --nvtx -o "$work/taken" -- \
        "$VENDOR_BIN/host_nvtx" phases >"$work/taken.said" 2>"$work/taken.err" &&
        grep "NVTX_INJECTION64_PATH" "$work/taken.err" && nothing taken
}
check "tilewise record --nvtx stands back from another tool, and says so" by_record_taken
by_record_off() {
    "$TILEWISE" record -o "$work/plain" -- "$VENDOR_BIN/host_nvtx" phases >"$work/plain.said" 2>&1 &&
        nothing plain
}
check "tilewise record without --nvtx" by_record_off
finish
