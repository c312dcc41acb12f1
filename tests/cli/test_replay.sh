# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# replay as a user meets it: the plan, the cap, plug-ins that misbehave, results that survive.
. "$TILEWISE_SOURCE/tests/tap.sh"

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

cat >"$work/bad.c" <<'C'
#include <signal.h>
#include <unistd.h>
#include "replayer/candidate.h"
#define SELF const struct tilewise_candidate *self, const struct tilewise_signature *s
static int yes(SELF) { (void)self; return s->op == TILEWISE_OP_GEMM; }
static int crash(SELF, const struct tilewise_args *a) { (void)self; (void)s; (void)a; return raise(SIGSEGV); }
static int leave(SELF, const struct tilewise_args *a) { (void)self; (void)s; (void)a; _exit(0); }
#define ROW(id) { TILEWISE_CANDIDATE_ABI, sizeof(struct tilewise_candidate), #id, "cpu", "bad", yes, 0, 0, id, 0, 0, 0 }
static const struct tilewise_candidate rows[] = { ROW(crash), ROW(leave) };
static const struct tilewise_candidate *const table[] = { &rows[0], &rows[1] };
const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count);
const struct tilewise_candidate *const *tilewise_candidates(uint32_t abi, size_t *count) { (void)abi; *count = 2; return table; }
C
cc -shared -fPIC -I"$TILEWISE_SOURCE" "$work/bad.c" -o "$work/bad.so" && chmod 755 "$work/bad.so"
bad() { code replay --mode check --threads 1 --time-share 1 --candidate "$work/bad.so"; }
check "candidates that crash are a finding" test "$(bad)" -eq 1
check "a crash is a row" grep -Eq "crash +crashed +Segmentation fault \(signal 11\)" "$work/out"
check "leaving is a row" grep -Eq "leave +crashed .*exit status 0" "$work/out"
check "the others still passed" grep -Eq "gemm_f32_[a-z0-9]+ +passed" "$work/out"
check "the line that repeats it names the plug-in" grep -q "reproduce: .*--kernel crash --threads 1 --candidate $work/bad.so" "$work/out"
check "complex is measured but not offered" grep -Eq "c64 gemm" "$work/out"
check "kernels lists the plug-in" sh -c '"$1" kernels --candidate "$2" | grep -q "crash.*from $2"' sh "$TILEWISE" "$work/bad.so"
check "a relative plug-in is refused" test "$(code replay --candidate bad.so)" -eq 2

check "a result is written" test "$(code replay --budget 2 --threads 1 -o "$work/r.twr")" -eq 0
check "it is private" test "$(stat -c %a "$work/r.twr")" = 600
check "nothing partial is left" test ! -e "$work/r.twr.partial"
cp "$work/r.twr" "$work/before.twr"
check "a failing run is an error" test "$(code "$TILEWISE" replay -o "$work/r.twr" "$work/nosuch.twt")" -eq 2
check "an older result survives it" cmp "$work/r.twr" "$work/before.twr"
check "replacing is said" sh -c '"$@" 2>&1 >/dev/null | grep -q "replaced"' sh \
    "$TILEWISE" replay --budget 2 --threads 1 -o "$work/r.twr" "${traces[@]}"
check "data goes to stdout, no progress into a pipe" sh -c '! grep -q "left at most" "$1"' sh "$work/err"
finish
