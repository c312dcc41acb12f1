# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Bad input: one clear line on stderr, the right exit status, nothing good lost.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"

record_numpy "$work/traces" 20000 >/dev/null 2>&1
good=$(ls "$work"/traces/*.twt | head -n 1)
check "a good trace to start from" "$TILEWISE" validate "$good"

# Every command that reads traces, as a command line to which a file is added.
readers=("info" "validate" "report" "replay -o $work/out.twr" "histogram -o $work/out.svg"
    "merge -o $work/out.twt")

# patch FILE VERSION: a file of another version with a header that is right otherwise.
newer() {
    /usr/bin/python3 - "$1" "$2" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<H", data, 8, 9)
size = struct.unpack_from("<H", data, 10)[0]
crc = 0xFFFFFFFF
for byte in data[:size - 4]:
    crc ^= byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
struct.pack_into("<I", data, size - 4, crc ^ 0xFFFFFFFF)
open(sys.argv[2], "wb").write(data)
END
}

: >"$work/empty.twt"
head -c 50 "$good" >"$work/short.twt"
head -c 100000 /dev/zero >"$work/zeros.twt"
echo "hello, I am a text" >"$work/text.twt"
newer "$good" "$work/newer.twt"
for reader in "${readers[@]}"; do
    name=${reader%% *}
    check "$name: a missing file" refuses 2 "/no/such.twt.*No such file" \
        "$TILEWISE" $reader /no/such.twt
    check "$name: an empty file" refuses 2 "empty.twt" "$TILEWISE" $reader "$work/empty.twt"
    check "$name: a file cut inside its header" refuses 2 "short.twt" \
        "$TILEWISE" $reader "$work/short.twt"
    check "$name: zeros" refuses 2 "zeros.twt" "$TILEWISE" $reader "$work/zeros.twt"
    check "$name: something else" refuses 2 "text.twt" "$TILEWISE" $reader "$work/text.twt"
    check "$name: a trace of a newer version" refuses 2 "newer.twt.*version 9" \
        "$TILEWISE" $reader "$work/newer.twt"
    check "$name: a directory" refuses 2 "$work/traces: a directory; name the files" "$TILEWISE" $reader "$work/traces"
done
for reader in "diff $good" "gate -b $good" "report --format=dispatch"; do
    name=${reader%% *}
    check "$name: a missing file" refuses 2 "/no/such.twt.*No such file" "$TILEWISE" $reader /no/such.twt
    check "$name: a full file" refuses 2 "/dev/full: No space left" \
        "$TILEWISE" $reader -o /dev/full "$good"
done
mkdir "$work/nothing"
for reader in "diff $good" gate history; do
    check "${reader%% *}: an empty directory" refuses 2 "nothing: no .twt or .twr file" \
        "$TILEWISE" $reader "$work/nothing"
done
says_so() { "$TILEWISE" gate "$work/header.twt" | grep "^note withheld: trace: .*did not end cleanly"; }
head -c 3000 "$TILEWISE_SOURCE/traces/samples/jax.twt" >"$work/header.twt"
check "gate: a trace that was cut before its first call is told" says_so
check "no reader left a file behind" test ! -e "$work/out.twr" -a ! -e "$work/out.svg" \
    -a ! -e "$work/out.twt"

# A trace that was cut in its middle still has its beginning.
size=$(stat -c %s "$good")
head -c $((size - 100)) "$good" >"$work/cut.twt"
status_is() { local want=$1; shift; "$@"; local got=$?; echo "status $got"; [ $got -eq "$want" ]; }
check "validate: a cut trace is a finding" status_is 1 "$TILEWISE" validate "$work/cut.twt"
incomplete() { "$TILEWISE" info --format=json "$1" | /usr/bin/python3 -c '
import json, sys
t = json.load(sys.stdin)["trace"]
print(t)
sys.exit(t["complete"] is not False or t["seen"] < 1)'; }
check "info: a cut trace says that it is incomplete" incomplete "$work/cut.twt"
check "report: a cut trace is still reported" "$TILEWISE" report "$work/cut.twt"

# Configuration
printf 'heat:\n  hihg: 0.2\n' >"$work/policy.yaml"
check "report: a typo in the policy is named with line and column" \
    refuses 2 "policy.yaml:2:3.*hihg" "$TILEWISE" report --policy "$work/policy.yaml" "$good"
check "report: a policy that is not there" refuses 2 "/no/policy.yaml" \
    "$TILEWISE" report --policy /no/policy.yaml "$good"
check "report: an unknown format" refuses 64 "format.*'xlm'" \
    "$TILEWISE" report --format=xlm "$good"
check "replay: a budget that is no time" refuses 64 "budget.*'soon'" \
    "$TILEWISE" replay --budget soon "$good"

# Recording
check "record: no such program" refuses 127 "no-such-program" \
    "$TILEWISE" record -o "$work/t1" -- no-such-program
echo "#!/bin/sh" >"$work/not-executable"
check "record: a program that may not be run" refuses 126 "not-executable" \
    "$TILEWISE" record -o "$work/t2" -- "$work/not-executable"
check "record: a directory that cannot be made" refuses 125 "/proc/nothing" \
    "$TILEWISE" record -o /proc/nothing/here -- true
mkdir -m 0755 "$work/closed"
check "record: a directory of somebody else" refuses 125 "$work/closed" \
    as_nobody "$TILEWISE" record -o "$work/closed" -- true
check "record: a shim that is not there" refuses 125 "/no/shim.so" \
    env TILEWISE_SHIM=/no/shim.so "$TILEWISE" record -o "$work/t3" -- true
check "record: the status of the program is passed on" status_is 7 \
    "$TILEWISE" record -o "$work/t4" -- sh -c 'exit 7'
check "record: a signal of the program is passed on" status_is 143 \
    "$TILEWISE" record -o "$work/t5" -- sh -c 'kill -TERM $$'
check "ctl: a directory that is not there" refuses 2 "/no/dir" "$TILEWISE" ctl /no/dir status
check "ctl: a word that it does not know" refuses 64 "'maybe'" "$TILEWISE" ctl "$work/closed" maybe

# Outputs that cannot be written
cp "$good" "$work/readable.twt"
chmod 0644 "$work/readable.twt"
for writer in "report --format=json" "merge" "histogram"; do
    check "${writer%% *}: an output directory of somebody else" refuses 2 "$work/closed" \
        as_nobody "$TILEWISE" $writer -o "$work/closed/out" "$work/readable.twt"
    check "${writer%% *}: an output directory that is not there" refuses 2 "/no/dir/out" \
        "$TILEWISE" $writer -o /no/dir/out "$good"
done
check "report: a full disk under stdout" refuses 2 "No space left" \
    bash -c '"$0" report --format=json "$1" >/dev/full' "$TILEWISE" "$good"

# `-o *.twt`: the first trace is taken for the name of the output.
cp "$good" "$work/first.twt"
for writer in "report --format=json" merge histogram "diff $good" "gate -b $good" "replay --budget 1"; do
    check "${writer%% *}: a recorded trace is not replaced" refuses 2 "first.twt: a recorded trace stands there" \
        "$TILEWISE" $writer -o "$work/first.twt" "$good"
done
check "it is what it was" cmp "$good" "$work/first.twt"
"$TILEWISE" merge -o "$work/all.twt" "$good" 2>/dev/null
check "merge: a merged trace is replaced by another" "$TILEWISE" merge -o "$work/all.twt" "$good"

mkdir "$work/small"
if mount -t tmpfs -o size=64k tmpfs "$work/small" 2>/dev/null; then
    trap 'umount "$work/small"; rm -rf "$work"' EXIT
    echo precious >"$work/small/out"
    head -c 60000 /dev/zero >"$work/small/filler" 2>/dev/null
    cat /dev/zero >"$work/small/filler2" 2>/dev/null
    for writer in "report --format=html" "merge" "histogram"; do
        check "${writer%% *}: a full disk" refuses 2 "No space left" \
            "$TILEWISE" $writer -o "$work/small/out" "$good"
        check "${writer%% *}: what stood there before survives" \
            grep -qx precious "$work/small/out"
    done
    rm -f "$work/small/filler" "$work/small/filler2"
    recorded_all_or_said_so() {
        "$TILEWISE" record -o "$work/small/traces" -- /usr/bin/python3 -c '
import numpy as np
for m in range(1, 3000):
    a = np.ones((m % 97 + 1, m), "f"); a @ a.T; a[:, :m // 2 + 1] @ a[:, :m // 2 + 1].T' || return 1
        "$TILEWISE" info --format=json "$work"/small/traces/*.twt | /usr/bin/python3 -c '
import json, sys
t = json.load(sys.stdin)["trace"]
print(t)
sys.exit(t["seen"] != t["recorded"] + sum(t["dropped"].values()))'
    }
    head -c 40000 /dev/zero >"$work/small/filler"
    check "record: a full disk does not hurt the program, and losses are counted" \
        recorded_all_or_said_so
else
    skip "a full disk" "no permission to mount a small file system"
fi
finish
