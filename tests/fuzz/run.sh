#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/run.sh [SECONDS] [reader|yaml|manifest]: fuzz one target (default 60 s of the reader) from the
# corpus in the repository. New inputs are kept in build/fuzz/corpus, so a later run goes on where
# this one stopped; crashes are written to build/fuzz.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60} target=${2:-reader}
cmake --preset clang -B build/fuzz -DTILEWISE_FUZZ=ON >/dev/null
cmake --build build/fuzz --target "fuzz_$target"
mkdir -p "build/fuzz/corpus/$target"
exec "build/fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
    -rss_limit_mb=512 -artifact_prefix=build/fuzz/ "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target"
