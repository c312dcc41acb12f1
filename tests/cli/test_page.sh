# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The HTML report in a headless Chromium: no request, nothing on the console, every part there, a
# picture that shows something, keyboard, dark mode, PDF. See tests/browser/page.py.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/exits.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"

browser=$TILEWISE_SOURCE/tests/browser
if ! /usr/bin/python3 -c "
import sys
sys.path.insert(0, '$browser')
import chromium
sys.exit(not chromium.find())"; then
    skip "the report in a browser" "no chromium"
    finish
fi

# judge PAGE PART...: its TAP becomes checks of this test.
judge() {
    local line
    /usr/bin/python3 "$browser/page.py" "$work" "$@" >"$work/judged" 2>"$work/judge.err"
    while read -r line; do
        case $line in
        "ok "*) check "${line#ok * - }" true ;;
        "not ok "*) check "${line#not ok * - }" false ;;
        "#"*) echo "$line" ;;
        esac
    done <"$work/judged"
    check "${1##*/}: judged to the end" grep -q '^1\.\.' "$work/judged"
    [ ! -s "$work/judge.err" ] || sed 's/^/# /' "$work/judge.err"
}
page() { "$TILEWISE" report --format=html -o "$work/$1.html" "${@:2}"; }

record_numpy "$work/t" 12000
check "a replay" exits 0 "$TILEWISE" replay --budget 2 --threads 1 -o "$work/r.twr" "$work"/t/*.twt
check "a page with a replay" page numpy "$work"/t/*.twt "$work/r.twr"
judge "$work/numpy.html" replay
check "a page of a GPU" page jax "$TILEWISE_SOURCE/traces/samples/jax.twt"
judge "$work/jax.html" gpu
for count in 1 40; do
    check "a trace of $count operations" "$TILEWISE_BUILD/bin/many_ops" "$work/ops$count.twt" $count
    check "its page" page "ops$count" "$work/ops$count.twt"
    judge "$work/ops$count.html"
done

# The judge sees what is wrong: a page that asks for something, complains, is wide and shows nothing.
cat >"$work/bad.html" <<'END'
<!DOCTYPE html><html><body><p style="width:3000px">bad</p>
<svg class="matrix"><a class="marker"><text y="20">one</text><text y="20">two</text></a></svg>
<img src="missing.png"><script>console.error("bad"); missing()</script></body></html>
END
/usr/bin/python3 "$browser/page.py" "$work" "$work/bad.html" >"$work/bad" 2>&1
for what in "for nothing else" "nothing on the console" "has #coverage" "has #shapes" "no wider" \
    "shows something everywhere" "no label of the matrix" "Tab reaches the skip link" "light and dark" "prints to PDF"; do
    check "the judge refuses: $what" grep -q "^not ok .*$what" "$work/bad"
done
finish
