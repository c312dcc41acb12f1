# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# doctor: both formats say the same, every row of the checklist can say yes and no, and a missing thing
# changes the exit status.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

python=/usr/bin/python3
uncapped=(-u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE)
fake=$TILEWISE_BUILD/tests/gpu-fake
rows=$work/rows
# doctor OPTION... [NAME=VALUE...]: its rows to $rows, "name|state|value|remedy"; returns its exit status.
doctor() {
    local options=() environment=() word status=0
    for word in "$@"; do
        case $word in -*) options+=("$word") ;; *) environment+=("$word") ;; esac
    done
    env "${uncapped[@]}" "${environment[@]}" "$TILEWISE" doctor --format=json "${options[@]}" "$work" >"$work/doctor.json" || status=$?
    $python -c '
import json, sys
r = json.load(sys.stdin)
for c in r["checklist"] + r["checks"]:
    print(c["name"], c["state"], c["value"], c["remedy"] or "", sep="|")' <"$work/doctor.json" >"$rows"
    return $status
}
# says NAME STATE [PATTERN]: the row of that name has that state, and value and remedy match.
says() { cat "$rows"; grep -E "^$1\|$2\|" "$rows" | grep -Eq -- "${3:-.}"; }
same_checks() {
    local name
    "$TILEWISE" doctor --device=cpu "$work" | awk -F'  +' 'NF >= 3 && $1 != "" { print $2 }' >"$work/text"
    cut -d'|' -f1 "$rows" | diff - "$work/text"
}

# A Python that never answers is waited for while the rest is tested.
printf '#!/bin/sh\nsleep 600\n' >"$work/hangs"
chmod +x "$work/hangs"
"$TILEWISE" doctor --device=cpu --python="$work/hangs" "$work" >"$work/hung" &
hung=$!

# A machine with a CPU alone, as far as this one is one.
check "a CPU is enough for work on a CPU" doctor --device=cpu
check "text and JSON list the same rows" same_checks
check "the shim of this build loads" says shim ok "lib.*\.so loads"
check "the baseline is named, with its core" says baseline yes "OpenBLAS [0-9.]+ .*core [A-Za-z].*threads? \(cpu\)"
check "wrong kernels are refused" says correctness yes "5 of 5 wrong kernels refused.*passed \(cpu\)"
check "more work takes longer" says synchronised yes "1248 times the work takes [0-9.]+ times as long"
check "the way back is taken" says rollback yes "BASELINE=1: the library computes; without it .*; both are right"
check "no limit, no note" env "${uncapped[@]}" -u OPENBLAS_NUM_THREADS -u OMP_NUM_THREADS -u MKL_CBWR \
    -u MKL_ENABLE_INSTRUCTIONS bash -c '"$1" doctor --device=cpu | grep -q "^ok  *blas limits"' sh "$TILEWISE"

# What can be missing there.
check "a forced instruction set fails" exits 1 doctor --device=cpu OPENBLAS_CORETYPE=Prescott
check "the baseline says so" says baseline no "core Prescott.*OPENBLAS_CORETYPE=Prescott is set.*--uncap-baseline"
check "and so do the limits" says "blas limits" note CORETYPE

mkdir "$work/empty" "$work/idle"
echo 'int nothing;' | cc -shared -fPIC -x c - -o "$work/empty/libopenblas.so.0"
cp "$work/empty/libopenblas.so.0" "$work/empty/libblas.so.3"
check "a BLAS without functions fails" exits 1 doctor --device=cpu LD_LIBRARY_PATH="$work/empty"
check "the baseline names what it lacks" says baseline no "the BLAS found has no cblas_.*install OpenBLAS"
check "nothing is compared then" says correctness no "not tried.*see baseline"
check "nothing is timed then" says synchronised no "not tried.*see baseline"
cat >"$work/idle.c" <<'C'
#include "replayer/cpu_blas.h"
#define X(name, result, parameters) void cblas_##name(void); void cblas_##name(void) {}
CPU_BLAS_LIST(X)
C
cc -shared -fPIC -I"$TILEWISE_SOURCE" "$work/idle.c" -o "$work/idle/libopenblas.so.0"
check "a library that computes nothing fails" exits 1 doctor --device=cpu LD_LIBRARY_PATH="$work/idle"
check "its product is refused" says correctness no "own product is refused"
check "a way back to it fails" exits 1 doctor --device=cpu TILEWISE_BLAS="$work/idle/libopenblas.so.0"
check "a wrong result there is told" says rollback no "a result is wrong.*TILEWISE_BLAS"
check "no library to go back to fails" exits 1 doctor --device=cpu TILEWISE_BLAS=/nonexistent.so
check "the portable kernel is no way back" says rollback no "the portable kernel computes.*libopenblas0"

check "an absent shim fails" exits 1 doctor --device=cpu TILEWISE_SHIM=/nonexistent.so
check "it is missing" says shim missing
echo "not a library" >"$work/bad.so"
check "a file that is no library fails" exits 1 doctor --device=cpu TILEWISE_SHIM="$work/bad.so"
check "the loader's complaint is passed on" says shim missing "bad.so. from LD_PRELOAD cannot be preloaded"
mkdir "$work/alone" && cp "$TILEWISE" "$work/alone/"
check "a program without a shim beside it says how to name one" grep -q "set TILEWISE_SHIM" \
    <("$work/alone/tilewise" doctor --device=cpu "$work")
check "gnuplot outside PATH is optional" doctor --device=cpu PATH=/nonexistent
check "it is missing, and python, too" says gnuplot missing
check "a preload that is set is noted" doctor --device=cpu LD_PRELOAD=libm.so.6
check "with what record does about it" says preload note "record keeps it"
mkdir -m 0500 "$work/closed"
check "an output directory that is not writable is missing" equal \
    "$(as_nobody "$TILEWISE" doctor --device=cpu "$work/closed" | awk '$2 == "output" { print $1 }')" missing
check "no probe file stays behind" equal "$(ls -A "$work/closed")" ""
check "no such directory is missing" exits 1 "$TILEWISE" doctor --device=cpu "$work/nowhere"

wait $hung
check "a Python that hangs is given up" grep -Eq "^optional +cutile .*hangs did not answer within 20 s" "$work/hung"

# A simulated GPU, and a Python that has what cuTile needs.
if [ ! -e "$fake/lib/libcublas.so.13" ]; then
    check "the simulated GPU is built" false
    finish
fi
tile_python() { # tile_python FILE PACKAGE COMPILER PATH
    printf '#!/bin/sh\necho "%s %s %s"\n' "$2" "$3" "$4" >"$work/$1"
    chmod +x "$work/$1"
}
tile_python good 1.4.0 13.3.1 -
tile_python old 1.3.0 13.2.0 -
tile_python half - 13.3.1 -
tile_python bare 1.4.0 - -
tile_python linked 1.4.0 - /opt/bin/tileiras
gpu() { # gpu FAULT [OPTION...]: doctor on the simulated GPU with that fault
    local fault=$1
    shift
    doctor --cuda-libraries="$fake/lib" --python="$work/good" FAKE_CUDA="$fault" "$@"
}
check "a GPU with everything is ready" gpu ""
check "the GPU is named" says gpu yes "Simulated GPU, compute capability 9.0, 0.2 GiB"
check "the driver has a version" says driver yes "for CUDA 13.0"
check "so have the libraries" says cuda yes "runtime 13.0, cuBLAS 13.1.2"
check "so has the toolchain" says cutile yes "cuda-tile 1.4.0, tileiras 13.3.1"
check "the baseline is the GPU's" says baseline yes "cuBLAS 13.1.2, core sm_90.*\(cuda\)"
check "wrong kernels are refused there" says correctness yes "5 of 5.*\(cuda\)"
check "a kernel that returns at once is not fast for that" says synchronised yes "1248 times the work takes [0-9.]+ times as long.*\(cuda\)"

check "a library that is wrong there fails" exits 1 gpu wrong=0
check "correctness says so" says correctness no "own product is refused.*\(cuda\)"
check "a timer that waits for nothing fails" exits 1 gpu late=1
check "the time shows it" says synchronised no "1248 times the work takes 1.0 times as long.*\(cuda\)"
check "a driver of an older version fails" exits 1 gpu driver=12040
check "the driver says so" says driver no "for CUDA 12.4, the libraries are of CUDA 13.0\|update the driver"
check "tile kernels do not run there" says cutile no "driver is for CUDA 12.4 and runs no tile kernels"
check "the rest is done on the CPU" says correctness yes "\(cpu\)"
check "a GPU that does not fit the memory of cuBLAS fails" exits 1 gpu memory=1000
check "the baseline says so" says baseline no "no memory is left on the GPU"

for which in old half bare none; do
    check "cuTile: a Python that is $which fails" exits 1 gpu "" --python="$work/$which"
    check "cuTile: what to install" says cutile no "compile.sh cutile makes a Python"
done
check "a compiler beside Python is one, too" gpu "" --python="$work/linked"
check "it is named by its path" says cutile yes "tileiras /opt/bin/tileiras"
check "without a GPU to decide on nobody asks for it" doctor --device=cpu --python="$work/none"
check "a wrong device" refuses 64 "device.*'tpu'" "$TILEWISE" doctor --device=tpu
finish
