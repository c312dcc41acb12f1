# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Every row of the vendor tables: hooked, and recorded with the signature that the host meant.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

exports() { nm -D --defined-only "$1" | sed -n 's/.* T \(\(cu\|nccl\)[a-zA-Z0-9_]*\)$/\1/p' | LC_ALL=C sort; }
all_exported() { diff <(rows cublas.def cublas_state.def cublaslt.def cudnn.def cudnn_plan.def cudnn_state.def cupti_user.def driver.def graph.def nccl.def) <(exports "$SHIM"); }
no_first_interface() { ! exports "$SHIM" | grep -E '^cublas[SDCZ]gem[mv]$'; }
each_row_said() { diff <(rows cublas.def) <(cut -d' ' -f1 "$work/cublas.said" | LC_ALL=C sort -u); }

check "the shim exports the rows of the tables and no other vendor name" all_exported
check "the functions of the first cuBLAS interface are left alone" no_first_interface

check "cuBLAS: every row is forwarded, refused and accepted" recorded cublas "$VENDOR_BIN/host_rows"
check "cuBLAS: every row has a case" each_row_said
check "cuBLAS: every row is recorded with its signature" same_rows cublas
check "cuBLAS: refused calls are counted apart" \
    equal "$(counter failed cublas)" "$(rows cublas.def | wc -l)"
check "cuBLAS: seen is recorded, nothing dropped" \
    equal "$(counter seen cublas) $(counter dropped cublas)" "$(counter recorded cublas) 0"
check "NCCL: every row is forwarded, refused and accepted" recorded nccl "$VENDOR_BIN/host_nccl"
each_nccl_row_said() { diff <(rows nccl.def) <(cut -d' ' -f1 "$work/nccl.said" | LC_ALL=C sort -u); }
check "NCCL: every row has a case" each_nccl_row_said
check "NCCL: every row is recorded with its size, type and ranks" same_rows nccl
check "NCCL: refused calls are counted apart" \
    equal "$(counter failed nccl) $(counter dropped nccl)" "$(rows nccl.def | wc -l) 0"
groups() { recorded group "$VENDOR_BIN/host_nccl" group && same_rows group; }
check "NCCL: calls inside of groups count once, a split communicator has its own ranks" groups
check "cuDNN: every row is forwarded, refused and accepted" recorded cudnn "$VENDOR_BIN/host_cudnn"
each_cudnn_row_said() { diff <(rows cudnn.def) <(cut -d' ' -f1 "$work/cudnn.said" | LC_ALL=C sort -u); }
check "cuDNN: every row has a case" each_cudnn_row_said
check "cuDNN: convolutions as implicit gemms, attention with its shape" same_rows cudnn
check "cuDNN: refused calls are counted apart" \
    equal "$(counter failed cudnn) $(counter dropped cudnn)" "$(rows cudnn.def | wc -l) 0"
check "without the shim the program runs as well" "$VENDOR_BIN/host_rows"
finish
