# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A second baseline: another program makes the same calls (replayer/torch_companion.py).
. "$TILEWISE_SOURCE/tests/tap.sh"

numpy='import numpy as np
a = np.ones((400, 300), "f"); b = np.ones((300, 200), "f")
for _ in range(300): a @ b'
"$TILEWISE" record -o "$work/t" -- /usr/bin/python3 -c "$numpy" 2>/dev/null
traces=("$work"/t/*.twt)

# fake NAME ANSWER: a Python that answers every burst of N calls with this.
fake() {
    printf '#!/bin/sh\n%s\n' 'echo 0 ready Fake 1.0
while read -r number verb rest; do
case $verb in
burst) '"$2"' ;;
*) echo "$number ready fake.mm" ;;
esac
done' >"$work/$1"
    chmod 755 "$work/$1"
}
second() {
    local python=$1
    shift
    "$TILEWISE" replay --baseline pytorch --python "$python" --budget 1 --threads 1 --kernel ref \
        --uncap-baseline -o "$work/r.twr" "$@" "${traces[@]}" >"$work/out" 2>"$work/err"
}
says() { grep -Eq -- "$1" "$work/out"; }

# shellcheck disable=SC2016
fake fine 'echo "$number ns ${rest#calls=}00000"'
check "replay with a second baseline" second "$work/fine"
check "it is named" says '^second    Fake 1.0$'
check "its row has a time and a ratio" says 'Fake 1.0: fake.mm +baseline +100.00 us  vs recorded +[0-9.]+ \[[0-9.]+, [0-9.]+\]'
check "the report has it" sh -c '"$1" report --format json "$2" "$3" | grep -A6 second_baseline | grep -q "Fake 1.0: fake.mm"' sh "$TILEWISE" "${traces[0]}" "$work/r.twr"
check "it is no candidate" sh -c '! "$1" report --format json "$2" "$3" | grep "\"name\"" | grep -v fake.mm | grep -q Fake' sh "$TILEWISE" "${traces[0]}" "$work/r.twr"

# shellcheck disable=SC2016
fake broken 'echo "$number error out of memory"'
check "one that fails is survived" second "$work/broken"
check "the row says so" says 'Fake 1.0 +baseline +'
check "the library has its time" says 'f32 gemm.* us .* us +sgemm'
check "a program that is none" second /nonexistent/python
check "is a line with its remedy" says '^second    none: /nonexistent/python says: .*No such file.*--python'

if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    check "PyTorch is a second baseline" second /usr/bin/python3
    check "its call is named" says 'PyTorch .*: torch.mm +baseline .* us'
else
    check "a Python without PyTorch" second /usr/bin/python3
    check "is a line" says "^second    none: /usr/bin/python3 says: No module named 'torch'; .*--python"
fi
finish
