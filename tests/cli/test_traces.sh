# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# info, merge and validate on the golden trace of format version 1 and on damaged copies of it.
. "$TILEWISE_SOURCE/tests/tap.sh"

golden=$TILEWISE_SOURCE/tests/golden
cp "$golden/trace-v1.twt" "$work/t.twt"
cd "$work" || exit 1

# exits STATUS COMMAND...: whatever it prints.
exits() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    [ "$got" -eq "$want" ] || { echo "exit status $got, not $want"; false; }
}

"$TILEWISE" info t.twt >info.txt
check "info of the old trace is what it always was" diff "$golden/trace-v1.info" info.txt
check "info: 3 lost calls are a finding" exits 1 "$TILEWISE" info t.twt
check "validate: the golden trace is whole" exits 0 "$TILEWISE" validate t.twt
check "validate: two files, two lines" \
    test "$("$TILEWISE" validate t.twt t.twt | grep -c ': whole, ')" -eq 2

"$TILEWISE" info --format=json t.twt >info.json
check "info --format=json has the trace object" /usr/bin/python3 -c '
import json
d = json.load(open("info.json"))
t = d["trace"]
assert (t["seen"], t["recorded"], t["failed"]) == (77, 74, 2), t
assert t["dropped"]["thread_cap"] == 3 and t["complete"] is True, t
assert abs(t["coverage"]["calls"] - 74 / 77) < 1e-9, t
assert t["device"] == "a golden processor" and t["processes"] == 1, t
assert d["shards"][0]["pid"] == 4242 and d["damage"] == [], d
assert {"key": "library", "value": "libopenblas.so.0"} in d["facts"], d'

head -c 1500 t.twt >torn.twt
check "validate: a torn trace is a finding" exits 1 "$TILEWISE" validate torn.twt
check "validate: it says where" bash -c '"$TILEWISE" validate torn.twt | grep -q "torn frame at the end"'
check "info: a torn trace is a finding" exits 1 "$TILEWISE" info torn.twt
check "info: damage is listed" bash -c '"$TILEWISE" info torn.twt | grep -q "torn frame at the end"'
echo "no trace at all" >foreign
check "validate: a foreign file is refused" exits 2 "$TILEWISE" validate t.twt foreign
check "info: a foreign file is refused" exits 2 "$TILEWISE" info foreign

check "merge needs -o" exits 64 "$TILEWISE" merge t.twt
check "merge" exits 0 "$TILEWISE" merge -o one.twt t.twt
check "merge: a damaged input is a finding" exits 1 "$TILEWISE" merge -o two.twt torn.twt t.twt
check "merge: a damaged copy and a whole one are the whole one" cmp one.twt two.twt
check "merge: refuses a foreign file" exits 2 "$TILEWISE" merge -o three.twt t.twt foreign
check "merge: and leaves nothing" test ! -e three.twt
check "merge: the result is whole" exits 0 "$TILEWISE" validate one.twt
check "merge: the result says the same" bash -c \
    'diff <("$TILEWISE" info t.twt | grep -v "pid 4242") <("$TILEWISE" info one.twt | grep -v "pid 4242")'
finish
