# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# report --format=dispatch, and a program that obeys what it wrote.
. "$TILEWISE_SOURCE/tests/tap.sh"

# Three shapes of 8, 16 and 24 rows that the portable kernel wins; nothing is known of 32.
table=$work/table.yaml
"$TILEWISE_BUILD/bin/make_load" "$work/t.twt" "$work/t.twr" shapes=3
check "a table is written" "$TILEWISE" report --format=dispatch -o "$table" "$work/t.twt" "$work/t.twr"

# goes WANT [NAME=VALUE...]: the host's calls go where WANT says.
goes() {
    env "${@:2}" "$TILEWISE_BUILD/bin/tile_host" 8 24 32 >"$work/out" && cat "$work/out" &&
        [ "$(head -n 3 "$work/out" | cut -d ' ' -f 2 | tr '\n' ' ')" = "$1 " ]
}
says() { tail -n 1 "$work/out" | grep -q -e "$1"; }
check "a program obeys it" goes "tile tile library" TILEWISE_DISPATCH="$table"
check "and has nothing to complain of" says '^$'
check "the way back is above it" goes "library library library" TILEWISE_DISPATCH="$table" TILEWISE_FORCE_BASELINE=1
sed 's/m: 24/m: 32/' "$table" >"$work/edited.yaml"
check "a row may be changed by hand" goes "tile library tile" TILEWISE_DISPATCH="$work/edited.yaml"
sed 's/kernel: .*/kernel: gemm_f32_portabel/' "$table" >"$work/typo.yaml"
check "a mistake leaves everything on the library" goes "library library library" TILEWISE_DISPATCH="$work/typo.yaml"
check "and is named with its place" says "typo.yaml:[0-9]*:13: kernel 'gemm_f32_portabel' .*did you mean 'gemm_f32_portable'"
check "so does a file that is not there" goes "library library library" TILEWISE_DISPATCH=/nowhere.yaml
check "it is named" says "/nowhere.yaml: No such file"
head -c 300000 /dev/urandom >"$work/noise.yaml"
check "and noise" goes "library library library" TILEWISE_DISPATCH="$work/noise.yaml"

# Not decided, so nothing may leave.
"$TILEWISE_BUILD/bin/make_load" "$work/k.twt" "$work/k.twr" shapes=3 ratio=0.9
"$TILEWISE" report --format=dispatch -o "$work/keep.yaml" "$work/k.twt" "$work/k.twr"
check "without a verdict for it everything stays" goes "library library library" TILEWISE_DISPATCH="$work/keep.yaml"
check "by a table without a mistake" says '^$'
finish
