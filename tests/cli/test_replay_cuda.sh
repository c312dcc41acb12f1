# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# replay on a GPU, as far as a simulated one goes (tests/gpu-fake).
. "$TILEWISE_SOURCE/tests/tap.sh"

fake=$TILEWISE_BUILD/tests/gpu-fake/lib
make_trace=$TILEWISE_BUILD/bin/make_trace
if [ ! -e "$fake/libcublas.so.13" ] || [ ! -x "$make_trace" ]; then
    check "the simulated GPU is built" false
    finish
fi
trace=$work/t.twt
"$make_trace" "$trace" cublasGemmEx:bf16:TN:512x16x256:1000 cublasSgemm_v2:f32:NN:64x64x64:300 \
    cublasGemmStridedBatchedEx:f16:NN:32x32x16x8:200 cublasLtMatmul:e4m3:TN:64x32x128:200 \
    cublasLtMatmul:i8:TN:64x32x64:100 cublasGemmEx:tf32:NT:40x30x48:100 cublasSgemmBatched:f32:NN:16x16x16x4:100

# with FAULT ARGS...: replay on the simulated GPU with that fault; output in out and err. Without the
# CUDA kernels, which need a real one.
with() {
    local fault=$1
    shift
    FAKE_CUDA=$fault "$TILEWISE" replay --device cuda --cuda-libraries "$fake" --kernel ref "$@" "$trace" \
        >"$work/out" 2>"$work/err"
    echo $?
}
says() { grep -Eq -- "$1" "$work/$2"; }

adds=$work/adds.twt
"$make_trace" "$adds" cublasAxpyEx:bf16:NN:4096x1x1:100 cublasSgeam:f32:NN:256x64x1:100
replay_adds() {
    "$TILEWISE" replay --device cuda --cuda-libraries "$fake" --kernel ref --time-share 1 --budget 3 -o "$work/a.twr" "$adds" >"$work/out"
}
check "adds are replayed" replay_adds
check "both have times" test "$(grep -Ec ' us .* us  (AxpyEx|Sgeam)' "$work/out")" -eq 2
check "the plan needs no GPU" sh -c '[ "$("$1" replay --mode list --time-share 1 --device cuda "$2" | grep -c " measure: ")" -eq 7 ]' sh "$TILEWISE" "$trace"
check "every shape is replayed" test "$(with "" --time-share 1 --budget 120 -o "$work/r.twr")" -eq 0
check "seven rows have times" test "$(grep -c ' us .* us ' "$work/out")" -eq 7
check "the quickest algorithm is the best baseline" test "$(grep -c 'lt#2' "$work/out")" -ge 5
check "the device is named" says 'device +Simulated GPU' out
check "report reads the result" sh -c '"$1" report "$2" "$3" >/dev/null' sh "$TILEWISE" "$trace" "$work/r.twr"
check "a wrong algorithm is no baseline" test "$(with wrong=2 --only 1 --budget 2 -o "$work/w.twr")" -eq 0
check "the next best one is" says 'lt#3' out
check "an algorithm that crashes is survived" test "$(with crash=2 --only 1 --budget 2 -o "$work/w.twr")" -eq 0
check "and the recorded call has its time" says ' us .* us  GemmEx' out
check "a library that fails is told" test "$(with crash=0 --budget 2 --time-share 0.1 --threads 2 -o "$work/c.twr")" -eq 0
check "with what the device said" says 'skipped +running a burst: an illegal memory access' out
again=$(sed -n 's/^ *reproduce: //p' "$work/out" | head -n 1)
check "and the line that repeats it" sh -c "FAKE_CUDA=crash=0 $again | grep -q 'skipped  running a burst: an illegal'"
# without NAME FAULT MISSING: what is missing is said by replay and by doctor, and what works is done.
without() {
    local name=$1 fault=$2 missing=$3
    check "$name: replay on the GPU is refused" test "$(with "$fault")" -eq 2
    check "$name: what is missing, and what a CPU can" says "$missing.*--device cpu" err
    check "$name: the plan is shown all the same" test "$(with "$fault" --mode list)" -eq 0
    FAKE_CUDA=$fault "$TILEWISE" replay --cuda-libraries "$fake" --kernel ref --mode check --threads 1 "$trace" \
        >"$work/out" 2>"$work/err"
    check "$name: left to itself, replay takes the CPU" test $? -eq 0
    check "$name: and says why" says "no GPU is used: .*$missing.*replaying on the CPU what it can" err
    check "$name: what a CPU can is done" says "f32 gemm 64x64x64" out
    check "$name: its kernels pass" says "ref +passed" out
    check "$name: the rest is listed with its reason" says "shapes? +[0-9.]+ %  .*(bf16|f16|e4m3|i8)" out
    FAKE_CUDA=$fault "$TILEWISE" doctor --cuda-libraries "$fake" >"$work/out"
    check "$name: doctor is not content" test $? -eq 1
    check "$name: doctor says the same" says "^no +(gpu|driver|cuda|baseline) +.*$missing" out
    check "$name: tile.h goes back to the library" says "^yes +rollback" out
}
without "no GPU" devices=0 "finds no GPU"
without "a driver that does not start" start=999 "finds no GPU .error 999"
without "a driver that ends the process" dies=1 "failed: Aborted"
without "an old driver" driver=11080 "driver is for CUDA 11.8, the libraries are of CUDA 13.0"
without "a GPU below sm_80" capability=75 "capability 7.5, 8.0 or newer"
# Without the libraries: in a mount namespace where they are covered.
fake=$work/only-driver
mkdir -p "$fake" && cp "$TILEWISE_BUILD"/tests/gpu-fake/lib/{libcuda.so.1,libfake_device.so} "$fake/"
if unshare -m true 2>/dev/null; then
    cover=$(ldconfig -p | sed -n 's/.*lib\(cudart\|cublas\|cublasLt\)\.so\.1[23] .*=> //p'; ls /usr/local/cuda/lib64/lib{cudart,cublas,cublasLt}.so.1[23] 2>/dev/null)
    bare=$work/bare
    printf '#!/bin/sh\nfor file in %s; do mount --bind /dev/null "$file" || exit 99; done\nexec "%s" "$@"\n' "$(echo $cover)" "$TILEWISE" >"$bare"
    printf '#!/bin/sh\nexec unshare -m "%s" "$@"\n' "$bare" >"$work/tilewise"
    chmod +x "$bare" "$work/tilewise"
    TILEWISE=$work/tilewise without "no CUDA libraries" "" "libcudart.so.13 or .12 does not load"
else
    skip "no CUDA libraries" "no permission to cover them"
fi
fake=$TILEWISE_BUILD/tests/gpu-fake/old
without "cuBLASLt without functions" "" "libcublasLt.so has no cublasLtCreate"
fake=$TILEWISE_BUILD/tests/gpu-fake/lib
check "a full GPU is an error" test "$(with memory=1000)" -eq 2
check "little memory is a plan with less" test "$(with memory=69500000 --mode list --time-share 1)" -eq 0
check "it names the budget" says 'needs .* MiB, the memory budget is' out
auto() { FAKE_CUDA=$1 "$TILEWISE" replay --cuda-libraries "$fake" --mode list "$trace" >"$work/out" 2>"$work/err"; }
check "auto takes the GPU for cuBLAS calls" auto ""
check "all are planned there" sh -c '! grep -q "CPU baseline" "$1"' sh "$work/out"
finish
