/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "replayer/bench.h"

void measure_no_second(struct measure_second *out, enum result_status status, const char *reason)
{
    *out = (struct measure_second){ .status = status, .time_ns = NAN, .ratio = { NAN, NAN, NAN } };
    snprintf(out->reason, sizeof out->reason, "%.190s", reason);
}

static void time_second(struct bench *b, double budget_ns, struct measure_second *out)
{
    struct timing_samples samples;
    b->arms[b->narms++] = (struct bench_arm){ .kind = BENCH_ROUTINE };
    b->arms[b->narms++] = (struct bench_arm){ .kind = BENCH_COMPANION };
    enum status st = bench_time(b, budget_ns, 0, &samples);
    if (st == ST_UNSUPPORTED) {
        measure_no_second(out, RESULT_UNSUPPORTED, b->fault.text);
        return;
    }
    if (st != ST_OK) {
        measure_no_second(out, RESULT_SKIPPED, bench_complaint(b, st));
        return;
    }
    out->status = RESULT_PASSED;
    out->time_ns = timing_median_ns(&samples, 1);
    out->ratio = timing_ratio(&samples, 0, 1, 0.95, b->setup->seed);
    snprintf(out->call, sizeof out->call, "%s", b->companion_call);
}

void measure_second(void *job, void *message)
{
    const struct measure_second_job *j = job;
    struct measure_second *out = message;
    struct fault fault = { .text = "" };
    struct bench b = { .setup = j->setup, .signature = j->signature, .companion = j->companion };
    if (bench_open(&b, &fault) == ST_OK)
        time_second(&b, j->budget_ns, out);
    else
        measure_no_second(out, RESULT_UNSUPPORTED, fault.text);
    bench_close(&b, out->status == RESULT_PASSED || out->status == RESULT_UNSUPPORTED);
}
