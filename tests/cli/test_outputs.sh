# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Where output goes wrong, for every command: a full or closed standard output, closed streams, a full
# disk, a directory of somebody else. Each is an error of one line, and leaves no half of a file.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"

record_numpy "$work/traces" 2000 8 8 8 >/dev/null 2>&1
trace=$(ls "$work"/traces/*.twt)
"$TILEWISE" replay --budget 1 --threads 1 --kernel ref -o "$work/r.twr" "$trace" >/dev/null 2>&1
"$TILEWISE" history add "$work/history" "$work/r.twr" "$trace" 2>/dev/null
cd "$work" || exit 1

# What prints its data. No command may be forgotten: the list is held against `help`.
printers=("info $trace" "info --format=json $trace" "report $trace" "report --format=json $trace" "report --format=html $trace"
    "report --format=dispatch $trace r.twr" "histogram $trace" "diff traces traces" "diff --format=json traces traces" "gate traces"
    "history history" "validate $trace" "kernels" "doctor --device=cpu" "doctor --device=cpu --format=json" "help" "help gpu"
    "replay --mode list $trace" "replay --mode check --kernel ref --threads 1 $trace" "top --once traces" "record --help"
    "merge --print-config $trace" "ctl --help" "--version")
silent="record ctl merge" # they write a file, or what another program prints
covered() {
    local command
    for command in $("$TILEWISE" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        printf '%s\n' "${printers[@]}" $silent | grep -q "^$command" || { echo "$command"; return 1; }
    done
}
check "every command is in this test" covered
# fails COMMAND...: status 2; the last line on stderr says what is wrong with the output, once.
fails() {
    exits 2 "$@" 2>err
    cat err
    [ "$(grep -c "writing the output failed: \(No space left on device\|Bad file descriptor\)" err)" -eq 1 ] &&
        tail -n 1 err | grep -q "^tilewise: writing"
}
full() { "$TILEWISE" "$@" >/dev/full; }
closed() { "$TILEWISE" "$@" >&-; }
for printer in "${printers[@]}"; do
    check "$printer: a full disk under stdout" fails full $printer
    check "$printer: a closed stdout" fails closed $printer
done

# A file that is opened while a stream is closed must not get what is printed.
written() { # written FILE COMMAND...
    local file=$1
    shift
    rm -f "$file"
    "$@"
    [ -s "$file" ] || { echo "no $file"; return 1; }
}
replay=("$TILEWISE" replay --budget 1 --threads 1 --kernel ref -o c.twr "$trace")
without_stdout() { "$@" >&-; }
without_stderr() { "$@" >/dev/null 2>&-; }
without_any() { "$@" <&- >&- 2>&-; }
for how in without_stdout without_stderr without_any; do
    check "replay $how: there is a result" written c.twr $how "${replay[@]}"
    check "replay $how: it is whole" "$TILEWISE" validate c.twr
    check "report $how: there is a report" written c.json $how "$TILEWISE" report --format=json -o c.json "$trace"
    check "report $how: it is JSON" holds 'r["trace"]["seen"] == 2000' c.json
    check "merge $how: there is a trace" written m.twt $how "$TILEWISE" merge -o m.twt "$trace"
    check "merge $how: it is whole" "$TILEWISE" validate m.twt
    closed_fd=1
    [ $how = without_stderr ] && closed_fd=2
    check "record $how: the program has its streams as they were" exits 3 $how "$TILEWISE" record -o rec -- \
        sh -c '[ ! -e /proc/$$/fd/$1 ] && exit 3' sh $closed_fd
done

# Nothing is left where the disk is full, or the directory is not ours.
cp "$trace" t.twt && cp r.twr ours.twr && chmod 0644 t.twt ours.twr && chmod 0755 .
mkdir -m 0755 theirs
writers=("report --format=html t.twt -o" "report --format=dispatch t.twt ours.twr -o" "merge t.twt -o" "histogram t.twt -o"
    "diff t.twt t.twt -o" "gate t.twt -o" "history history --format=md -o" "replay --budget 1 --threads 1 --kernel ref t.twt -o"
    "history add")
tail_of() { case $1 in *" add") echo "ours.twr t.twt" ;; esac }
chmod -R a+rX history
for writer in "${writers[@]}"; do
    check "$writer: a directory of somebody else" refuses 2 "theirs/x.*Permission denied" \
        as_nobody env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE "$TILEWISE" $writer theirs/x $(tail_of "$writer")
done
check "nothing is there" equal "$(ls -A theirs)" ""
check "record: a directory of somebody else" refuses 125 "theirs/x.*another directory with -o" as_nobody "$TILEWISE" record -o theirs/x -- true
check "ctl: a directory of somebody else" refuses 2 "theirs/control: Permission denied" as_nobody "$TILEWISE" ctl theirs off
mkdir small
if mount -t tmpfs -o size=64k tmpfs small 2>/dev/null; then
    trap 'umount "$work/small"; rm -rf "$work"' EXIT
    cat /dev/zero >small/filler 2>/dev/null
    for writer in "${writers[@]}"; do
        check "$writer: a full disk" refuses 2 "small/.*No space left" \
            env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE "$TILEWISE" $writer small/x $(tail_of "$writer")
    done
    check "nothing is there, either" equal "$(find small -type f)" small/filler
    truncate -s 57344 small/filler # room for a beginning
    check "replay: a disk that fills up" exits 2 "$TILEWISE" replay --budget 1 --threads 1 -o small/x "$TILEWISE_SOURCE/traces/samples/jax.twt"
    check "replay: the beginning is gone" equal "$(find small -type f)" small/filler
else
    skip "a full disk" "no permission to mount a small file system"
fi
finish
