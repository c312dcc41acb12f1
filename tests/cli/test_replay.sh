# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# replay as a user meets it: the plan, the cap, plug-ins that misbehave, results that survive.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"

numpy='import numpy as np
a = np.ones((40, 30), "f"); b = np.ones((30, 20), "f"); c = np.ones((50, 50)); v = np.ones(50)
for _ in range(300): a @ b
for _ in range(20): c @ v
z = np.ones((4, 4), "F"); z @ z'
"$TILEWISE" record -o "$work/t" -- /usr/bin/python3 -c "$numpy" 2>/dev/null
traces=("$work"/t/*.twt)
replay() { "$TILEWISE" replay "$@" "${traces[@]}"; }
code() { "$@" >"$work/out" 2>"$work/err"; echo $?; }

check "list shows every shape and runs nothing" sh -c '"$@" | grep -c "gem[mv]" | grep -qx 3' sh \
    "$TILEWISE" replay --mode list "${traces[@]}"
check "list says why a shape is left out" sh -c '"$@" | grep -q "not measured: behind the planned"' sh \
    "$TILEWISE" replay --mode list --time-share 0.1 "${traces[@]}"

capped() { OPENBLAS_CORETYPE=Haswell replay --mode check --threads 1 >"$work/out" 2>"$work/err"; }
check "replay under a cap runs" capped
check "the cap is a warning with its remedy" grep -q "OPENBLAS_CORETYPE=Haswell.*--uncap-baseline" "$work/err"
check "the table says so, too" grep -q "CAPPED" "$work/out"
uncapped() {
    OPENBLAS_CORETYPE=Prescott replay --mode check --threads 1 --uncap-baseline >"$work/out" 2>"$work/err"
}
check "replay without the cap" uncapped
check "the core is the library's own choice" sh -c '! grep -q Prescott "$1" && ! grep -q CORETYPE "$2"' sh \
    "$work/out" "$work/err"

# Candidates that are wrong in every way, in a folder whose name needs quotes.
mkdir "$work/it's bad"
cat >"$work/bad.c" <<'C'
#include <signal.h>
#include <unistd.h>
#include "replayer/candidate.h"
#define SELF const struct tilewise_candidate *me, const struct tilewise_signature *s
static int yes(SELF) { (void)me; return s->op == TILEWISE_OP_GEMM && s->dtype_c == TILEWISE_F32 && s->layout == TILEWISE_ROW_MAJOR && !s->trans_a && !s->trans_b; }
static int crash(SELF, const struct tilewise_args *a) { (void)me; (void)s; (void)a; return raise(SIGSEGV); }
static int leave(SELF, const struct tilewise_args *a) { (void)me; (void)s; (void)a; _exit(0); }
static int nothing(SELF, const struct tilewise_args *a) { (void)me; (void)s; (void)a; return 0; }
/* Right, but summed backwards: other bits than the library's. */
static int backwards(SELF, const struct tilewise_args *x) {
    (void)me;
    const float *a = x->a, *b = x->b;
    float *c = x->c;
    for (int64_t i = 0; i < s->m; i++)
        for (int64_t j = 0; j < s->n; j++) {
            double sum = 0;
            for (int64_t p = s->k - 1; p >= 0; p--) sum += (double)a[i * s->lda + p] * b[p * s->ldb + j];
            c[i * s->ldc + j] = (float)sum;
        }
    return 0;
}
/* Passes its verification, and dies when it is timed. */
static int tires(SELF, const struct tilewise_args *a) { static int calls; return ++calls > 60 ? raise(SIGSEGV) : backwards(me, s, a); }
#define ROW(id) { TILEWISE_CANDIDATE_ABI, sizeof(struct tilewise_candidate), #id, "cpu", "bad", yes, 0, 0, id }
static const struct tilewise_candidate rows[] = { ROW(crash), ROW(leave), ROW(nothing), ROW(backwards), ROW(tires) };
static const struct tilewise_candidate *const table[] = { &rows[0], &rows[1], &rows[2], &rows[3], &rows[4] };
const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count);
const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count) { (void)abi; *count = 5; return table; }
C
plugin="$work/it's bad/bad.so"
cc -shared -fPIC -I"$TILEWISE_SOURCE" "$work/bad.c" -o "$plugin" && chmod 755 "$plugin"
bad() { code replay --threads 1 --seed 7 --uncap-baseline --candidate "$plugin" "$@"; }
# repeats NAME STATUS: the line under that row is a command; it ends with 1 and prints the row again.
repeats() {
    local command
    command=$(grep -A1 -E "^ +$1 +$2 " "$work/out" | sed -n 's/^ *reproduce: //p' | head -n 1)
    echo "$command"
    [ -n "$command" ] && exits 1 sh -c "cd / && $command" >"$work/again" && cat "$work/again" &&
        [ "$(grep -cE "^ +[0-9]+  [a-z0-9]+ gemm" "$work/again")" -eq 1 ] && grep -qE "^ +$1 +$2 " "$work/again"
}
check "candidates that crash are a finding" test "$(bad --mode check)" -eq 1
check "a crash is a row" grep -Eq "crash +crashed +Segmentation fault \(signal 11\)" "$work/out"
check "leaving is a row" grep -Eq "leave +crashed .*exit status 0" "$work/out"
check "doing nothing is a row" grep -Eq "nothing +failed .*canary" "$work/out"
check "the others still passed" grep -Eq "gemm_f32_[a-z0-9]+ +passed" "$work/out"
check "every failure has a line that repeats it" sh -c '[ $(grep -cE "^ +[a-z]+ +(failed|crashed) " "$1") -eq $(grep -c "reproduce: " "$1") ]' sh "$work/out"
for row in "crash crashed" "leave crashed" "nothing failed"; do
    check "that line repeats it: $row" repeats $row
done
check "other bits are a finding of bitwise alone" test "$(bad --mode bitwise --kernel backwards)" -eq 1
check "that line repeats it: other bits" repeats backwards failed
# One shape alone: of several, the longest is timed, and which that is a busy machine decides.
"$TILEWISE" record -o "$work/g" -- /usr/bin/python3 -c 'import numpy as np
a = np.ones((40, 30), "f"); b = np.ones((30, 20), "f")
for _ in range(300): a @ b' 2>/dev/null
check "a crash in the timing is a finding" test "$(traces=("$work"/g/*.twt) && bad --kernel tires,backwards --time-share 0.1 --budget 60 -o "$work/b.twr")" -eq 1
check "it is a row" grep -Eq "tires +crashed +Segmentation fault" "$work/out"
cp "$work/b.twr" "$work/b.before"
check "that line repeats it: timing" repeats tires crashed
check "and leaves the result alone" sh -c 'cmp "$1" "$2" && ! ls /replay.twr 2>/dev/null' sh "$work/b.twr" "$work/b.before"
check "complex is measured but not offered" test "$(code replay --mode list --time-share 1; grep -c "c64 gemm.*measure" "$work/out")" = "0
1"
check "kernels lists the plug-in" sh -c '"$1" kernels --candidate "$2" | grep -qF "; from $2"' sh "$TILEWISE" "$plugin"
check "a relative plug-in is refused" test "$(code replay --candidate bad.so)" -eq 2

check "a result is written" test "$(code replay --time-share 0.1 --budget 2 --threads 1 -o "$work/r.twr")" -eq 0
check "what was not planned has not failed" sh -c '! grep -q reproduce: "$1"' sh "$work/out"
check "it is private" test "$(stat -c %a "$work/r.twr")" = 600
check "nothing partial is left" test ! -e "$work/r.twr.partial"
cp "$work/r.twr" "$work/before.twr"
check "a failing run is an error" test "$(code "$TILEWISE" replay -o "$work/r.twr" "$work/nosuch.twt")" -eq 2
check "an older result survives it" cmp "$work/r.twr" "$work/before.twr"
check "a trace is not replaced by a result" test "$(code replay --budget 1 -o "${traces[0]}")" -eq 2
check "the trace is still one" "$TILEWISE" validate "${traces[0]}"
check "a folder is not replaced by a result" test "$(code replay --budget 1 -o "$work/t"; grep -c "no regular file" "$work/err")" = "2
1"
check "nothing partial is left there" test ! -e "$work/t.partial"
if mknod "$work/null" c 1 3 2>/dev/null; then
    for command in "replay --budget 1" merge; do
        check "${command%% *}: a device is not replaced" refuses 2 "no regular file" "$TILEWISE" $command -o "$work/null" "${traces[@]}"
    done
    check "it is still there" test -c "$work/null"
else
    skip "devices as outputs" "no permission to make one"
fi
check "replacing is said" sh -c '"$@" 2>&1 >/dev/null | grep -q "replaced"' sh \
    "$TILEWISE" replay --budget 2 --threads 1 -o "$work/r.twr" "${traces[@]}"
check "data goes to stdout, no progress into a pipe" sh -c '! grep -q "left at most" "$1"' sh "$work/err"
finish
