# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The workload of the quickstart: a threaded server gives the same answers under the shim, ends on
# SIGTERM as it would alone, and can be paused while it runs.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/hosts/recorded.sh"

if ! $python -c 'import numpy' 2>/dev/null; then
    skip "embedding server" "python3-numpy is not installed"
    finish
fi
workloads=$TILEWISE_SOURCE/tests/workloads

# start COMMAND...: run the server behind that command; sets $server and $port.
start() {
    rm -f "$work/port"
    "$@" $python "$workloads/embed_server.py" --port-file "$work/port" >"$work/server.log" 2>&1 &
    server=$!
    for _ in $(seq 300); do
        [ -s "$work/port" ] && break
        sleep 0.1
    done
    port=$(cat "$work/port")
}

stop() {
    kill -TERM "$server"
    wait "$server"
    status=$?
}

# One request at a time: the batches, and so the sums, are the same every time.
ask() {
    $python - "$port" <<'END'
import http.client, json, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
for i in range(40):
    text = " ".join(f"word{j * i % 37}" for j in range(1 + i * i % 90))
    path, body = (("/search", {"text": text}), ("/embed", {"texts": [text, text[::-1]]}))[i % 2]
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    print(answer.status, answer.read().decode())
END
}

seen() {
    "$TILEWISE" info --format=json "$work"/traces/*.twt |
        $python -c 'import json, sys; print(json.load(sys.stdin)["trace"]["seen"])'
}

start env
check "requests are answered" test "$(ask | tee "$work/plain" | grep -c '^200 ')" -eq 40
stop
check "SIGTERM ends the server cleanly" test $status -eq 0

start "$TILEWISE" record -o "$work/traces" --
ask >"$work/shimmed"
check "the answers are the same under the shim" cmp "$work/plain" "$work/shimmed"
check "ctl: off" "$TILEWISE" ctl "$work/traces" off
sleep 2.5
before=$(seen)
ask >"$work/paused"
sleep 1.5
check "the answers are the same while it is paused" cmp "$work/plain" "$work/paused"
check "nothing is recorded while it is paused" test "$before" -gt 0 -a "$(seen)" -eq "$before"
check "ctl: on" "$TILEWISE" ctl "$work/traces" on
sleep 2.5
ask >/dev/null
stop
check "SIGTERM ends the recorded server cleanly" test $status -eq 0
check "recording went on after that" test "$(seen)" -gt "$before"
check "every call is accounted for" accounts "$work/traces" 1000
finish
