#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compile the cuTile or Triton kernels ahead of time and write their manifests. Needs no GPU.
#   compile.sh cutile|triton [--arch sm_90,...] [--out DIR] [--only MODULE] [--check]
# Makes a virtual environment with the pinned compilers of kernels/NAME/requirements.txt in
# $TILEWISE_VENV (default: build/venv-NAME); --check compiles nothing and needs none.
# Exit status 3: the compilers cannot be installed (no network, no python3 >= 3.10 with venv).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
name=${1:-}
if [ -z "$name" ] || [ ! -f "$here/$name/requirements.txt" ]; then
    sed -n '4,7s/^# \{0,1\}//p' "$0" >&2
    exit 64
fi
python=${PYTHON:-python3}
for argument in "$@"; do
    [ "$argument" != --check ] || exec "$python" "$here/compile.py" "$@"
done

venv=${TILEWISE_VENV:-$here/../build/venv-$name}
pins=$here/$name/requirements.txt
if ! cmp -s "$pins" "$venv/installed.txt"; then
    {
        rm -rf "$venv" && mkdir -p "$(dirname "$venv")" && "$python" -m venv "$venv" &&
            "$venv/bin/pip" install -q --disable-pip-version-check --timeout 20 --retries 1 -r "$pins"
    } >&2 || {
        echo "compile.sh: cannot install what $pins names" >&2
        exit 3
    }
    cp "$pins" "$venv/installed.txt"
fi
"$venv/bin/python" "$here/compile.py" "$@"
