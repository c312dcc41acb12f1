#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Write the reports in this folder again, from the traces in traces/samples: after a recording, or
# when report --format=md says something else than before.
#   docs/results/samples/make.sh [TILEWISE]
set -eu
cd "$(dirname "$0")/../../.."
tilewise=${1:-build/dev/bin/tilewise}
for trace in traces/samples/*.twt; do
    "$tilewise" report --format=md -o "docs/results/samples/$(basename "$trace" .twt).md" "$trace"
done
