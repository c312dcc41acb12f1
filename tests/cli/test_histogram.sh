# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# histogram: text in the terminal, SVG, PNG and PDF in a file; each dimension; over time.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"

# 3,000 calls with m = 8, then 9,000 with m = 64.
"$TILEWISE" record -o "$work/t" -- /usr/bin/python3 -c '
import numpy as np
b = np.ones((128, 32), "f")
for m, calls in (8, 3000), (64, 9000):
    a = np.ones((m, 128), "f")
    for _ in range(calls): a @ b'
many_ops() {
    "$TILEWISE_BUILD/bin/many_ops" "$work/many.twt" 40 && "$TILEWISE" histogram "$work/many.twt"
}
histogram() { "$TILEWISE" histogram "$@" "$work"/t/*.twt; }

check "text: both values of m, with their calls" prints '^  8  *[0-9.]* %  *25.0 %' histogram
check "text: bars are of the time" prints '^  64  *[0-9.]* %  *75.0 %  ##' histogram
check "text: or of the calls" prints '^  64  *[0-9.]* %  *75.0 %  #\{21\}$' histogram --by calls
check "text: by one dimension that does not move" prints '^  128  *100.0 %  *100.0 %' histogram --dim k
check "text: by shape" prints '^  64 x 32 x 128 NN  *[0-9.]* %  *75.0 %' histogram --dim shape
narrow() { histogram >"$work/text" && [ "$(awk 'length > n { n = length } END { print n }' "$work/text")" -le 80 ] && ! grep -q ' $' "$work/text"; }
check "text: 80 columns, and no blanks at the end" narrow
one_shape() { [ "$("$TILEWISE" histogram --dim shape "$TILEWISE_SOURCE/traces/samples/llm-decode-graph.twt" | grep -c '^  5632 x 16 x 2048 TN ')" -eq 1 ]; }
check "text: a shape has one line, whatever its alignment and entry point" one_shape
check "text: of a GPU it is the time of kernels" prints '% of the time of the GPU$' "$TILEWISE" histogram "$TILEWISE_SOURCE/traces/samples/llm-decode-graph.twt"
check "text: the rest of many operations is named" prints '^and 34 more operations' many_ops
check "text: the batch is a dimension too" prints '^ by batch: 1 value' histogram --dim batch
check "text: over time the second shape follows the first" prints \
    '^  64 x 32 x 128 NN .*|  .*@@*|$' histogram --windows --by calls
plain() { histogram >"$work/plain" && ! grep -q "$(printf '\033')" "$work/plain"; }
check "text holds no escape sequence" plain

starts_with() { [ "$(head -c "${#1}" "$2" | tr -d '\0')" = "$1" ]; }
if command -v gnuplot >/dev/null; then
    for args in "--dim m" "--dim n --by calls" "--dim k --by both" "--dim shape --by both" "--windows" "--windows --by calls"; do
        # shellcheck disable=SC2086 # several words
        check "SVG: $args" exits 0 histogram $args -o "$work/h.svg"
        check "SVG: $args: is one, and holds the operation" grep -q 'gemm f32' "$work/h.svg"
    done
    check "PNG by the name of the file" exits 0 histogram -o "$work/h.png"
    check "is one" starts_with $'\x89PNG' "$work/h.png"
    histogram --format pdf >"$work/h.pdf"
    check "PDF by option, on standard output" starts_with '%PDF-' "$work/h.pdf"
    check "without gnuplot" refuses 2 "gnuplot is not installed" env PATH=/nowhere \
        "$TILEWISE" histogram --format svg "$work"/t/*.twt
else
    skip "charts" "no gnuplot"
fi
check "a wrong dimension gets the choices" refuses 64 "expects one of auto|m|n|k|batch|shape" \
    "$TILEWISE" histogram --dim q "$work/t.twt"
finish
