# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of the shim, after tap.sh.
#   $host, $host_dl: the host programs; $traces, $counts: fresh folders for each case
host=$SHIM_BIN/host host_dl=$SHIM_BIN/host_dl check_trace=$SHIM_BIN/check_trace
cases=0

fresh() {
    cases=$((cases + 1))
    traces=$work/traces$cases counts=$work/counts$cases
    mkdir -m 0700 "$traces" "$counts"
}

# shimmed COMMAND...: run it with the shim preloaded, into $traces, counting in $counts.
shimmed() {
    env LD_PRELOAD="$SHIM" TILEWISE_OUT="$traces" FAKE_COUNTS="$counts" "$@"
}

# The same in the background: `launch COMMAND... &` makes $! the program itself.
launch() {
    exec env LD_PRELOAD="$SHIM" TILEWISE_OUT="$traces" FAKE_COUNTS="$counts" "$@"
}

# exact STATUS COMMAND...: the command ends with that status, and every process that called BLAS
# has a trace with a clean end in which seen is what the library counted.
exact() {
    local want=$1
    shift
    fresh
    shimmed "$@" || [ $? -eq "$want" ] || { echo "unexpected status"; return 1; }
    all_recorded && "$check_trace" exact "$traces" "$counts"
}

# Every process that called has a trace of its own.
all_recorded() {
    local called written
    called=$(ls "$counts" | sort -n)
    written=$(ls "$traces" | sed -n 's/^[^.]*\.\([0-9]*\)\..*\.twt$/\1/p' | sort -n)
    [ "$called" = "$written" ] || { echo "called: $called; traces: $written"; return 1; }
}

# after_writing CALLS COMMAND...: run it until so many calls are in $traces, where it waits for
# SIGUSR1. Returns its status.
after_writing() {
    local count=$1 status=0 job tries=0
    shift
    "$@" &
    job=$!
    until [ "$(seen 2>/dev/null | tail -n 1)" = "$count" ] || [ $((tries += 1)) -gt 600 ]; do
        sleep 0.1
    done
    kill -USR1 "$(ls "$traces" | sed -n 's/^[^.]*\.\([0-9]*\)\..*\.twt$/\1/p')"
    wait $job || status=$?
    return $status
}

# Sum of `seen` in $traces, of a loss counter.
seen() { "$check_trace" seen "$traces"; }
dropped() { "$check_trace" dropped "$traces" "$1"; }
# Sum of calls in $counts.
called() {
    /usr/bin/python3 - "$counts" <<'END'
import os, struct, sys
print(sum(struct.unpack("<Q", open(os.path.join(sys.argv[1], f), "rb").read(8))[0]
          for f in os.listdir(sys.argv[1])))
END
}
