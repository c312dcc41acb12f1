# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The library as a file: what it shows, what it needs, how much it takes of a foreign process.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/shim.sh"

rows=$(gcc -E -P -DROW\(f,s,...\)=ROW:s: -I"$TILEWISE_SOURCE" -include tracer/slots.def \
    -x c /dev/null | grep -o 'ROW:[A-Za-z0-9_]*' | cut -d: -f2 | sort)
exports() {
    [ "$(echo "$rows" | wc -l)" -ge 170 ] || return 1
    diff <(nm -D --defined-only "$SHIM" | awk '{ print $3 }' | sort) \
        <(printf '%s\ndlsym\ndlvsym\nInitializeInjection\nInitializeInjectionNvtx2\n' "$rows" | sort)
}
check "it exports the rows of the tables, dlsym, dlvsym and the injection entries, and nothing else" exports
needed() { [ "$(readelf -dW "$SHIM" | grep -o 'NEEDED.*\[.*\]' | grep -o '\[.*\]')" = '[libc.so.6]' ]; }
check "it needs libc and nothing else" needed
floor() {
    local newest
    newest=$(objdump -T "$SHIM" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    echo "$newest"
    [ "$(printf '%s\nGLIBC_2.17\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.17 ]
}
check "it needs no symbol version above GLIBC_2.17" floor
tls() {
    local size
    size=$((16#$(readelf -lW "$SHIM" | awk '$1 == "TLS" { print substr($6, 3) }')))
    echo "$size bytes"
    [ $size -gt 0 ] && [ $size -le 128 ]
}
check "it takes 128 bytes of thread-local storage at most" tls
flags() {
    readelf -dW "$SHIM" | grep -q NODELETE && readelf -dW "$SHIM" | grep -q BIND_NOW &&
        readelf -lW "$SHIM" | grep -q GNU_RELRO && ! readelf -lW "$SHIM" | grep GNU_STACK | grep -q E
}
check "it cannot be unloaded, is bound at once and read-only after; no executable stack" flags
few_pages() {
    # Of hot.h: a host finds few pages in the caches.
    readelf -SW "$SHIM" | sed 's/^ *\[ *[0-9]*\]//' | awk '
        $1 == "tilewise_text" || $1 == "tilewise_hot" { print $1, $3, $5; n += substr($3, length($3) - 2) == "000" }
        $1 == "tilewise_text" { n += length($5) == 6 && $5 <= "002000" }
        END { exit n != 3 }'
}
check "what the usual calls run is two pages, what they read begins with one" few_pages
lookups() {
    # Each would be searched for in every object of every process that is started.
    readelf -rW "$SHIM" | awk '$3 ~ /_GLOB_DAT$|_JUMP_SLOT?$/ { print $5 }' | cut -d@ -f1 | sort >"$work/looked_up"
    [ "$(wc -l <"$work/looked_up")" -gt 10 ] && ! grep -xF "$rows" "$work/looked_up"
}
check "loading it looks up no name of its own" lookups
at_load() {
    # The compiler's start-up code has one entry, the tracer one. Others work in every process, wanted or not.
    local bytes
    bytes=$(readelf -dW "$SHIM" | awk '/INIT_ARRAYSZ/ { print $3 }')
    echo "$bytes bytes"
    [ "$bytes" -gt 0 ] && [ "$bytes" -le 16 ]
}
check "loading it runs one function of its own" at_load
weak() { ! nm -D --undefined-only "$SHIM" | grep -w w | grep -vE '_ITM_|__gmon_start__|__cxa_finalize'; }
check "no weak symbol that a host could fill in" weak
hot_path() {
    # What runs in host threads neither prints, exits nor allocates from the heap.
    ! nm -D --undefined-only "$SHIM" | grep -wE 'printf|fprintf|puts|exit|abort|__assert_fail'
}
check "it cannot print, exit or abort" hot_path
finish
