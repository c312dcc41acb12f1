# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Plug-ins from outside: the examples are built, verified and timed like any candidate, and a plug-in
# never gets into a program that is recorded.
. "$TILEWISE_SOURCE/tests/tap.sh"

examples=$TILEWISE_BUILD/examples
numpy='import numpy as np
a = np.ones((40, 30), "f"); b = np.ones((30, 20), "f"); c = np.ones((30, 30))
for _ in range(300): a @ b
for _ in range(100): c @ c[:, :7].copy()'
says() { grep -Eq -- "$1" "$work/out"; }
code() { "$@" >"$work/out" 2>"$work/err"; echo $?; }
# mine FILE: a copy that nobody else can write, wherever the build lies.
mine() { cp "$1" "$work/" && chmod 755 "$work/${1##*/}"; }

"$TILEWISE" record -o "$work/t" -- /usr/bin/python3 -c "$numpy" 2>/dev/null
traces=("$work"/t/*.twt)

mine "$examples/candidate_c.so"
check "kernels lists the example in C" test "$(code "$TILEWISE" kernels --candidate "$work/candidate_c.so")" -eq 0
check "with what it computes" says '^example_gemm_f32 +cpu +gemm f32 +example: .*; from /'
check "it is verified" test "$(code "$TILEWISE" replay --mode check --threads 1 --time-share 1 --kernel example_gemm_f32,example_gemm_f64 \
    --candidate "$work/candidate_c.so" "${traces[@]}")" -eq 0
check "in f32" says 'example_gemm_f32 +passed'
check "and in f64" says 'example_gemm_f64 +passed'
check "and timed" test "$(code "$TILEWISE" replay --only 1 --budget 4 --threads 1 -o "$work/r.twr" --kernel example_gemm_f32,example_gemm_f64 \
    --candidate "$work/candidate_c.so" "${traces[@]}")" -eq 0
check "against the library" says 'example_gemm_f.. +passed .*vs best'

if [ -e "$examples/candidate_cuda.so" ]; then
    mine "$examples/candidate_cuda.so"
    check "kernels lists the example in CUDA" test "$(code "$TILEWISE" kernels --candidate "$work/candidate_cuda.so")" -eq 0
    check "with what it computes there" says '^example_cuda_gemm_bf16 +cuda +gemm bf16 +example: '
    check "it exports one function" sh -c '[ "$(nm -D --defined-only "$1" | grep -c " T tilewise_candidates$")" -eq 1 ]' sh "$work/candidate_cuda.so"
    # Its own CUDA runtime finds no driver where the GPU is simulated: it says so, and that is a row.
    "$TILEWISE_BUILD/bin/make_trace" "$work/g.twt" cublasSgemm_v2:f32:NN:64x48x80:1000
    if ! nvidia-smi -L >/dev/null 2>&1; then
        check "without a driver it is unsupported" test "$(FAKE_CUDA='' code "$TILEWISE" replay --device cuda --mode check \
            --cuda-libraries "$TILEWISE_BUILD/tests/gpu-fake/lib" --kernel example_cuda_gemm_f32 \
            --candidate "$work/candidate_cuda.so" "$work/g.twt")" -eq 0
        check "in its own words" says 'example_cuda_gemm_f32 +unsupported +this GPU cannot run the example: '
    fi
else
    skip "the example in CUDA" "no nvcc"
fi

# A plug-in whose loading leaves a mark.
cat >"$work/mark.c" <<C
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void mark(void) { close(open("$work/mark", O_CREAT | O_WRONLY, 0600)); }
C
cc -shared -fPIC "$work/mark.c" "$TILEWISE_SOURCE/examples/candidate_c/candidate.c" -I"$TILEWISE_SOURCE" -o "$work/mark.so"
chmod 755 "$work/mark.so"
check "a plug-in runs in kernels" sh -c '"$1" kernels --candidate "$2" >/dev/null && test -e "$3"' sh "$TILEWISE" "$work/mark.so" "$work/mark"
rm -f "$work/mark"
recorded() {
    TILEWISE_CANDIDATE=$work/mark.so "$TILEWISE" record -o "$work/again" -- /usr/bin/python3 -c "$numpy" && ls "$work"/again/*.twt
}
check "a program is recorded with one configured" recorded
check "and it is not loaded there" test ! -e "$work/mark"
shim=$TILEWISE_BUILD/lib/libtilewise-tracer.so
check "the shim does not know how" sh -c '! strings "$1" | grep -q tilewise_candidates' sh "$shim"
check "and exports nothing of it" sh -c '! nm -D "$1" | grep -qi candidate' sh "$shim"
finish
