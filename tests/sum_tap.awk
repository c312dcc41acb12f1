# SPDX-License-Identifier: Apache-2.0
# Adds up the TAP lines in the output of "ctest --verbose": per test program, then in all.
# A program counts as a failure of its own when it fails without a "not ok", when it prints no TAP,
# or when it prints fewer results than its plan. Writes "PASSED FAILED SKIPPED" to `totals`.

# ctest marks the output of test 7 with "7: ".
function number(line) { return substr(line, 1, index(line, ":") - 1) + 0 }

/^test [0-9]+$/ { next }

/^[0-9]+: / {
    id = number($0)
    line = substr($0, index($0, ":") + 2)
    if (line ~ /^1\.\.[0-9]+/) {
        plan[id] = substr(line, 4) + 0
        planned[id] = 1
    } else if (line ~ /^(- )?not ok/) {
        if (line ~ /# *TODO/)
            skipped[id]++
        else {
            failed[id]++
            refused[id] = refused[id] line "\n"
        }
    } else if (line ~ /^(- )?ok([ \t]|$)/) {
        if (toupper(line) ~ /# *SKIP/)
            skipped[id]++
        else
            passed[id]++
    }
    next
}

# "12/34 Test #12: name ......   Passed    0.05 sec"
/Test +#[0-9]+: / {
    match($0, /#[0-9]+: /)
    id = substr($0, RSTART + 1, RLENGTH - 3) + 0
    rest = substr($0, RSTART + RLENGTH)
    split(rest, word, " ")
    name[id] = word[1]
    good[id] = (rest ~ / Passed +[0-9.]+ sec/)
    result[id] = 1
}

END {
    for (id in result) {
        lines = passed[id] + failed[id] + skipped[id]
        if (failed[id])
            printf "FAILED %s:\n%s", name[id], refused[id]
        if (planned[id] && lines < plan[id]) {
            failed[id] += plan[id] - lines
            print "FAILED " name[id] ": " lines " of " plan[id] " planned results"
        } else if (lines == 0 && !(planned[id] && plan[id] == 0)) {
            failed[id]++
            print "FAILED " name[id] ": printed no TAP"
        } else if (!good[id] && failed[id] == 0) {
            failed[id]++
            print "FAILED " name[id] ": ended badly after its tests"
        }
        sum_passed += passed[id]
        sum_failed += failed[id]
        sum_skipped += skipped[id]
        programs++
    }
    if (programs == 0) {
        print "FAILED no test program ran"
        sum_failed++
    }
    print sum_passed + 0, sum_failed + 0, sum_skipped + 0 > totals
}
