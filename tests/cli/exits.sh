# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# exits STATUS COMMAND...: the command ends with that status, whatever it prints.
exits() {
    local want=$1 got=0
    shift
    "$@" || got=$?
    [ "$got" -eq "$want" ] || { echo "exit status $got, not $want"; false; }
}

# prints PATTERN COMMAND...: stdout matches (basic regular expression), whatever the status.
prints() {
    local pattern=$1
    shift
    "$@" >"$work/prints"
    cat "$work/prints"
    grep -q -e "$pattern" "$work/prints"
}

# answers STATUS PATTERN COMMAND...: both.
answers() {
    local want=$1 pattern=$2
    shift 2
    exits "$want" "$@" >"$work/answers" || { cat "$work/answers"; return 1; }
    cat "$work/answers"
    grep -q -e "$pattern" "$work/answers"
}

# holds EXPRESSION FILE: a Python expression over the JSON document `r` is true.
holds() {
    /usr/bin/python3 -c '
import json, sys
r = json.load(open(sys.argv[2]))
value = eval(sys.argv[1].strip())
print(json.dumps(r, indent=1)[:3000] if not value else "")
sys.exit(not value)' "$1" "$2"
}

# equal A B: the same text.
equal() {
    echo "'$1' '$2'"
    [ "$1" = "$2" ]
}
