/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include <string.h>

#include "analysis/policy.h"

static struct policy policy;

static enum status read_policy(const char *text, struct fault *fault)
{
    struct policy_fields fields;
    policy_default(&policy);
    return schema_read_text(policy_bind(&policy, &fields), "p.yaml", text, strlen(text),
                            SCHEMA_BYTES_MAX, fault);
}

Test(policy, defaults_are_those_of_the_design)
{
    policy_default(&policy);
    cr_assert_eq(policy.heat.high, 0.10);
    cr_assert_eq(policy.stability.k90, 32);
    cr_assert_eq(policy.stability.cov05, 0.90);
    cr_assert_eq(policy.evidence.coverage_time, 0.80);
    cr_assert_eq(policy.gain.adopt, 0.02);
    cr_assert_eq(policy.gain.pilot, 0.005);
    cr_assert_eq(policy.headroom.stop, 0.03);
}

Test(policy, a_file_changes_what_it_names)
{
    struct fault fault;
    cr_assert_eq(read_policy("heat:\n  high: 0.2\ngain: {deterministic: no}\n"
                             "evidence: {calls-per-window: 2k}\n",
                             &fault),
                 ST_OK, "%s", fault.text);
    cr_assert_eq(policy.heat.high, 0.2);
    cr_assert_not(policy.gain.deterministic);
    cr_assert_eq(policy.evidence.calls_per_window, 2000);
    cr_assert_eq(policy.stability.k90, 32);
}

Test(policy, the_documented_file_is_the_default)
{
    struct policy defaults;
    struct fault fault;
    policy_default(&defaults);
    cr_assert_eq(
        read_policy("heat:      { high: 0.10 }\n"
                    "stability: { k90: 32, cov05: 0.90, unseen: 0.02, drift: 0.05, table: 0.95, "
                    "moving: 4 }\n"
                    "tile:      { m: 64, n: 64, k: 32 }\n"
                    "evidence:  { coverage-time: 0.80, lost: 0.01, windows: 10, "
                    "calls-per-window: 100, replayed: 0.80 }\n"
                    "headroom:  { stop: 0.03, slack: 0.05 }\n"
                    "gain:      { adopt: 0.02, pilot: 0.005, worst-ratio: 0.99, noise: 0.01, "
                    "dispatch: 50ns, deterministic: yes }\n",
                    &fault),
        ST_OK, "%s", fault.text);
    cr_assert_float_eq(policy.gain.dispatch_s, defaults.gain.dispatch_s, 1e-20);
    policy.gain.dispatch_s = defaults.gain.dispatch_s;
    cr_assert_eq(memcmp(&policy, &defaults, sizeof policy), 0);
}

Test(policy, a_typing_error_is_found)
{
    struct fault fault;
    cr_assert_eq(read_policy("stability:\n  k09: 3\n", &fault), ST_INVALID);
    cr_assert_str_eq(fault.text, "p.yaml:2:3: unknown key 'k09' (did you mean 'k90'?)");
    cr_assert_eq(read_policy("gian: {}\n", &fault), ST_INVALID);
    cr_assert_str_eq(fault.text, "p.yaml:1:1: unknown key 'gian' (did you mean 'gain'?)");
    cr_assert_eq(read_policy("heat:\n  high: 10\n", &fault), ST_INVALID);
    cr_assert_str_eq(fault.text, "p.yaml:2:9: high expects a number from 0 to 1, not '10'");
}
