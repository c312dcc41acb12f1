# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# kill -9 at random moments: the trace is readable, in order, and complete up to one second before.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/shim.sh"

# Eight at a time, so that 200 of them take half a minute.
ROUNDS=25 AT_ONCE=8
RANDOM=20240817
killed() {
    fresh
    local bad=0 pid pids
    for ((round = 0; round < ROUNDS; round++)); do
        pids=()
        for ((i = 0; i < AT_ONCE; i++)); do
            launch "$host" paced 400000 &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do
            sleep "0.0$((RANDOM % 100))"
            [ $((RANDOM % 4)) -ne 0 ] || sleep "0.$((RANDOM % 9))"
            kill -KILL "$pid"
        done
        wait 2>/dev/null
    done
    echo "$(ls "$traces"/*.twt | wc -l) traces"
    "$check_trace" prefix "$traces" "$counts" || bad=1
    return $bad
}
check "200 processes killed at random moments" killed
enough() { [ "$(ls "$counts" | wc -l)" -ge 150 ] && [ "$(ls "$traces"/*.twt | wc -l)" -ge 150 ]; }
check "most of them had begun to record" enough
nothing_else() { [ "$(seen)" -le "$(called)" ] && [ "$(seen)" -gt 0 ]; }
check "never more recorded than called" nothing_else
finish
