# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The tables against the vendor's own libraries, where they are installed: every matrix routine that
# a library exports has a row or a reason here, and every row names a function that exists.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

export LC_ALL=C
matrix='(gemm|gemv|syrk|syr2k|syrkx|herk|her2k|herkx|symm|hemm|trmm|trsm|Matmul)'
moved='^nccl(All|Bcast|Broadcast|Gather|Recv|Reduce|Scatter|Send)'

# What is known and has no row.
left_alone() {
    grep -vE '^cublas[SDCZ](gemm|gemv|syrk|syr2k|herk|her2k|symm|hemm|trmm|trsm)$' | # scalars by value
        grep -vE '^cublasXt'                                | # host memory, several cards
        grep -vE '^cublasCsyrk(3m)?Ex|^cublasCherk(3m)?Ex'  | # complex of 8 bits: no program found
        grep -vE '^cublasUint8gemmBias'                     | # before cublasLt had int8
        grep -vE '^cublasLt[A-Z]{3}Matmul'                  | # for cuBLAS itself: in no header
        grep -vE '^cublasLtMatmul.*(Create|Destroy|Init|Get|Set|Check)' # no work
}
uncovered() { # LIBRARY PATTERN TABLE...
    local library=$1 pattern=$2
    shift 2
    comm -23 <(functions "$library" | grep -E "$pattern" | left_alone | LC_ALL=C sort) <(rows "$@")
}
invented() { # LIBRARY TABLE...: rows that the library does not export
    local library=$1
    shift
    comm -13 <(functions "$library" | LC_ALL=C sort) <(rows "$@")
}
functions() { nm -D --defined-only "$1" | sed -n 's/.* [TW] \([a-zA-Z0-9_]*\).*/\1/p'; }
none() { local found; found=$("$@") && equal "$found" ""; }

against() { # NAME LIBRARY PATTERN TABLE...
    local name=$1 library=$2 pattern=$3
    shift 3
    if ! test -f "$library"; then
        skip "$name: every routine has a row or a reason" "the library is not installed"
        return
    fi
    check "$name: the pattern finds what it is meant for" \
        test "$(functions "$library" | grep -cE "$pattern")" -ge "$(rows "$@" | wc -l)"
    check "$name: every routine has a row or a reason" none uncovered "$library" "$pattern" "$@"
    check "$name: every row is a function of the library" none invented "$library" "$@"
}
against cuBLAS "$TILEWISE_CUBLAS" "^cublas.*$matrix" cublas.def
against cuBLASLt "$TILEWISE_CUBLASLT" "^cublasLt.*Matmul" cublaslt.def
against NCCL "$TILEWISE_NCCL" "$moved" nccl.def
finish
