# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Kernels that are compiled ahead of time: manifests, cubins and sources belong together, and the
# compilers give the same bytes again.
. "$TILEWISE_SOURCE/tests/tap.sh"

compile() { "$work/kernels/compile.sh" "$@"; }
# says TEXT COMMAND...: it fails, and says that.
says() {
    local text=$1
    shift
    ! "$@" >"$work/said" 2>&1 && grep -q -- "$text" "$work/said"
}

fresh() {
    rm -rf "$work/kernels"
    cp -r "$TILEWISE_SOURCE/kernels" "$work/kernels"
}

fresh
for name in cutile triton; do
    check "$name: the committed files are what the compiler would write" compile $name --check
done

printf '\n' >>"$work/kernels/cutile/add.py"
check "a source that changed is noticed" says "cutile/add.yaml: not what" compile cutile --check
fresh
printf 'x' >>"$work/kernels/triton/sm_90a/triton_bf16_nn_128x128.cubin"
check "a cubin that changed is noticed" says "triton/matmul.yaml: not what" compile triton --check
rm "$work/kernels/triton/sm_90a/triton_bf16_nn_128x128.cubin"
check "a cubin that is missing is noticed" says "triton_bf16_nn_128x128.cubin: missing" \
    compile triton --check
fresh
touch "$work/kernels/cutile/sm_90/stray.cubin"
check "a cubin that nobody offers is noticed" says "stray.cubin: no row" compile cutile --check
check "no name is bad usage" says "compile.sh cutile|triton" compile

# One small kernel, twice, with the real compiler.
fresh
kernel=cutile_add_vector_f32 committed=$TILEWISE_SOURCE/kernels/cutile/sm_90/cutile_add_vector_f32.cubin
export TILEWISE_VENV=$TILEWISE_BUILD/venv-cutile
compile cutile --only $kernel --out "$work/first" >"$work/log" 2>&1
case $? in
0)
    check "compiled, it is the committed cubin" cmp "$work/first/sm_90/$kernel.cubin" "$committed"
    check "compiles again" compile cutile --only $kernel --out "$work/second"
    check "the same bytes again" cmp "$work/first/sm_90/$kernel.cubin" "$work/second/sm_90/$kernel.cubin"
    check "for another architecture" compile cutile --only $kernel --out "$work/other" --arch sm_80
    check "an unknown architecture is refused" says "sm_80, sm_90" \
        compile cutile --only $kernel --out "$work/other" --arch sm_70
    ;;
3) skip "a kernel is compiled" "the cuTile compiler cannot be installed: $(tail -n 2 "$work/log" | tr '\n' ' ')" ;;
*) check "a kernel is compiled: $(tail -n 1 "$work/log")" false ;;
esac
finish
