# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# How processes live and die: fork, vfork, exec, exit, threads, signals. In each case the trace must
# say exactly what the library counted.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/shim.sh"

check "ten thousand calls" exact 0 "$host" calls 10000
check "more calls than the ring holds" exact 0 "$host" calls 3000000
check "eight threads" exact 0 "$host" threads 8 50000
no_call() { fresh; shimmed "$host" calls 0 && [ -z "$(ls "$traces")" ]; }
check "no call, no file" no_call
check "10,000 threads, one after the other, in bounded memory" exact 0 "$host" churn 10000
check "signal handlers, signal masks unchanged" exact 0 "$host" masks

check "fork: each child that calls has its own file" exact 0 "$host" fork 60
check "fork while threads call" exact 0 "$host" fork_busy 60
# The first calls of two threads walk the loaded objects while the main thread forks.
early_forks() {
    for _ in $(seq 40); do
        timeout 120 env "$@" "$host" fork_busy 2 || { echo "exit status $?"; return 1; }
    done
}
recorded_early_forks() { fresh; early_forks LD_PRELOAD="$SHIM" TILEWISE_OUT="$traces"; }
check "fork while the first calls begin" recorded_early_forks
check "fork while the first calls begin, not recorded" early_forks LD_PRELOAD="$SHIM"
check "double fork, as daemons do" exact 0 "$host" double_fork 12
check "vfork and exec" exact 0 "$host" vfork 50
check "a fork without the C library ends in time" exact 0 "$host" bare_fork
close_all_private() { exact 0 "$host" close_all 10; }
check "a host that closes all descriptors" close_all_private

exec_keeps() { fresh; after_writing 7 shimmed "$host" exec; [ $? -eq 0 ] && [ "$(seen)" -eq 12 ]; }
check "exec: what came before it and what comes after" exec_keeps
check "return from main" exact 0 "$host" calls 20
check "quick_exit" exact 3 "$host" exit_quick
check "exit from a thread" exact 3 "$host" exit_in_thread
check "main ends by pthread_exit" exact 0 "$host" exit_main_thread

# Ends without a chance to write: what the recorder wrote before is in the file.
abrupt() {
    local want=$1
    shift
    fresh
    after_writing 20 shimmed "$host" "$@" 2>/dev/null
    local status=$?
    echo "status $status, seen $(seen)"
    [ $status -eq "$want" ] && [ "$(seen)" -eq 20 ]
}
check "_exit, once all is written" abrupt 3 exit_now 1
check "abort, once all is written" abrupt 134 exit_abort 1
# The file may just have been made: an empty one is told of before the sum.
at_once() { fresh; shimmed "$host" exit_now 0; [ $? -eq 3 ] && [ "$(seen | tail -n 1)" -le 20 ]; }
check "_exit at once is harmless" at_once

# Threads that still call while the process ends: never more than was called, and a clean end.
still_running() {
    fresh
    shimmed "$host" exit_while_running
    [ $? -eq 3 ] || return 1
    echo "seen $(seen), called $(called)"
    [ "$(seen)" -le "$(called)" ] && [ "$(seen)" -gt 0 ]
}
check "main returns while threads call" still_running
late() {
    fresh
    shimmed "$host" exit_handler_calls
    [ $? -eq 3 ] || return 1
    echo "seen $(seen), called $(called)"
    [ "$(called)" -eq 25 ] && [ "$(seen)" -eq 25 ]
}
check "calls of an exit handler" late

# A handler may interrupt the recorder itself: such a call is counted as dropped, and as nothing else.
storm() {
    exact 0 "$host" storm 2000000 || return 1
    echo "reentrant: $(dropped reentrant)"
}
check "20,000 signals a second whose handlers call" storm
# Few calls: what handlers call while recording begins is most of it.
early_storms() {
    for ((i = 0; i < 60; i++)); do
        exact 0 "$host" storm 200 || return 1
    done
}
check "signals whose handlers call while recording begins, 60 times" early_storms

refused() {
    exact 0 "$host" refused || return 1
    [ "$("$check_trace" failed "$traces")" -eq 8 ]
}
check "calls that the library refuses are failed, not seen" refused

crowded() {
    exact 0 "$host" crowd 5000 || return 1
    echo "thread_cap: $(dropped thread_cap)"
    [ "$(dropped thread_cap)" -gt 0 ]
}
check "more threads than the table holds are counted" crowded
shapes() {
    exact 0 "$host" many_shapes 70000 || return 1
    echo "signature_cap: $(dropped signature_cap)"
    [ "$(dropped signature_cap)" -eq $((70000 - 65535)) ]
}
check "more signatures than the table holds are counted" shapes
counts_alone() {
    TILEWISE_EVENTS=off exact 0 "$host" threads 4 20000 || return 1
    "$check_trace" seen "$traces"
}
check "counts without events" counts_alone

same_output() {
    cd "$work" || return 1
    cat >product.py <<'END'
import hashlib, numpy as np
r = np.random.default_rng(1)
h = hashlib.sha256()
for i in range(200):
    m, k, n = r.integers(1, 90, 3)
    for t in "fdFD":
        a, b = r.standard_normal((m, k)).astype(t), r.standard_normal((k, n)).astype(t)
        for x in (a @ b, a @ b[:, 0], a @ a.T, np.dot(a[:, 0], a[:, 0])):
            h.update(np.ascontiguousarray(x).tobytes())
print(h.hexdigest())
END
    fresh
    /usr/bin/python3 product.py >plain && shimmed /usr/bin/python3 product.py >recorded &&
        cmp plain recorded && [ "$(seen)" -ge 2000 ]
}
check "numpy computes the same bits" same_output
numpy_counts() {
    fresh
    shimmed /usr/bin/python3 -c 'import numpy as np
a = np.ones((64, 128), "f"); b = np.ones((128, 32), "f")
for _ in range(1000): a @ b' && [ "$(seen)" -eq 1000 ]
}
check "numpy: 1000 products are 1000 calls" numpy_counts
finish
