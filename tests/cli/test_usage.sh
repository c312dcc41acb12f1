# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Bad usage, for every command there is: one clear line on stderr, exit status 64, nothing on stdout.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/cli/refuses.sh"

commands=$("$TILEWISE" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')

helps() { "$TILEWISE" "$1" --help >"$work/help" 2>"$work/err" && grep -q "tilewise $1" "$work/help" &&
    [ ! -s "$work/err" ]; }

check "help lists commands" test "$(echo "$commands" | wc -w)" -ge 11
for command in $commands; do
    check "$command: --help goes to stdout" helps "$command"
    check "$command: a wrong option is named" refuses 64 "zzzz" "$TILEWISE" "$command" --zzzz
done

check "a wrong command is named" refuses 64 "'recrod'" "$TILEWISE" recrod
check "a mistyped command gets a suggestion" refuses 64 "did you mean 'help'" "$TILEWISE" hlep
check "control bytes in a command do not reach the terminal" refuses 64 "'?\[31mx?'" \
    "$TILEWISE" $'\e[31mx\n'
check "help of an unknown command" refuses 64 "no command 'nothing-like-it'" \
    "$TILEWISE" help nothing-like-it
for topic in start exit-codes environment words ci gpu; do
    check "help $topic" test "$("$TILEWISE" help $topic | wc -l)" -ge 5
done
check "two topics at once" refuses 64 "unexpected argument 'b'" "$TILEWISE" help doctor b

for command in record ctl top info replay report histogram diff gate history merge validate; do
    check "$command: a missing argument is named" refuses 64 "missing argument" "$TILEWISE" $command
done

full_stdout() { "$TILEWISE" "$@" >/dev/full; }
check "a full disk under stdout is an error" refuses 2 "No space left" full_stdout help
check "version on stdout" grep -q '^tilewise [0-9]' <("$TILEWISE" --version)
finish
