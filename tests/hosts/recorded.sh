# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Running foreign programs with and without the shim.

# The image comes from the build; a host program must not depend on the caller's locale or cache.
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 HOME="$work"
python=/usr/bin/python3
shim=$(find "$TILEWISE_BUILD" -name libtilewise-tracer.so | head -n 1)

# recorded DIRECTORY COMMAND...: run it under the recorder; its own status is returned.
recorded() {
    local directory=$1
    shift
    "$TILEWISE" record -o "$directory" -- "$@"
}

# accounts DIRECTORY LEAST: there are traces; each one ended cleanly, and in each
# seen = recorded + dropped; all together saw at least LEAST calls.
accounts() {
    local trace
    : >"$work/totals.json"
    for trace in "$1"/*.twt; do
        "$TILEWISE" info --format=json "$trace" >"$work/info.json" || return 1
        tr -d '\n' <"$work/info.json" >>"$work/totals.json"
        echo >>"$work/totals.json"
    done
    $python - "$work/totals.json" "$2" <<'END'
import json, sys
traces = [json.loads(line)["trace"] for line in open(sys.argv[1])]
seen = sum(t["seen"] for t in traces)
wrong = [t for t in traces if t["seen"] != t["recorded"] + sum(t["dropped"].values())]
print(f"{len(traces)} traces, {seen} calls, wrong sums: {wrong}")
sys.exit(bool(wrong) or seen < int(sys.argv[2]))
END
}

# identical NAME COMMAND...: same output, error output and status with and without recording.
identical() {
    local name=$1 plain shimmed
    shift
    "$@" >"$work/$name.plain" 2>"$work/$name.plain.err"
    plain=$?
    recorded "$work/$name" "$@" >"$work/$name.shim" 2>"$work/$name.shim.err"
    shimmed=$?
    echo "status $plain and $shimmed"
    [ $plain -eq $shimmed ] && diff "$work/$name.plain" "$work/$name.shim" &&
        diff "$work/$name.plain.err" <(grep -v '^tilewise record: ' "$work/$name.shim.err")
}
