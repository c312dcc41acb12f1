#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Build tilewise, record a small inference server under load, replay its shapes, and report.
#   ./quickstart.sh [--seconds N]   N: length of the recording, 30 if not given
set -u
cd "$(dirname "$0")"

seconds=30 budget=75
case ${1-} in
"") ;;
--seconds) seconds=${2:?--seconds needs a number} ;;
*)
    echo "quickstart: no option '$1'; there is --seconds N" >&2
    exit 64
    ;;
esac

out=out/quickstart
tilewise=build/release/bin/tilewise
python=/usr/bin/python3 # the one whose numpy calls the system's BLAS
server=

# OpenBLAS is measured as it comes: an instruction set forced by the environment would flatter us.
free=(env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE)
say() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }

# fail TEXT [LOG]
fail() {
    [ -z "${2-}" ] || tail -n 25 "$2" >&2
    echo "quickstart: $1${2:+ (all of it: $2)}" >&2
    exit 1
}

stop_server() {
    [ -n "$server" ] || return 0
    kill -TERM "$server" 2>/dev/null
    wait "$server"
    local status=$?
    server=
    return $status
}
trap stop_server EXIT
trap 'exit 130' INT TERM

say "packages"
.ci/install build report || fail "packages are missing (see the line above)"

say "build"
rm -rf "$out"
mkdir -p "$out" || fail "cannot write to $out"
# CUDA kernels take minutes to compile and need a GPU.
cuda=OFF
nvidia-smi -L >/dev/null 2>&1 && cuda=ON
{ cmake --preset release -DBUILD_TESTING=OFF -DTILEWISE_CUDA=$cuda && cmake --build --preset release -j "$(nproc)"; } \
    >"$out/build.log" 2>&1 || fail "the build failed" "$out/build.log"
"${free[@]}" $tilewise doctor --device=cpu "$out" || fail "this machine lacks something (see the 'no' or 'missing' above)"

say "record a server under load for $seconds s"
"${free[@]}" $tilewise record -o "$out/traces" -- \
    $python tests/workloads/embed_server.py --port-file "$out/port" >"$out/server.log" 2>&1 &
server=$!
for _ in $(seq 300); do
    [ -s "$out/port" ] && break
    kill -0 $server 2>/dev/null || fail "the server did not start" "$out/server.log"
    sleep 0.1
done
[ -s "$out/port" ] || fail "the server was not ready after 30 s" "$out/server.log"
$python tests/workloads/load.py --port "$(cat "$out/port")" --seconds "$seconds" ||
    fail "requests failed" "$out/server.log"
stop_server || fail "the server ended badly" "$out/server.log"
ls "$out"/traces/*.twt >/dev/null 2>&1 || fail "no trace was written" "$out/server.log"

say "what was recorded"
$tilewise info "$out"/traces/*.twt || fail "the trace cannot be read"

say "replay its shapes: library and tile kernels, at most about $budget s"
"${free[@]}" $tilewise replay --budget $budget --uncap-baseline -o "$out/result.twr" "$out"/traces/*.twt \
    >"$out/replay.txt" || fail "the replay failed" "$out/replay.txt"
head -n 20 "$out/replay.txt"

say "report"
for format in html json; do
    $tilewise report --format=$format -o "$out/report.$format" "$out"/traces/*.twt "$out/result.twr" ||
        fail "no $format report"
done
$tilewise histogram -o "$out/histogram.svg" "$out"/traces/*.twt || fail "no histogram"
$tilewise report --format=text "$out"/traces/*.twt "$out/result.twr" || fail "no text report"

say "done"
cat <<END
Read next:
  $out/report.html      the report above with charts: open it in a browser, it needs no network
  $out/histogram.svg    how stable the shapes were
  $out/replay.txt       every shape: status, ratios with their intervals
  docs/decision.md      how a verdict is reached, and what would change it
  docs/attaching.md     how to record a server of your own
END
