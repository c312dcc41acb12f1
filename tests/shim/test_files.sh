# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Directories, modes, full disks, limits, switches: where a trace may be written and when not.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/shim.sh"

mode() { stat -c %a "$1"; }
only_trace() { ls "$traces"/*.twt; }

modes() {
    fresh
    rmdir "$traces"
    (umask 0; shimmed "$host" calls 10) || return 1
    [ "$(mode "$traces")" = 700 ] && [ "$(mode "$(only_trace)")" = 600 ]
}
check "the directory is made, 0700, the file 0600, whatever the umask" modes
relative() { fresh; cd "$work" && traces=made-here && rm -rf made-here && shimmed "$host" calls 3 && ls made-here/*.twt; }
check "a relative directory" relative

# unrecorded COMMAND...: it runs as ever, prints nothing of ours, and leaves no trace.
unrecorded() {
    "$@" >"$work/out" 2>"$work/err"
    local status=$?
    cat "$work/out" "$work/err"
    [ $status -eq 0 ] && [ ! -s "$work/out" ] && [ ! -s "$work/err" ] &&
        ! find "$traces" -name '*.twt' 2>/dev/null | grep .
}
group_writable() { fresh; chmod 0770 "$traces"; unrecorded shimmed "$host" calls 10; }
others() { fresh; chown nobody "$traces"; unrecorded shimmed "$host" calls 10; }
linked() { fresh; mv "$traces" "$traces.real"; ln -s "$traces.real" "$traces"; unrecorded shimmed "$host" calls 10; }
file() { fresh; rmdir "$traces"; : >"$traces"; unrecorded shimmed "$host" calls 10; }
nowhere() { fresh; traces=$work/no/such/place; unrecorded shimmed "$host" calls 10; }
check "a directory that others may write to is refused" group_writable
check "a directory of somebody else is refused" others
check "a directory behind a symbolic link is refused" linked
check "a file instead of a directory" file
check "no parent directory" nowhere
unwritable() {
    fresh
    chown nobody "$traces" "$counts"
    chmod 0500 "$traces"
    chmod 0755 "$work"
    unrecorded setpriv --reuid=nobody --regid=nogroup --clear-groups \
        env LD_PRELOAD="$SHIM" TILEWISE_OUT="$traces" "$host" calls 10
}
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=nobody --regid=nogroup --clear-groups test -x "$host"; then
    check "a directory that we may not write to" unwritable
else
    skip "a directory that we may not write to" "needs root and a build that others can reach"
fi
deleted() {
    fresh
    launch "$host" paced 20000 &
    sleep 0.4
    rm -rf "$traces"
    wait $!
}
check "the directory is deleted while recording" deleted
planted() {
    fresh
    shimmed "$host" calls 5 && shimmed "$host" calls 6 || return 1
    [ "$(ls "$traces" | wc -l)" -eq 2 ] && [ "$(seen)" -eq 11 ]
}
check "two processes, two files; nothing is left beside them" planted

# Disks of one mebibyte.
full_disk() {
    fresh
    mount -t tmpfs -o size=256k,mode=0700 none "$traces" || return 1
    head -c 200k /dev/zero >"$traces/ballast"
    shimmed "$host" threads 2 "${1:-2000000}"
    local status=$?
    rm -f "$traces/ballast"
    mkdir "$work/copy$cases" && cp "$traces"/*.twt "$work/copy$cases"
    umount "$traces"
    traces=$work/copy$cases
    echo "status $status, seen $(seen), disk_full $(dropped disk_full)"
    [ $status -eq 0 ] && "$check_trace" seen "$traces"
}
resumed() {
    fresh
    mount -t tmpfs -o size=128k,mode=0700 none "$traces" || return 1
    launch "$host" paced 100000 &
    local pid=$!
    sleep 0.3
    head -c 200k /dev/zero >"$traces/ballast" 2>/dev/null
    sleep 2
    rm -f "$traces/ballast"
    wait $pid || return 1
    mkdir "$work/copy$cases" && cp "$traces"/*.twt "$work/copy$cases"
    umount "$traces"
    traces=$work/copy$cases
    echo "seen $(seen), called $(called), disk_full $(dropped disk_full)"
    [ "$(seen)" -eq "$(called)" ] && [ "$(dropped disk_full)" -gt 0 ] &&
        [ "$(dropped disk_full)" -lt "$(seen)" ] && "$check_trace" exact "$traces" "$counts"
}
if mkdir "$work/mount" && mount -t tmpfs none "$work/mount" 2>/dev/null; then
    umount "$work/mount"
    check "a disk that is full from the start" full_disk
    check "a disk that fills up and gets space again: every call is accounted for" resumed
else
    skip "a disk that is full from the start" "needs the right to mount"
    skip "a disk that fills up and gets space again" "needs the right to mount"
fi
file_limit() {
    fresh
    (ulimit -f 4; env LD_PRELOAD="$SHIM" TILEWISE_OUT="$traces" "$host" paced 60000) ||
        { echo "status $?"; return 1; }
    echo "seen $(seen), io_error $(dropped io_error)"
    [ "$(stat -c %s "$(only_trace)")" -le 4096 ]
}
check "a limit on file size never kills the host (SIGXFSZ)" file_limit
size_cap() {
    fresh
    TILEWISE_SIZE_CAP=8k shimmed "$host" paced 100000 || return 1
    echo "size $(stat -c %s "$(only_trace)"), size_cap $(dropped size_cap)"
    [ "$(stat -c %s "$(only_trace)")" -le 8192 ] && [ "$(dropped size_cap)" -gt 0 ] &&
        "$check_trace" exact "$traces" "$counts"
}
check "the size cap holds, and the rest is counted" size_cap
no_threads() {
    fresh
    chmod 0755 "$work"
    chown nobody "$traces" "$counts"
    unrecorded setpriv --reuid=nobody --regid=nogroup --clear-groups prlimit --nproc=1 \
        env LD_PRELOAD="$SHIM" TILEWISE_OUT="$traces" "$host" calls 10
}
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=nobody --regid=nogroup --clear-groups test -x "$host"; then
    check "no thread to be had: the host runs on" no_threads
else
    skip "no thread to be had: the host runs on" "needs root and a build that others can reach"
fi
# Descriptors 0 to 3 and no more; what the caller of this test left open would take the last one.
few_files() {
    fresh
    (
        exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
        ulimit -n 4
        shimmed "$host" calls 10
    )
}
check "no descriptor to be had: the host runs on" few_files

# Switches.
killed_by_env() { fresh; rmdir "$traces"; TILEWISE_DISABLE=1 unrecorded shimmed "$host" calls 10; }
check "TILEWISE_DISABLE=1" killed_by_env
killed_by_file() { fresh; : >"$traces/disable"; unrecorded shimmed "$host" calls 10; }
check "a file named disable" killed_by_file
unarmed() { fresh; unrecorded env LD_PRELOAD="$SHIM" "$host" calls 10; }
check "preloaded without TILEWISE_OUT" unarmed
allowed() { fresh; TILEWISE_ALLOW=python3,host shimmed "$host" calls 3 && [ "$(seen)" -eq 3 ]; }
check "the allow-list names the program" allowed
not_allowed() { fresh; TILEWISE_ALLOW=python3,hos unrecorded shimmed "$host" calls 3; }
check "the allow-list names others" not_allowed
denied() { fresh; cp "$host" "$work/bash"; LD_LIBRARY_PATH=$SHIM_BIN unrecorded shimmed "$work/bash" calls 3; }
check "a program of a denied name" denied
denied_is_allowed() {
    fresh
    TILEWISE_ALLOW=bash LD_LIBRARY_PATH=$SHIM_BIN shimmed "$work/bash" calls 3 && [ "$(seen)" -eq 3 ]
}
check "unless it is allowed" denied_is_allowed

# System calls of a program that never calls BLAS, beyond those of an empty preload.
quiet() {
    fresh
    echo 'int empty;' >"$work/empty.c"
    gcc -shared -fPIC -o "$work/empty.so" "$work/empty.c" || return 1
    strace -f -o "$work/empty.strace" -E LD_PRELOAD="$work/empty.so" "$@" >/dev/null || return 1
    strace -f -o "$work/shim.strace" -E LD_PRELOAD="$SHIM" -E TILEWISE_OUT="$traces" "$@" \
        >/dev/null || return 1
    local empty shim
    empty=$(wc -l <"$work/empty.strace")
    shim=$(wc -l <"$work/shim.strace")
    echo "$empty and $shim system calls"
    grep -E "$traces|clone" "$work/shim.strace"
    [ $((shim - empty)) -le 10 ] && ! grep -q "$traces" "$work/shim.strace"
}
if strace -o /dev/null true 2>/dev/null; then
    check "bash opens no file of ours and makes 10 system calls more at most" \
        quiet bash -c 'echo hello'
    check "a wanted program that never calls BLAS does the same" quiet "$host" calls 0
else
    skip "bash opens no file of ours" "needs strace"
    skip "a wanted program that never calls BLAS" "needs strace"
fi
secure() {
    fresh
    chmod 0755 "$work"
    cat >"$work/secure.c" <<'END'
void saxpy_(const int *n, const float *a, const float *x, const int *ix, float *y, const int *iy);
int main(void)
{
    int n = 1;
    float a = 1;
    for (int i = 0; i < 5; i++)
        saxpy_(&n, &a, &a, &n, &a, &n);
    return 0;
}
END
    # The loader ignores preloads of such programs; so hand it over as a needed library.
    gcc -o "$work/secure" "$work/secure.c" -Wl,--no-as-needed "$SHIM" -L"$SHIM_BIN" -lfake_blas \
        -Wl,-rpath,"$SHIM_BIN:$(dirname "$SHIM")" || return 1
    chown nobody "$work/secure"
    TILEWISE_OUT=$traces FAKE_COUNTS=$counts "$work/secure" || return 1
    [ "$(seen)" -eq 5 ] || { echo "recorded nothing even without privilege"; return 1; }
    fresh
    chown nobody "$traces" "$counts"
    chmod 4755 "$work/secure"
    TILEWISE_OUT=$traces "$work/secure" && ! ls "$traces"/*.twt 2>/dev/null
}
if [ "$(id -u)" -eq 0 ]; then
    check "a setuid program is never recorded" secure
else
    skip "a setuid program is never recorded" "needs root"
fi

# Control while it runs.
control() {
    fresh
    launch "$host" paced 120000 &
    local pid=$! first second third
    sleep 1.5
    "$TILEWISE" ctl "$traces" status >"$work/status1" || return 1
    "$TILEWISE" ctl "$traces" off || return 1
    sleep 1.6
    "$TILEWISE" ctl "$traces" status >"$work/status2"
    sleep 1.2
    "$TILEWISE" ctl "$traces" status >"$work/status3"
    "$TILEWISE" ctl "$traces" on
    wait $pid || return 1
    cat "$work"/status?
    first=$(awk 'NR == 2 { print $3 }' "$work/status1")
    second=$(awk 'NR == 2 { print $3 }' "$work/status2")
    third=$(awk 'NR == 2 { print $3 }' "$work/status3")
    echo "seen $first, $second, $third, at last $(seen) of $(called)"
    grep -q '^on ' "$work/status1" && grep -q '^off ' "$work/status2" &&
        [ "$second" -eq "$third" ] && [ "$(seen)" -gt "$third" ] && [ "$(seen)" -lt "$(called)" ] &&
        "$TILEWISE" ctl "$traces" status 2>&1 | grep -q 'no process'
}
check "ctl: off, on and status of a running process" control
started_off() {
    fresh
    "$TILEWISE" ctl "$traces" off || return 1
    launch "$host" paced 100000 &
    local pid=$! first
    sleep 1.5
    "$TILEWISE" ctl "$traces" status | tee "$work/status1"
    "$TILEWISE" ctl "$traces" on
    wait $pid || return 1
    first=$(awk 'NR == 2 { print $3 }' "$work/status1")
    echo "seen $first, at last $(seen) of $(called)"
    grep -q '^off ' "$work/status1" && [ "$(seen)" -gt "$((first + 1000))" ] && [ "$(seen)" -lt "$(called)" ]
}
check "ctl: a process that starts while it is off waits for on" started_off
ctl_usage() {
    "$TILEWISE" ctl "$work/nowhere" off 2>"$work/err"
    [ $? -eq 2 ] && grep -q nowhere "$work/err" || return 1
    "$TILEWISE" ctl "$work" maybe 2>"$work/err"
    [ $? -eq 64 ] && grep -q maybe "$work/err"
}
check "ctl: bad directory, bad word" ctl_usage
fallback() {
    fresh
    # A kernel without close_range and a filter that refuses unshare, as in some containers.
    strace -f -qq -o /dev/null -e trace=none -e inject=close_range:error=ENOSYS \
        -e inject=unshare:error=EPERM -E LD_PRELOAD="$SHIM" -E TILEWISE_OUT="$traces" \
        -E FAKE_COUNTS="$counts" "$host" "$@" || return 1
    echo "seen $(seen), called $(called)"
    [ "$(seen)" -le "$(called)" ]
}
fallback_is_exact() { fallback calls 500 && [ "$(seen)" -eq 500 ]; }
if strace -o /dev/null true 2>/dev/null; then
    check "no private descriptors: recorded all the same" fallback_is_exact
    check "no private descriptors: the host closes ours, and gets nothing of ours" \
        fallback close_all 2
else
    skip "no private descriptors: recorded all the same" "needs strace"
    skip "no private descriptors: the host closes ours" "needs strace"
fi
finish
