# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Programs that nobody wants to record, with the shim exported into their environment as a service
# manager would do it: same output, same status, nothing on stderr, no trace, not even a directory.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/hosts/recorded.sh"

cd "$work" || exit 1
mkdir project
for i in $(seq 20); do
    printf 'int f%d(int x) { return x * %d; }\n' "$i" "$i" >project/f$i.c
done
printf 'all: %s\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\n' "$(seq -f 'f%.0f.o' -s ' ' 20)" >project/Makefile
printf 'int main(void) { return 0; }\n' >main.c
git -c init.defaultBranch=main init -q repository

# bystander NAME SCRIPT: run the script with and without the shim and compare everything.
bystander() {
    local name=$1 script=$2 plain shimmed
    bash -c "$script" >plain 2>plain.err
    plain=$?
    LD_PRELOAD=$shim TILEWISE_OUT=$work/traces bash -c "$script" >shimmed 2>shimmed.err
    shimmed=$?
    echo "status $plain and $shimmed"
    [ $plain -eq $shimmed ] && diff plain shimmed && diff plain.err shimmed.err &&
        ! ls -A traces 2>/dev/null | grep .
}

check "the shim was built" test -s "$shim"
check "bash" bystander bash 'for i in 1 2 3; do echo $((i * i)); done; echo oops >&2; exit 3'
check "dash" bystander dash 'dash -c "echo hello; exit 4"'
check "ls" bystander ls 'ls -l /etc/hostname main.c'
check "a pipeline" bystander pipeline 'seq 1000 | sort -rn | head -n 3 | tr 0 x'
check "gcc" bystander gcc 'gcc -O2 -o main main.c && sha256sum main; gcc no-such-file.c'
check "make with 20 compilers" bystander make \
    'cd project && rm -f *.o && make -s -j2 && cat *.o | sha256sum'
check "git" bystander git 'cd repository && git status --short && git log; git rev-parse --git-dir'
check "perl" bystander perl 'perl -e "print join(q(,), map { \$_ ** 2 } 1 .. 9), qq(\n)"'
check "python3 without numpy" bystander python3 \
    "$python -c 'import json, hashlib; print(json.dumps([1, 2])); raise SystemExit(5)'"
check "python3 that fails" bystander traceback "$python -c 'raise ValueError(7)'"
check "a program that is killed" bystander killed 'sh -c "kill -KILL \$\$"'
check "a static program" bystander static \
    'gcc -static -o still main.c 2>/dev/null && ./still; echo $?'
check "another user" bystander nobody 'setpriv --reuid=nobody --regid=nogroup --clear-groups id'
finish
