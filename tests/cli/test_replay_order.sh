# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# replay --order=recorded and what reports say about fidelity: on the CPU, and on the simulated GPU.
. "$TILEWISE_SOURCE/tests/tap.sh"

fake=$TILEWISE_BUILD/tests/gpu-fake/lib
make_trace=$TILEWISE_BUILD/bin/make_trace
if [ ! -e "$fake/libcupti.so.13" ] || [ ! -x "$make_trace" ]; then
    check "the simulated GPU is built" false
    finish
fi
says() { grep -Eq -- "$1" "$work/$2"; }
# json TRACE RESULT: the report in one line; has PATTERN: it says so.
json() { "$TILEWISE" report --format=json "$1" "$2" | tr -d '\n' | tr -s ' ' >"$work/json"; }
has() { grep -Eq -- "$1" "$work/json"; }

# On the CPU: the calls of a thread.
cpu=$work/cpu.twt
"$make_trace" --events "$cpu" cblas_sgemm:f32:NN:64x64x64:1 cblas_sgemm:f32:NN:16x256x256:1
"$TILEWISE" replay --device cpu --threads 1 --kernel null --time-share 1 --budget 4 --order=recorded \
    -o "$work/cpu.twr" "$cpu" >"$work/out" 2>"$work/err"
check "a stretch of calls is replayed" says 'in order +2 calls and 0 fillers of thread 0 of process 1, recorded 20 times, call by call' out
check "a pass has its time" says 'a pass takes [0-9.]+ us' out
json "$cpu" "$work/cpu.twr"
check "the report has its fidelity in order" has '"in_order": \[ \{ "source": "thread 0 of process 1", "status": "passed"'
check "kernel time is not measured on a CPU" has '"replayed_ns": null, "total": [0-9.]+, "median_abs_error": null'
check "the isolated regime stands beside it" has '"fidelity": \{ "total": [0-9.]+, "median_abs_error": [0-9.]+, "same_kernel_share": null'

# On the GPU: the kernels of a stream, by CUPTI on both sides.
gpu=$work/gpu.twt
"$make_trace" --windows "$gpu" cublasGemmEx:bf16:TN:512x16x256:1 cublasSgemm_v2:f32:NN:64x64x64:1
on_gpu() {
    FAKE_CUDA=$1 "$TILEWISE" replay --device cuda --cuda-libraries "$fake" --kernel null --time-share 1 --budget 6 \
        --order=recorded -o "$work/gpu.twr" "$gpu" >"$work/out" 2>"$work/err"
}
check "a stretch of a graph is replayed" on_gpu ""
check "fillers stand in for the rest" says 'in order +2 calls and 2 fillers of stream 1 of process 1, recorded 20 times, as a graph' out
check "which are counted by their traffic" says 'fillers: [0-9]+ (near|far) (copy|read) of [0-9.]+ MB' out
check "its kernels have times" says 'kernels of the calls: [0-9.]+ us, recorded [0-9.]+ us' out
json "$gpu" "$work/gpu.twr"
check "fidelity has kernels on both sides" has '"by_events": false, "same_kernels": true'
check "and the same ones" has '"same_kernel_share": 1[,. ]'
check "in order, too" has '"shapes": \[ \{ "op": "gemm".*"replayed_ns": [0-9.]+, "error": '
check "text names both regimes" sh -c '"$1" report "$2" "$3" | grep -A1 "^fidelity: .*the same kernels in" | grep -q "^in order: replayed"' sh \
    "$TILEWISE" "$gpu" "$work/gpu.twr"

# Launched call by call, which really does all of the work here: small shapes.
"$make_trace" --eager "$gpu" cublasGemmEx:bf16:TN:16x8x8:1 cublasSgemm_v2:f32:NN:8x8x8:1
check "a stretch of single launches is replayed" on_gpu ""
check "call by call" says 'in order +2 calls and 2 fillers of stream 1 of process 1, recorded 20 times, call by call' out
check "and its kernels have times" says 'kernels of the calls: [0-9.]+ us, recorded [0-9.]+ us' out

check "a trace without an order says so" sh -c '"$1" "$3" cublasGemmEx:bf16:TN:512x16x256:10 && FAKE_CUDA= "$2" replay --device cuda --cuda-libraries "$4" \
    --kernel null --budget 1 --order=recorded -o "$5" "$3" 2>&1 | grep -q "no order was recorded"' sh \
    "$make_trace" "$TILEWISE" "$work/none.twt" "$fake" "$work/none.twr"
finish
