# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The commands of docs/spike-in-an-afternoon.md run: every block marked `sh run`, one after the other, in
# one directory and one shell, with shorter times and this build.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

guide=$TILEWISE_SOURCE/docs/spike-in-an-afternoon.md
mkdir "$work/blocks" "$work/bin"
ln -s /usr/bin/python3 "$work/bin/python3" # the one that has numpy
export PATH=$work/bin:$PATH HOME=$work
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
awk -v folder="$work/blocks" '/^```sh run$/ { file = sprintf("%s/%04d", folder, NR + 1); next } /^```/ { close(file); file = "" }
    file != "" { print > file }' "$guide"
# shorten FILE: the clone and the build are these; loads and budgets are of seconds.
shorten() {
    sed -e "s|^repo=[^ ]*|repo=$TILEWISE_SOURCE|" -e "s|\$repo/build/release|$TILEWISE_BUILD|g" -e 's/--seconds 60/--seconds 3/' \
        -e 's/--budget [0-9]*[ms]/--budget 5s/' "$1"
}
check "the guide has blocks to run" test "$(find "$work/blocks" -type f | wc -l)" -ge 14
check "no number of it is longer than a test may take" sh -c '! cat "$@" | grep -qE -e "--(seconds|budget) ([0-9]{2,}|[0-9]+m)"' sh \
    <(for block in "$work"/blocks/*; do shorten "$block"; done)

cd "$work" || exit 1
for block in "$work"/blocks/*; do
    shorten "$block" >"$work/block"
    failed=0
    trap 'failed=$?' ERR
    # shellcheck disable=SC1091
    . "$work/block" >"$work/printed" 2>&1 # not in a condition: the trap sees every command
    trap - ERR
    echo "line ${block##*/}: status $failed" >>"$work/printed"
    says() { cat "$work/printed" && [ "$failed" -eq 0 ]; }
    check "line $((10#${block##*/})): $(grep -v '^ *#' "$block" | head -n 1 | cut -c1-60)" says
    cat "$work/printed" >>"$work/all"
done

# What the text says about them holds for any run.
said() { grep -Eq -- "$1" "$work/all" || { tail -n 5 "$work/all"; false; }; }
check "doctor is content" said "^ready: record, replay and report"
check "everything was recorded" said "1 file in before, ([0-9]+) of \1 calls recorded"
check "the wrong kernel is refused, and repeated" said "example_gemm_f32 +failed +integer data: 512 results"
check "the right one passed" said "example_gemm_f32 +passed"
check "cubins are listed" said "^cutile_bf16_tn_64x16_split +cuda"
check "there is a way back" said "^0 by a tile kernel, 100 by the library $"
check "a table that is not there is one, too" said "100 by the library nosuch.yaml: No such file"
check "the gate lets the same through" said "^may go on$"
check "and not the other" said "^gate: FAILED"
check "the sample is planned for a GPU" said "bf16 gemm 5632x16x2048 TN col +71248 +27.64 %  measure"
finish
