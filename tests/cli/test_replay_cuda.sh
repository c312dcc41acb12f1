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

check "the plan needs no GPU" sh -c '[ "$("$1" replay --mode list --time-share 1 --device cuda "$2" | grep -c " measure: ")" -eq 7 ]' sh "$TILEWISE" "$trace"
check "every shape is replayed" test "$(with "" --time-share 1 --budget 30 -o "$work/r.twr")" -eq 0
check "seven rows have times" test "$(grep -c ' us .* us ' "$work/out")" -eq 7
check "the quickest algorithm is the best baseline" test "$(grep -c 'lt#2' "$work/out")" -ge 5
check "the device is named" says 'device +Simulated GPU' out
check "report reads the result" sh -c '"$1" report "$2" "$3" >/dev/null' sh "$TILEWISE" "$trace" "$work/r.twr"
check "a wrong algorithm is no baseline" test "$(with wrong=2 --only 1 --budget 2 -o "$work/w.twr")" -eq 0
check "the next best one is" says 'lt#3' out
check "an algorithm that crashes is survived" test "$(with crash=2 --only 1 --budget 2 -o "$work/w.twr")" -eq 0
check "and the recorded call has its time" says ' us .* us  GemmEx' out
check "no GPU is an error" test "$(with devices=0)" -eq 2
check "it names the remedy" says 'finds no GPU.*--device cpu' err
check "an old driver is an error" test "$(with driver=11080)" -eq 2
check "it names both versions" says 'CUDA 11.8.*CUDA 13.0' err
check "an old GPU is an error" test "$(with capability=75)" -eq 2
check "it names what is needed" says 'capability 7.5, 8.0 or newer' err
check "a full GPU is an error" test "$(with memory=1000)" -eq 2
check "little memory is a plan with less" test "$(with memory=69500000 --mode list --time-share 1)" -eq 0
check "it names the budget" says 'needs .* MiB, the memory budget is' out
auto() { FAKE_CUDA=$1 "$TILEWISE" replay --cuda-libraries "$fake" --mode list "$trace" >"$work/out" 2>"$work/err"; }
check "auto takes the GPU for cuBLAS calls" auto ""
check "all are planned there" sh -c '! grep -q "CPU baseline" "$1"' sh "$work/out"
check "auto falls back" auto devices=0
check "and says why" says 'on the CPU what it can: .*finds no GPU' err
check "other folders are searched, too" sh -c '"$1" replay --device cuda --cuda-libraries "$2" "$3" 2>&1 | grep -Eq "libcublasLt.so has no cublasLtCreate"' sh \
    "$TILEWISE" "$TILEWISE_BUILD/tests/gpu-fake/old" "$trace"
finish
