# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# refuses STATUS PATTERN COMMAND...: the command ends with that status, prints exactly one line on
# stderr, which matches the pattern (basic regular expression), and prints nothing on stdout.
refuses() {
    local want=$1 pattern=$2
    shift 2
    "$@" >"$work/stdout" 2>"$work/stderr" </dev/null
    local status=$?
    echo "status $status, wanted $want; stderr:"
    cat "$work/stderr"
    echo "stdout:"
    head -c 2000 "$work/stdout"
    [ $status -eq "$want" ] && [ ! -s "$work/stdout" ] &&
        [ "$(wc -l <"$work/stderr")" -eq 1 ] && grep -q -- "$pattern" "$work/stderr"
}

# as_nobody COMMAND...: with $TILEWISE replaced by a copy that any user may run.
as_nobody() {
    local args=() word
    if [ ! -d "$work/bin" ]; then
        mkdir "$work/bin"
        cp "$TILEWISE" "$(find "$TILEWISE_BUILD" -name libtilewise-tracer.so | head -n 1)" "$work/bin/"
        chmod 0755 "$work" "$work/bin"
    fi
    for word in "$@"; do
        args+=("${word/#$TILEWISE/$work/bin/tilewise}")
    done
    setpriv --reuid=nobody --regid=nogroup --clear-groups -- "${args[@]}"
}

# record_numpy DIRECTORY CALLS [M K N]: a trace of that many f32 products, made by the real shim.
record_numpy() {
    "$TILEWISE" record -o "$1" -- /usr/bin/python3 -c '
import sys, numpy as np
calls, m, k, n = map(int, sys.argv[1:])
a, b = np.ones((m, k), "f"), np.ones((k, n), "f")
for _ in range(calls): a @ b' "$2" "${3:-64}" "${4:-128}" "${5:-32}"
}
