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
# One more call seen than recorded and dropped, in every frame, with checksums that hold.
/usr/bin/python3 - <<'END'
def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF

trace = bytearray(open("t.twt", "rb").read())
at = trace.find(b"\xf5TWF")
while at >= 0:
    seen = int.from_bytes(trace[at + 96:at + 104], "little") + 1
    trace[at + 96:at + 104] = seen.to_bytes(8, "little")
    trace[at + 268:at + 272] = crc32c(trace[at:at + 268]).to_bytes(4, "little")
    at = trace.find(b"\xf5TWF", at + 1)
open("short.twt", "wb").write(trace)
END
check "validate: a call lost on the way is a finding" exits 1 "$TILEWISE" validate short.twt
check "validate: it says that the counters do not add up" bash -c \
    '"$TILEWISE" validate short.twt | grep -q "seen 78, recorded 74, dropped 3; rows for 74 calls"'
check "info: it is missing" bash -c \
    '"$TILEWISE" info --format=json short.twt | grep -q "\"missing\": 1,"'

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
