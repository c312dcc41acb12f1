#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Build and test everything. The last line is "N passed, N failed, N skipped".
#   ./check.sh                 all of it: gcc and clang builds, tests, sanitizers
#   ./check.sh --quick         gcc build and tests only
#   ./check.sh --no-sanitizers everything but the sanitizer builds
#   ./check.sh --quick --sanitizers   the sanitizers, but no clang
set -u
cd "$(dirname "$0")"

clang=yes sanitizers=yes
for option in "$@"; do
    case $option in
    --quick) clang=no sanitizers=no ;;
    --no-sanitizers) sanitizers=no ;;
    --sanitizers) sanitizers=yes ;;
    *)
        echo "check.sh: no option '$option'; there are --quick, --sanitizers, --no-sanitizers" >&2
        exit 64
        ;;
    esac
done

jobs=$(nproc)
logs=build/check
mkdir -p $logs
passed=0 failed=0 skipped=0

say() { printf '\n== %s (%d s)\n' "$1" "$SECONDS"; }
ok() { echo "ok - $1"; passed=$((passed + 1)); }
not_ok() { echo "not ok - $1"; failed=$((failed + 1)); }

finish() {
    printf '\n%d passed, %d failed, %d skipped\n' $passed $failed $skipped
    [ $failed -eq 0 ] || exit 1
    exit 0
}

# step NAME LOG COMMAND...: one check; its output is shown only when it fails.
step() {
    local name=$1 log=$logs/$2.log
    shift 2
    if "$@" >"$log" 2>&1; then
        ok "$name"
    else
        tail -n 60 "$log"
        not_ok "$name (all of it: $log)"
        return 1
    fi
}

# build PRESET [ARGUMENTS...]
build() { cmake --preset "$1" && cmake --build --preset "$1" -j "$jobs" "${@:2}"; }

# run_tests PRESET ARGUMENTS...: ctest with every line of TAP; sets sum_* to what came out.
run_tests() {
    local preset=$1 log=$logs/tests-$1.log
    shift
    ctest --test-dir "build/$preset" --verbose --timeout 600 "$@" >"$log" 2>&1
    awk -v totals=$logs/totals -f tests/sum_tap.awk "$log"
    read -r sum_passed sum_failed sum_skipped <$logs/totals
    grep -aE '^[0-9]+: (- )?ok.*# *SKIP' "$log" | sed 's/^[0-9]*: /skipped: /'
    [ "$sum_failed" -eq 0 ] || echo "all output: $log"
}

# sanitize PRESET LABEL TARGET NAME: build one target and run the tests with that label.
sanitize() {
    local preset=$1 label=$2 target=$3 name=$4
    say "$name"
    step "build with the $name" "build-$preset" build "$preset" --target "$target" || return
    run_tests "$preset" -L "$label" -j "$jobs"
    if [ "$sum_failed" -eq 0 ]; then
        ok "$name: $sum_passed cases without a report"
    else
        not_ok "$name: $sum_failed of $((sum_passed + sum_failed)) cases failed"
    fi
}

say packages
.ci/install build report tests || { not_ok "install what the build needs"; finish; }
.ci/install hosts || echo "host programs are missing: their tests are skipped"
.ci/install browser || echo "no browser: the HTML report is not looked at"

say "gcc build"
step "build with gcc, warnings are errors" build-dev build dev || finish

say format
files=$(git ls-files '*.c' '*.h' 2>/dev/null)
[ -z "$files" ] || step "every file follows .clang-format" format \
    clang-format-14 --dry-run -Werror $files

say tests
run_tests dev -j "$jobs"
passed=$((passed + sum_passed)) failed=$((failed + sum_failed)) skipped=$((skipped + sum_skipped))

if [ $clang = yes ]; then
    say "clang build"
    step "build with clang, warnings are errors" build-clang build clang
fi
if [ $sanitizers = yes ]; then
    sanitize asan unit all "address and undefined-behaviour sanitizers"
    sanitize tsan threads thread_tests "thread sanitizer"
fi
finish
