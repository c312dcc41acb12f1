# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# GPU time through a fake CUPTI, which knows what it recorded.
. "$TILEWISE_SOURCE/tests/tap.sh"
. "$TILEWISE_SOURCE/tests/shim/vendor/vendor.sh"

ran() { # NAME MODE SCRIPT SCENARIO
    TILEWISE_GPU_TIME=$2 FAKE_CUPTI=$3 recorded "$1" "$VENDOR_BIN/host_cupti" "$4"
}
holds() { # NAME EXPRESSION: over the report: gpu, kernels by name, shapes by m
    "$TILEWISE" report --format=json "$work/$1"/*.twt >"$work/$1.json" &&
        /usr/bin/python3 - "$work/$1.json" "$2" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
gpu = report["trace"]["gpu"] or {}
kernels = {k["name"]: k for k in report["kernels"]}
shapes = {s["m"]: s for s in report["shapes"]}
if not eval(sys.argv[2]):
    print(json.dumps([gpu, kernels, [[m, s["calls"], s["gpu_time_ns"]] for m, s in shapes.items()]]))
    sys.exit(1)
END
}
says() { dump facts "$1" | grep -F "$2"; }
adds_up='gpu["records"] + gpu["dropped"] == gpu["launches"]'

full() {
    ran full full "" eager && holds full "$adds_up and gpu['launches'] == 230 and gpu['dropped'] == 0"
}
check "full: every launch has a record" full
check "full: every kernel is known by name" holds full \
    "{n: k['launches'] for n, k in kernels.items()} == {'sgemm_main': 100, 'splitKreduce': 100, 'flash_attention': 30}"
check "full: all kernels of a call are its time" holds full "shapes[8]['gpu_time_ns'] == 100 * 3500"
check "full: a kernel outside of calls has no signature" holds full \
    "kernels['flash_attention']['attributed_ns'] == 0 and kernels['flash_attention']['time_ns'] == 210000"
check "full: busy is the union of the kernels" holds full \
    "gpu['attributed_ns'] == 350000 and gpu['time_ns'] == 560000"

graphs() { ran graph full "" graph && holds graph "$adds_up and gpu['launches'] == 2 + 50 * 7"; }
check "graphs: every node of every launch is a launch" graphs
check "graphs: nodes belong to the calls that were captured" holds graph \
    "shapes[16]['calls'] == 150 and shapes[16]['gpu_time_ns'] == 150 * 3500"
check "graphs: other nodes by name" holds graph "kernels['layer_norm']['launches'] == 50"

timeline() { # NAME LINE...: these lines, in order
    local name=$1
    shift
    dump timeline "$name" | diff - <(printf '%s\n' "$@")
}
streams() { ran streams full "" streams && holds streams "$adds_up and gpu['launches'] == 120"; }
check "two streams: every launch has a record" streams
check "two streams: each has its kernels, copies, fills, and when they were launched" timeline streams \
    "gaps 1000 1000 1000 1000 14500" "missing 0" "stream 1 60 10 5 60 20 0" "stream 2 60 0 0 60 20 0"
check "a kernel is told apart by its grids" holds streams \
    "sorted((g['grid'], g['block'], g['shared_bytes'], g['launches']) for g in kernels['flash_attention']['grids']) == [([16, 2, 1], [256, 1, 1], 4096, 20), ([32, 2, 1], [128, 1, 1], 0, 20)]"
check "copies and fills are on the timeline" holds streams \
    "gpu['timeline'] == {'kernels': 120, 'missing': 0, 'streams': 2, 'copies': 10, 'fills': 5, 'copy_ns': gpu['timeline']['copy_ns']} and abs(gpu['timeline']['copy_ns'] - 23000) < 15 * 32"
check "a graph's kernels are one launch each" timeline graph "gaps 1000 1000 1000 1000 1000" "missing 0" "stream 1 352 0 0 352 151 350"

stuck() { TILEWISE_GPU_TIME=full FAKE_CUPTI=stuck recorded stuck timeout -s KILL 20 "$VENDOR_BIN/host_cupti" slowly && says stuck cupti; }
check "a CUPTI that never returns does not keep the process from its end" stuck
dropped() { ran drop full drop eager && holds drop "$adds_up and gpu['launches'] == 230 and gpu['dropped'] == 23"; }
check "records that CUPTI drops are counted" dropped
zero() { ran zero full zero eager && holds zero "$adds_up and gpu['untimed'] == 230 and shapes[8]['gpu_time_ns'] is None"; }
check "records without times are launches, and no time" zero
check "kernels without times are missing from the timeline" timeline zero "missing 230"

windows() { TILEWISE_GPU_BUDGET=0.05 ran windows windows "" slowly && holds windows "$adds_up and gpu['windows'] >= 1 and gpu['records'] > 10"; }
check "windows: some launches are recorded, exactly" windows
check "windows: the time of all calls follows from those that were measured" holds windows \
    "shapes[8]['calls'] == 1800 and abs(shapes[8]['gpu_time_ns'] - 1800 * 3500) <= 1800"
check "windows: not the whole time" holds windows "gpu['launches'] < 3600"
stale() {
    TILEWISE_GPU_BUDGET=0.05 ran stale windows stale decode &&
        holds stale "$adds_up and gpu['windows'] >= 1 and gpu['untimed'] == 7 * gpu['windows'] and gpu['records'] > 100"
}
check "a graph that was under way when a window closed has no time" stale
check "and the others have their own" holds stale \
    "abs(shapes[16]['gpu_time_ns'] / (3 * 1800 * 3500) - 1) < 1e-3"
again() {
    TILEWISE_GPU_BUDGET=0.05 ran again windows again decode &&
        holds again "$adds_up and gpu['windows'] >= 1 and gpu['untimed'] < 7 * gpu['windows']"
}
check "the last graph of a window has its times before it is launched again" again
within() { # SCRIPT
    TILEWISE_GPU_BUDGET=0.05 ran "$1" windows "$1" long && holds "$1" "$adds_up and gpu['windows'] >= 2" &&
        holds "$1" "shapes[8]['calls'] == 5000 and abs(shapes[8]['gpu_time_ns'] - 5000 * 3500) <= 5000"
}
launched() { dump timeline "$1" | awk '/^stream/ { n += $3; launched += $6 } END { print (launched > 0.9 * n) }'; }
check "a window that closes during a launch leaves the next ones right" within within
check "and kernels have their launch" eval '[ "$(launched within)" = 1 ]'
check "launches of one number: no kernel is given to the call of another" within repeat
check "and their times are unknown" eval '[ "$(launched repeat)" = 0 ]'
cost() { says windows gpu_time_cost | grep -q "windows [0-9]*\.[0-9] % of wall time.*budget 5\.0 %"; }
check "windows: what they are believed to cost is in the trace" cost
late() { TILEWISE_GPU_BUDGET=0.04 ran late windows leaves long && holds late "$adds_up and gpu['windows'] >= 1 and shapes[8]['calls'] == 5000"; }
check "windows: CUPTI is attached once it is known what that costs, and left before it leaves" late
waits() {
    TILEWISE_GPU_BUDGET=0.0001 ran waits windows "" long && says waits "waiting: being attached" &&
        says waits "gpu_time_cost being attached would cost" && holds waits "gpu == {} and shapes[8]['calls'] == 5000"
}
check "windows: CUPTI is left alone where the budget does not hold it" waits
switched() {
    TILEWISE_GPU_BUDGET=0.05 ran switched windows "" long &
    local pid=$!
    for _ in $(seq 100); do [ -d "$work/switched" ] || sleep 0.05; done
    for word in off on off on; do
        "$TILEWISE" ctl "$work/switched" $word
        sleep 1.1
    done
    wait $pid && holds switched "$adds_up and gpu['windows'] >= 1 and 0 < shapes[8]['calls'] < 5000"
}
check "windows: off and on in turns from the start" switched
off() { ran off off "" eager && holds off "gpu == {} and shapes[8]['calls'] == 100"; }
check "off: nothing is asked of CUPTI" off
busy() { ran busy full busy eager && says busy "busy" && holds busy "gpu == {} and shapes[8]['calls'] == 100"; }
check "another tool has subscribed: calls are counted, and it is said" busy
warned() { "$TILEWISE" info "$work/$1"/*.twt | grep "^  warning: GPU time was not measured all the time: $2"; }
check "info warns of it" warned busy busy
check "info has no warning where GPU time was measured" eval "! warned full ''"
old() { ran old full old eager && says old "absent"; }
check "a CUPTI that is too old is left alone" old
absent() { TILEWISE_GPU_TIME=full recorded absent "$VENDOR_BIN/host_graph" one && says absent "absent" && same_calls absent; }
check "no CUPTI: calls are counted, and it is said" absent
injected() { CUDA_INJECTION64_PATH=/opt/tool.so ran injected full "" eager && says injected "busy (another tool"; }
check "a tool that is to be injected goes first" injected
ours() { CUDA_INJECTION64_PATH=$SHIM ran ours full "" eager && holds ours "gpu['launches'] == 230"; }
check "we are no other tool" ours
nsys() { NSYS_PROFILING_SESSION_ID=1 ran nsys full "" eager && says nsys "busy (another tool"; }
check "a run under Nsight Systems is left alone" nsys
kineto() { KINETO_USE_DAEMON=1 ran kineto full "" eager && says kineto "busy (another tool" && holds kineto "gpu == {} and shapes[8]['calls'] == 100"; }
check "a run that Kineto's daemon profiles is left alone" kineto
profiler() {
    ran profiler full "" profiler && grep -qx "subscribe 0" "$work/profiler.said" &&
        says profiler "busy (a profiler" && holds profiler "$adds_up and gpu['launches'] == 100 and shapes[8]['calls'] == 100"
}
check "a profiler in the process gets CUPTI, and we leave" profiler
forked() { ran forked full "" forked && holds forked "shapes[8]['calls'] == 25 and gpu['launches'] == 40"; }
check "a forked child counts calls and leaves CUPTI alone" forked
many() { ran many full "" many && holds many "$adds_up and gpu['launches'] == 80000 and gpu['dropped'] == 0"; }
check "more kernels than a window's timeline and a frame hold: all are counted" many
check "more kernels than a window's timeline holds: the rest is missing" holds many \
    "(gpu['timeline']['kernels'], gpu['timeline']['missing'], gpu['timeline']['streams']) == (65536, 80000 - 65536, 50)"
threads() {
    ran threads full "" threads && holds threads "$adds_up and gpu['launches'] == 2 * 2001" &&
        holds threads "all(shapes[m]['gpu_time_ns'] == shapes[m]['calls'] * 3500 for m in (8, 16, 24, 32))"
}
check "four threads: each call has its own kernels" threads
in_words() {
    "$TILEWISE" info "$work"/full/*.twt | grep -q "^GPU: 230 kernels in 1 windows.*0 without a record; of recorded calls: GPU time 62.50 %" &&
        "$TILEWISE" report "$work"/full/*.twt | grep -q "flash_attention"
}
check "info and report say it in words" in_words
whole() { for name in full graph streams drop zero windows profiler threads many; do
    "$TILEWISE" validate "$work/$name"/*.twt || return 1
done; }
check "the counters agree with the rows" whole
by_command() {
    "$TILEWISE" record -o "$work/command" --gpu-time=full -- "$VENDOR_BIN/host_cupti" eager 2>/dev/null &&
        holds command "$adds_up and gpu['launches'] == 230"
}
check "tilewise record --gpu-time=full" by_command
over_budget() { "$TILEWISE" record --gpu-budget=0.6 -- true 2>/dev/null; [ $? -eq 64 ]; }
check "tilewise record --gpu-budget=0.6 is refused" over_budget
refused() { "$TILEWISE" record --gpu-time=often -- true 2>/dev/null; [ $? -eq 64 ]; }
check "tilewise record --gpu-time=often is refused" refused
finish
