# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Candidates from manifests on the command line, on the simulated GPU (tests/gpu-fake/fake_module.c
# says what its cubins look like).
. "$TILEWISE_SOURCE/tests/tap.sh"

fake=$TILEWISE_BUILD/tests/gpu-fake/lib
make_trace=$TILEWISE_BUILD/bin/make_trace
if [ ! -e "$fake/libcublas.so.13" ] || [ ! -x "$make_trace" ]; then
    check "the simulated GPU is built" false
    finish
fi
trace=$work/t.twt
"$make_trace" "$trace" cublasSgemm_v2:f32:NN:64x48x80:1000

mkdir "$work/k"
printf 'fake cubin sm_90\nkernel f PiiiiPiiiiPiiii matmul:f32\n' >"$work/k/matmul.cubin"
sum=$(sha256sum "$work/k/matmul.cubin" | cut -d ' ' -f 1)

# manifest FILE NAME GRID [ARCH]
manifest() {
    cat >"$1" <<YAML
format: 1
modules:
  - name: matmul
    compilers: [fakec 1.2]
    cubins:
      - { arch: ${4:-sm_90}, file: matmul.cubin, sha256: $sum }
candidates:
  - name: $2
    summary: fake tiles of 16 x 16
    op: gemm
    types: { a: f32, b: f32, c: f32, compute: [f32] }
    trans: [NN]
    launches:
      - module: matmul
        entry: f
        grid: ["$3"]
        args: [ { ptr: b }, { i32: n }, { i32: k }, { i32: ldb }, { i32: 1 },
                { ptr: a }, { i32: k }, { i32: m }, { i32: lda }, { i32: 1 },
                { ptr: c }, { i32: n }, { i32: m }, { i32: ldc }, { i32: 1 } ]
YAML
}
whole='ceil_div(n, 16) * ceil_div(m, 16)'
manifest "$work/k/matmul.yaml" fake_matmul "$whole"

says() { grep -Eq -- "$1" "$work/$2"; }
# with FAULT ARGS...: replay on the simulated GPU with that fault; its exit status.
with() {
    local fault=$1
    shift
    (cd "$work" && FAKE_CUDA=$fault "$TILEWISE" replay --device cuda --cuda-libraries "$fake" --mode check "$@" "$trace" \
        >"$work/out" 2>"$work/err")
    echo $?
}
kernels() {
    (cd "$work" && "$TILEWISE" kernels "$@" >"$work/out" 2>"$work/err")
}

check "kernels lists it" kernels --candidate k/matmul.yaml
check "with what it computes and for which GPU" says '^fake_matmul +cuda +gemm f32 NN; sm_90 +fake tiles of 16 x 16; from k/matmul.yaml \(fakec 1.2\)$' out
check "and the built-in ones" says '^gemm_f32_portable +cpu +gemm f32 .*any processor$' out
twice() { ! kernels --candidate k/matmul.yaml --candidate k; }
check "every --candidate counts" twice
check "a name is used once" says "the name 'fake_matmul' is taken by k/matmul.yaml" err
check "the GPU is named" sh -c 'FAKE_CUDA= "$1" kernels --cuda-libraries "$2" --candidate "$3" | grep -q "^cuda: Simulated GPU, sm_90$"' sh \
    "$TILEWISE" "$fake" "$work/k/matmul.yaml"
check "a GPU without a cubin is named" sh -c 'FAKE_CUDA=capability=120 "$1" kernels --cuda-libraries "$2" --candidate "$3" | grep -q "NN; sm_90, not sm_120"' sh \
    "$TILEWISE" "$fake" "$work/k/matmul.yaml"

# Two modules, and only one of them has a cubin for sm_80, which comes first.
manifest "$work/k/parts.yaml" fake_parts "$whole"
sed -i -e "/ cubins:/a\      - { arch: sm_80, file: matmul.cubin, sha256: $sum }" \
    -e "s|^candidates:|  - name: rest\n    compilers: [fakec 1.2]\n    cubins:\n      - { arch: sm_90, file: matmul.cubin, sha256: $sum }\n&|" \
    "$work/k/parts.yaml"
sed -n '/- module:/,$s/module: matmul/module: rest/; /- module:/,$p' "$work/k/parts.yaml" >"$work/second" && cat "$work/second" >>"$work/k/parts.yaml"
check "an architecture counts where all modules have it" kernels --candidate k/parts.yaml
check "and only there" says '^fake_parts +cuda +gemm f32 NN; sm_90 ' out
rm "$work/k/parts.yaml"

check "it is verified" test "$(with "" --kernel fake_matmul --candidate k/matmul.yaml)" -eq 0
check "and passes" says 'fake_matmul +passed' out
check "a folder is enough" test "$(with "" --kernel fake_matmul --candidate k)" -eq 0
check "and timed" sh -c 'cd "$1" && FAKE_CUDA= "$2" replay --device cuda --cuda-libraries "$3" --kernel fake_matmul --candidate k --budget 4 -o r.twr t.twt >out && grep -Eq "fake_matmul +.*vs best" out' sh \
    "$work" "$TILEWISE" "$fake"
manifest "$work/k/small.yaml" fake_small "$whole - 1"
check "a wrong grid is a finding" test "$(with "" --kernel fake_small --candidate k/small.yaml)" -eq 1
check "that is named" says 'fake_small +failed' out
check "and repeated with the manifest" says '--kernel fake_small .*--candidate k/small.yaml' out

check "a driver that refuses is no finding" test "$(with load=209 --kernel fake_matmul --candidate k/matmul.yaml)" -eq 0
check "its words are in the row" says 'fake_matmul +unsupported +cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU \(209\): no kernel image is available' out
manifest "$work/k/other.yaml" fake_other "$whole" sm_120
check "neither is a GPU without a cubin" test "$(with "" --kernel fake_other --candidate k/other.yaml)" -eq 0
check "the row says which there are" says "fake_other +unsupported +no cubin of 'matmul' for sm_90, only for sm_120" out
check "a launch that is refused is a finding" test "$(with launch=701 --kernel fake_matmul --candidate k/matmul.yaml)" -eq 1
check "with the driver's words" says 'fake_matmul +failed +launch 1 \(f\): cuLaunchKernelEx: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES' out

manifest "$work/k/typo.yaml" fake_typo 'ceil_dvi(n, 16)'
check "a typing error ends the command" test "$(with "" --candidate k/typo.yaml)" -eq 2
check "it names the place" says "k/typo.yaml:16:17: grid is not an expression: unknown name 'ceil_dvi'" err
printf 'x' >>"$work/k/matmul.cubin"
check "a file that changed ends the command" test "$(with "" --candidate k/matmul.yaml)" -eq 2
check "it names the file" says 'k/matmul.yaml:6:9: k/matmul.cubin is not the file that the manifest was written for \(sha256\)' err
check "a folder without manifests is an error" test "$(mkdir "$work/empty" && with "" --candidate empty)" -eq 2
check "that says so" says 'empty: no manifest \(\*.yaml\) in it' err
check "a missing manifest is an error" test "$(with "" --candidate no.yaml)" -eq 2
check "that names it" says 'no.yaml: No such file' err

# Those of the repository are what docs/candidate-abi.md says.
for file in "$TILEWISE_SOURCE"/kernels/*/*.yaml; do
    check "$(basename "$(dirname "$file")")/$(basename "$file") is read" kernels --candidate "$file"
done
finish
