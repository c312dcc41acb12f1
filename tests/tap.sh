# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by shell tests: TAP on stdout, one line per check, the plan at the end.
#   check NAME COMMAND...   ok when the command succeeds; its output follows as comments if not
#   skip NAME REASON
#   finish                  prints the plan; the exit status is 1 when anything failed
# $work is a private directory that is removed at exit.

tap_done=0 tap_failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() {
    local name=$1
    shift
    tap_done=$((tap_done + 1))
    if "$@" >"$work/.check" 2>&1; then
        echo "ok $tap_done - $name"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_done - $name"
        tail -n 40 "$work/.check" | tr -c '[:print:]\n\t' '?' | sed 's/^/# /'
    fi
}

skip() {
    tap_done=$((tap_done + 1))
    echo "ok $tap_done - $1 # SKIP $2"
}

finish() {
    echo "1..$tap_done"
    [ $tap_failed -eq 0 ] || exit 1
    exit 0
}
