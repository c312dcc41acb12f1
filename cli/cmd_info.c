/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yajl/yajl_gen.h>

#include "analysis/escape.h"
#include "analysis/evidence.h"
#include "analysis/json.h"
#include "analysis/warnings.h"
#include "cli/command.h"
#include "cli/options.h"
#include "traces/summary.h"

static const char *format = "text";

static const struct option_row rows[] = {
    { "format", 'f', OPTION_CHOICE, "FORMAT", "text or json", &format, "text|json" },
    { 0 },
};

static const struct usage usage = {
    .command = "info",
    .args = "TRACE...",
    .doc = "Say what traces hold: coverage and loss first, then processes, operations, facts and "
           "damage.\v"
           "Exit status 0: complete. 1: calls were lost, a file is damaged, or a recording did not "
           "end cleanly. 2: a file cannot be read.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

static uint64_t lost_calls(const struct summary *s)
{
    return loss_total(&s->counters) + evidence_missing(s);
}

static double coverage_time(const struct summary *s)
{
    return evidence_of(s, &(struct policy_evidence){ 0 }).coverage_time;
}

static const char *device_of(const struct summary *s)
{
    for (size_t i = 0; i < s->nfacts; i++)
        if (strcmp(s->facts[i].key, "device") == 0)
            return s->facts[i].value;
    return NULL;
}

/* Text. */

static void print_share(const char *what, double share)
{
    if (isnan(share))
        printf("%s unknown", what);
    else
        printf("%s %.2f %%", what, floor(share * 1e4) / 1e2); /* never rounded up to 100 */
}

static void print_coverage(const struct summary *s)
{
    print_share("coverage: calls", evidence_coverage_calls(s));
    print_share(", time", coverage_time(s));
    printf(" (%" PRIu64 " seen, %" PRIu64 " in the trace, %" PRIu64 " lost)\n", s->counters.seen,
           s->calls, lost_calls(s));
    for (unsigned cause = 0; cause < LOSS_MAX; cause++)
        if (s->counters.dropped[cause])
            printf("  lost: %s %" PRIu64 "\n", loss_name(cause) ? loss_name(cause) : "unknown",
                   s->counters.dropped[cause]);
    if (evidence_missing(s))
        printf("  lost: damaged or missing frames %" PRIu64 "\n", evidence_missing(s));
    if (s->counters.failed)
        printf("  failed calls, not counted as work: %" PRIu64 "\n", s->counters.failed);
}

static void print_warnings(const struct summary *s)
{
    char text[WARNINGS_BYTES];
    for (size_t i = 0; i < s->nfacts; i++) {
        if (!warnings_of(&s->facts[i], text))
            continue;
        printf("  warning: ");
        escape_plain(stdout, text);
        printf("\n");
    }
}

static void print_gpu(const struct summary_gpu *gpu)
{
    const struct gpu_totals *t = &gpu->totals;
    if (t->windows == 0)
        return;
    printf("GPU: %" PRIu64 " kernels in %" PRIu64 " windows of %.3f s together, %" PRIu64
           " without a record",
           t->launches, t->windows, (double)t->window_ns * 1e-9, t->dropped);
    if (gpu->kernel_ns)
        print_share("; of recorded calls: GPU time",
                    (double)gpu->attributed_ns / (double)gpu->kernel_ns);
    printf("\n");
    if (gpu->intervals || gpu->missing)
        printf("  timeline: %" PRIu64 " kernels on %" PRIu64 " streams, %" PRIu64
               " missing; %" PRIu64 " copies and fills, %.6f s\n",
               gpu->intervals, gpu->streams, gpu->missing, gpu->copies + gpu->fills,
               (double)gpu->copy_ns * 1e-9);
}

static void print_totals(const struct summary *s)
{
    double wall_s = (double)s->wall_ns * 1e-9, busy_s = (double)s->busy_ns * 1e-9;
    printf("complete: %s\n", s->complete ? "yes" : "no");
    printf("processes: %zu, wall time %.3f s, in the library %.3f s\n", s->nshards, wall_s, busy_s);
    printf("signatures: %zu, windows: %zu\n", s->nsignatures, s->nwindows);
    print_gpu(&s->gpu);
}

static void print_shard(const struct summary_shard *s)
{
    char start[32] = "";
    time_t seconds = (time_t)(s->shard.start_unix_ns / 1000000000u);
    struct tm utc;
    if (gmtime_r(&seconds, &utc))
        strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", &utc);
    printf("  pid %" PRIu32 " of host %016" PRIx64 ", from %s, %.3f s, %" PRIu64 " calls, %s",
           s->shard.id.pid, s->shard.id.host_hash, start, (double)s->wall_ns * 1e-9,
           s->shard.counters.recorded, s->shard.complete ? "ended cleanly" : "did not end cleanly");
    if (s->damaged_bytes)
        printf(", %" PRIu64 " damaged bytes", s->damaged_bytes);
    if (s->unresolved)
        printf(", %" PRIu64 " calls whose signature was lost", s->unresolved);
    printf(", ");
    escape_plain(stdout, s->path);
    printf("\n");
}

static void print_text(const struct summary *s)
{
    print_coverage(s);
    print_warnings(s);
    print_totals(s);
    for (size_t i = 0; i < s->nshards; i++)
        print_shard(&s->shards[i]);
    if (s->nops)
        printf("operations:\n");
    for (size_t i = 0; i < s->nops; i++)
        printf("  %-10s %-8s %12" PRIu64 " calls %12.6f s, running for %.6f s\n",
               tilewise_op_name(s->ops[i].op), tilewise_dtype_name(s->ops[i].dtype),
               s->ops[i].calls, (double)s->ops[i].time_ns * 1e-9,
               (double)s->ops[i].active_ns * 1e-9);
    if (s->nfacts)
        printf("facts:\n");
    for (size_t i = 0; i < s->nfacts; i++) {
        printf("  ");
        escape_plain(stdout, s->facts[i].key);
        printf(": ");
        escape_plain(stdout, s->facts[i].value);
        printf("\n");
    }
    if (s->ndamage)
        printf("damage:\n");
    for (size_t i = 0; i < s->ndamage; i++)
        printf("  offset %" PRIu64 ", %" PRIu64 " bytes: %s\n", s->damage[i].offset,
               s->damage[i].bytes, s->damage[i].what);
}

/* JSON: the `trace` object of the report, and what only info knows. */

static void put_shard(yajl_gen g, const struct summary_shard *s)
{
    char host[20];
    snprintf(host, sizeof host, "%016" PRIx64, s->shard.id.host_hash);
    yajl_gen_map_open(g);
    json_key_text(g, "path", s->path);
    json_key_text(g, "host", host);
    json_key_whole(g, "pid", s->shard.id.pid);
    json_key_whole(g, "part", s->shard.id.part);
    json_key_whole(g, "start_unix_ns", s->shard.start_unix_ns);
    json_key_real(g, "wall_s", (double)s->wall_ns * 1e-9);
    json_key_real(g, "busy_s", (double)s->busy_ns * 1e-9);
    json_key_whole(g, "seen", s->shard.counters.seen);
    json_key_whole(g, "recorded", s->shard.counters.recorded);
    json_key_whole(g, "failed", s->shard.counters.failed);
    json_dropped(g, &s->shard.counters);
    json_key_flag(g, "complete", s->shard.complete);
    json_key_whole(g, "damaged_bytes", s->damaged_bytes);
    json_key_whole(g, "unresolved", s->unresolved);
    yajl_gen_map_close(g);
}

static void put_lists(yajl_gen g, const struct summary *s)
{
    json_open_array(g, "shards");
    for (size_t i = 0; i < s->nshards; i++)
        put_shard(g, &s->shards[i]);
    yajl_gen_array_close(g);
    json_open_array(g, "facts");
    for (size_t i = 0; i < s->nfacts; i++) {
        yajl_gen_map_open(g);
        json_key_text(g, "key", s->facts[i].key);
        json_key_text(g, "value", s->facts[i].value);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
    json_open_array(g, "damage");
    for (size_t i = 0; i < s->ndamage; i++) {
        yajl_gen_map_open(g);
        json_key_whole(g, "offset", s->damage[i].offset);
        json_key_whole(g, "bytes", s->damage[i].bytes);
        json_key_text(g, "what", s->damage[i].what);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}

static enum status print_json(const struct summary *s)
{
    yajl_gen g = json_begin();
    if (!g)
        return ST_NOMEM;
    json_trace(g, s, coverage_time(s), device_of(s));
    put_lists(g, s);
    return json_end(g, stdout);
}

int cmd_info(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    struct summary *s;
    struct fault fault;
    if (summary_build(&s, (const char *const *)argv + first, (size_t)(argc - first), 0, &fault) !=
        ST_OK)
        return command_fault("info", &fault);
    bool finding = !s->complete || lost_calls(s);
    enum status st = ST_OK;
    if (strcmp(format, "json") == 0)
        st = print_json(s);
    else
        print_text(s);
    summary_free(s);
    if (st != ST_OK)
        return command_fault("info", &(struct fault){ .status = st });
    return finding ? EXIT_FINDING : EXIT_FINE;
}
