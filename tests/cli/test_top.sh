# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# top: one view for scripts, a growing trace, a terminal, a clean end.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

top() { "$TILEWISE" top "$@"; }
record_numpy "$work/t" 12000
check "one view" exits 0 top --once "$work/t"
check "it counts the calls" prints '^calls 12,000, ' top --once "$work/t"
check "and knows that the recording has ended" prints '; the recording has ended$' top --once "$work/t"
check "the shape is there" prints '^gemm  *f32  *64 x 32 x 128  *NN  *12,000 ' top "$work/t"
check "coverage and losses" prints '^coverage of calls 100.0 %; lost 0$' top "$work/t"
check "GPU time is named" prints '^GPU time: not measured$' top "$work/t"
no_escapes() { top "$work/t" >"$work/plain" && ! grep -q "$(printf '\033')" "$work/plain"; }
check "no escape sequence without a terminal" no_escapes

mkdir "$work/j"
cp "$TILEWISE_SOURCE/traces/samples/jax.twt" "$work/j"
check "as many shapes as asked for" test "$(top --lines 3 "$work/j" | grep -c '^gemm ')" -eq 3
check "GPU time" prints '^GPU time: 19 windows of .*; kernels 2,345, without a record 0$' top "$work/j"

# Busy, windows and kernels of all samples, one by one and merged, as the report has them.
gpu_of() { sed -nE "s/^GPU time: (.*) windows .* busy ([0-9.]+ %) of that; kernels (.*), without.*/\1 \2 \3/p"; }
gpu_of_report() { sed -nE "s/^GPU: (.*) kernels in (.*) windows .* busy ([0-9.]+ %) .*/\2 \3 \1/p"; }
agrees() {
    rm -rf "$work/one" && mkdir "$work/one" && cp "$1" "$work/one"
    top --once "$work/one" | gpu_of >"$work/seen"
    "$TILEWISE" report "$1" | gpu_of_report >"$work/reported"
    cat "$work/seen" "$work/reported"
    [ -s "$work/seen" ] && cmp "$work/seen" "$work/reported"
}
"$TILEWISE" merge -o "$work/merged.twt" "$TILEWISE_SOURCE"/traces/samples/*.twt
for sample in "$TILEWISE_SOURCE"/traces/samples/*.twt "$work/merged.twt"; do
    check "GPU time of $(basename "$sample" .twt) is the report's" agrees "$sample"
done

# In a graph a call takes the host no time: hot is what keeps the GPU busy.
mkdir "$work/d"
cp "$TILEWISE_SOURCE/traces/samples/llm-decode-graph.twt" "$work/d"
hottest() {
    top --lines 1 "$work/d" >"$work/hottest"
    cat "$work/hottest"
    grep -q 'GPU mean *GPU$' "$work/hottest" && tail -n 1 "$work/hottest" | grep -q '^gemm bf16  *5632 x 16 x 2048 .* us  *[0-9.]* %$'
}
check "shapes go by the time of their kernels" hottest

# Every prefix is a view, and no damage.
mkdir "$work/p"
bytes=$(stat -c %s "$work"/t/*.twt)
prefixes() {
    for i in 0 1 40 96 97 500 $((bytes / 2)) $((bytes - 1)); do
        head -c "$i" "$work"/t/*.twt >"$work/p/x.twt"
        top --once "$work/p" >"$work/view" || return 1
        grep -q ', 0 damaged stretches$' "$work/view" || { cat "$work/view"; return 1; }
    done
}
check "every prefix can be looked at" prefixes

# A trace that grows while it is watched in a terminal: half of it, then all of it.
head -c $((bytes / 2)) "$work"/t/*.twt >"$work/p/x.twt"
watched() {
    /usr/bin/python3 - "$TILEWISE" "$work/p" "$work"/t/*.twt <<'END'
import fcntl, os, pty, re, select, signal, struct, sys, termios, time
program, directory, whole = sys.argv[1:]
COLUMNS = 60
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    os.execv(program, [program, "top", "--interval", "100ms", directory])
text = b""
def until(pattern):
    global text
    end = time.monotonic() + 60
    while pattern not in text:
        assert time.monotonic() < end, text
        if select.select([terminal], [], [], 1)[0]:
            text += os.read(terminal, 65536)
until(b"1 being written")
data = open(whole, "rb").read()
with open(directory + "/x.twt", "ab") as out:
    out.write(data[len(data) // 2:])
until(b"calls 12,000, ")
until(b" 0 being written")
lines = re.sub(rb"\x1b\[[0-9;]*[A-Z]", b"", text).splitlines()
assert max(map(len, lines)) <= COLUMNS and max(map(len, lines[:9])) == COLUMNS, lines  # cut, not wrapped
assert b"1 unreadable; " not in text and b"\x1b[3" not in text, text  # no colour
os.kill(child, signal.SIGINT)
status = os.waitpid(child, 0)[1]
assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, status
END
}
check "a terminal follows a growing trace, and Ctrl-C ends it cleanly" watched

mkdir "$work/empty"
check "nothing there yet is no error" prints 'last frame not there yet' top --once "$work/empty"
echo "no trace" >"$work/empty/x.twt"
check "a file that is no trace is counted" prints '1 unreadable' top --once "$work/empty"
check "a directory that is not there is named" refuses 2 "nowhere: No such file" "$TILEWISE" top "$work/nowhere"
check "a directory is needed" refuses 64 "missing argument" "$TILEWISE" top
check "so is a time above 0" refuses 64 "interval is above 0" "$TILEWISE" top --interval 0 "$work/t"
finish
