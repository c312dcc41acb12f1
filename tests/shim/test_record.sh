# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# tilewise record: statuses, signals, environment, directories, what it says.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/shim.sh"

# record STATUS [ARGUMENTS...]: it ends with that status; stderr in $work/err, stdout in $work/out.
record() {
    local want=$1 status
    shift
    "$TILEWISE" record "$@" >"$work/out" 2>"$work/err"
    status=$?
    echo "status $status, wanted $want"
    cat "$work/err"
    [ $status -eq "$want" ]
}
says() { [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q -- "$1" "$work/err"; }

child_status() { fresh; record 7 -o "$traces" -- sh -c 'exit 7' && says 'nothing recorded'; }
child_signal() { fresh; record 143 -o "$traces" -- sh -c 'kill -TERM $$'; }
child_core() { fresh; after_writing 20 record 134 -o "$traces" -- "$host" exit_abort 1 && [ "$(seen)" -eq 20 ]; }
not_found() { record 127 -o "$work/none" -- no-such-command && says no-such-command && [ ! -e "$work/none" ]; }
not_executable() { : >"$work/plain"; record 126 -o "$work/none" -- "$work/plain" && says plain; }
no_command() { record 64 -o "$work/none" && [ ! -e "$work/none" ]; }
no_shim() { TILEWISE_SHIM=/no/shim.so record 125 -o "$work/none" -- true && says /no/shim.so; }
no_directory() { record 125 -o "$work/a/b/c" -- true && says "$work/a/b/c"; }
file_there() { : >"$work/file"; record 125 -o "$work/file" -- true && says 'not a directory'; }
open_directory() { mkdir -p "$work/open" && chmod 0777 "$work/open" && record 125 -o "$work/open" -- true && says 'chmod 700'; }
check "the status of the program" child_status
check "a program that dies of a signal: 128 + its number" child_signal
check "a program that aborts is recorded up to there" child_core
check "a command that does not exist: 127, no directory left" not_found
check "a file that cannot be run: 126" not_executable
check "no command: 64" no_command
check "no shim: 125" no_shim
check "no parent directory: 125" no_directory
check "a file instead of a directory: 125" file_there
check "a directory that anybody may write to: 125" open_directory

summary() {
    fresh
    FAKE_COUNTS=$counts record 0 -o "$traces" -- "$host" calls 123 &&
        says "1 file in $traces, 123 of 123 calls recorded, 0 failed"
}
check "one line about what was recorded" summary
second_run() { FAKE_COUNTS=$counts record 0 -o "$traces" -- "$host" calls 45 && says "1 file in .* 45 of 45"; }
check "a second run into the directory: its own numbers" second_run
default_name() {
    cd "$work" && record 0 -- "$host" calls 3 || return 1
    [ "$(find . -maxdepth 1 -type d -name 'tilewise-*' -perm 0700 | wc -l)" -eq 1 ] &&
        ls tilewise-*/*.twt
}
check "without -o: a directory named after the moment, 0700" default_name
output() { fresh; record 0 -o "$traces" -- sh -c 'cat; echo there' <<<hello && [ "$(cat "$work/out")" = "hello
there" ]; }
check "standard input and output are the program's" output
after_dashes() { fresh; record 5 -o "$traces" -- sh -c 'test "$1" = --out && exit 5' x --out; }
check "options behind the command are the command's" after_dashes

preload() {
    fresh
    LD_PRELOAD=$SHIM_BIN/libnext.so record 0 -o "$traces" -- sh -c 'echo "$LD_PRELOAD"' &&
        [ "$(cat "$work/out")" = "$SHIM_BIN/libnext.so:$(realpath "$SHIM")" ]
}
check "LD_PRELOAD is added to, not replaced" preload
settings() {
    fresh
    record 0 -o "$traces" --events=off --size-cap=3M --allow=x,y --with-cmdline -- \
        sh -c 'env | grep ^TILEWISE_ | sort' || return 1
    grep -qx "TILEWISE_OUT=$traces" "$work/out" && grep -qx TILEWISE_EVENTS=off "$work/out" &&
        grep -qx TILEWISE_SIZE_CAP=3145728 "$work/out" && grep -qx TILEWISE_ALLOW=x,y "$work/out" &&
        grep -qx TILEWISE_WITH_CMDLINE=1 "$work/out"
}
check "options become settings of the recorder" settings
disabled() { fresh; TILEWISE_DISABLE=1 record 0 -o "$traces" -- "$host" calls 3 && says TILEWISE_DISABLE; }
check "the kill switch is named when nothing was recorded" disabled
cmdline() {
    fresh
    record 0 -o "$traces" -- "$host" calls 77 || return 1
    [ -z "$("$check_trace" fact "$traces" cmdline)" ] || return 1
    fresh
    record 0 -o "$traces" --with-cmdline -- "$host" calls 77 || return 1
    [ "$("$check_trace" fact "$traces" cmdline)" = "$host calls 77" ]
}
check "no command line in the trace unless it is asked for" cmdline

forwards() {
    fresh
    "$TILEWISE" record -o "$traces" -- sh -c 'trap "echo got it; exit 9" TERM; echo ready; while :; do sleep 0.05; done' \
        >"$work/out" 2>"$work/err" &
    local pid=$!
    for _ in $(seq 100); do grep -q ready "$work/out" && break; sleep 0.05; done
    kill -TERM $pid
    wait $pid
    [ $? -eq 9 ] && grep -q 'got it' "$work/out"
}
check "a signal sent to record reaches the program" forwards
children() {
    fresh
    FAKE_COUNTS=$counts record 0 -o "$traces" -- sh -c "'$host' calls 5 & '$host' calls 6; wait" &&
        says '2 files in .* 11 of 11'
}
check "processes behind a shell are recorded, the shell is not" children
help() { "$TILEWISE" record --help | grep -q -- '--size-cap'; }
check "help" help
finish
