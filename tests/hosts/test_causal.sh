# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Causal heat, checked live: a program is recorded, then a known delay is put behind each call of one
# operation, and its wall time moves as the heat said. The calls sleep, so it needs no quiet machine.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/hosts/recorded.sh"

hosts=$TILEWISE_SOURCE/tests/hosts
steps=60 delay_us=6000
build() {
    cc -O1 -shared -fPIC -o "$work/libsleepingblas.so" "$hosts/sleeping_blas.c" &&
        cc -O1 -pthread -o "$work/steps" "$hosts/steps.c" -L"$work" -lsleepingblas -Wl,-rpath,"$work"
}
if ! build 2>"$work/cc.log"; then
    skip "causal heat" "no C compiler"
    finish
fi

# It only sleeps, and wakes in time before all other work: where one may say so.
run=("$work/steps" "$steps")
! chrt -r 1 true 2>/dev/null || run=(chrt -r 1 "${run[@]}")

record() {
    recorded "$work/traces" "${run[@]}" >/dev/null &&
        "$TILEWISE" report --format=json "$work"/traces/*.twt >"$work/report.json"
}

# moves OP: (time with the delay - time without) / all delays is E / W, the share of the calls that
# the whole waits for, within its interval and 0.15. Runs with and without take turns, so that other
# work meets both; a delay is as long as it was: sleeps end late. What the shortest of each say counts,
# and on a busy machine, where the turns disagree, all that they say.
moves() {
    for _ in 1 2 3; do
        "${run[@]}" >>"$work/$1.plain" && "${run[@]}" "$1" "$delay_us" >>"$work/$1.delayed"
    done || return 1
    $python - "$work/report.json" "$1" "$work/$1.plain" "$work/$1.delayed" <<'END'
import json, sys
report, name = json.load(open(sys.argv[1])), sys.argv[2]
plain, delayed = ([tuple(map(float, line.split())) for line in open(path)] for path in sys.argv[3:])
op = next(o for o in report["ops"] if o["op"] == name)
heat, share = op["heat"], op["wall_share"]
turns = list(zip(plain, delayed)) + [(min(plain), min(delayed))]
moved = [(slow - fast) / injected for (fast, _), (slow, injected) in turns]
low, high = heat["lo"] / share, heat["hi"] / share
print(f"{name}: E {heat['value']:.3f} ({heat['lo']:.3f} to {heat['hi']:.3f}), W {share:.3f}; wall time moved by "
      f"{moved[-1]:.3f} ({min(moved):.3f} to {max(moved):.3f}) of what was injected, predicted {low:.3f} to {high:.3f}")
sys.exit(not (heat["method"] == "causal" and min(moved) <= high + 0.15 and max(moved) >= low - 0.15))
END
}

holds() {
    $python -c 'import json, sys
r = json.load(open(sys.argv[2])); ops = {o["op"]: o for o in r["ops"]}
sys.exit(not eval(sys.argv[1]))' "$1" "$work/report.json"
}

check "the program is recorded" record
check "the shares of both are seen" holds 'ops["gemm"]["wall_share"] > 0.3 and ops["gemv"]["wall_share"] > 0.1'
check "what hides behind the other thread has no sure heat" holds 'ops["gemv"]["heat"]["lo"] < 0.02'
check "a delay of gemm moves the whole as predicted" moves gemm
check "a delay of gemv moves it as predicted" moves gemv
check "idle time is the program's own work" holds '0.1 < r["idle"]["host"] < 0.6 and r["idle"]["of"] == "host"'
finish
