/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands in the traces of a directory, as text.
 *   dump rows DIR      every row (rowtext.h)
 *   dump calls DIR     "ENTRY CALLS", of all rows of an entry point
 *   dump graphs DIR    the same of the calls that graphs made
 *   dump streams DIR   "stream N CALLS" of the events
 *   dump counters DIR  "seen N", "recorded N", "failed N", "dropped N", "complete 0|1"
 *   dump facts DIR     "KEY VALUE"
 *   dump timeline DIR  "stream N KERNELS COPIES FILLS LAUNCHED FIRST GRAPH", "missing N", and
 *                      "gaps NS ..." between the work of stream 1 to the nearest 100
 *   dump phases DIR    "phase NAME ENTRIES ENDED CALLS", "mark NAME COUNT", "lost N" if any were,
 *                      "without N": calls outside of every phase
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rowtext.h"
#include "traces/timeline.h"

enum { SIGNATURES = 1 << 16, STREAMS = 1024, NAMES = 1 << 12 };

static unsigned long long calls[SIGNATURES], streams[STREAMS];

/* By name. */
static struct {
    unsigned long long entries, ended, calls, marks;
} phases[NAMES];
static unsigned long long in_phases, lost;

static void add_phases(const struct phase_rows *rows)
{
    for (size_t i = 0; i < rows->ntotals; i++) {
        phases[rows->totals[i].name % NAMES].entries += rows->totals[i].entries;
        phases[rows->totals[i].name % NAMES].ended += rows->totals[i].ended;
    }
    for (size_t i = 0; i < rows->ncalls; i++) {
        phases[rows->calls[i].name % NAMES].calls += rows->calls[i].calls;
        in_phases += rows->calls[i].calls;
    }
    for (size_t i = 0; i < rows->nmarks; i++)
        phases[rows->marks[i].name % NAMES].marks++;
    lost += rows->lost;
}

static void print_phases(const struct reader *r, unsigned long long recorded)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        if (phases[i].entries + phases[i].calls)
            printf("phase %s %llu %llu %llu\n", reader_string(r, i), phases[i].entries,
                   phases[i].ended, phases[i].calls);
        if (phases[i].marks)
            printf("mark %s %llu\n", reader_string(r, i), phases[i].marks);
    }
    lost ? printf("lost %llu\n", lost) : 0;
    printf("without %llu\n", recorded - in_phases);
}

static void add_frame(const struct reader_frame *frame, bool with_facts)
{
    for (size_t i = 0; i < frame->nevents; i++) {
        const struct reader_events *e = &frame->events[i];
        streams[e->stream % STREAMS] += e->count;
        for (size_t j = 0; j < e->count; j++)
            calls[e->signature[j] % SIGNATURES]++;
    }
    for (size_t i = 0; i < frame->ncounts; i++)
        calls[frame->counts[i].signature % SIGNATURES] += frame->counts[i].calls;
    if (frame->phases)
        add_phases(frame->phases);
    for (size_t i = 0; with_facts && i < frame->nfacts; i++)
        printf("%s %s\n", frame->facts[i].key, frame->facts[i].value);
}

static bool is_wanted(const struct tilewise_signature *s, const char *what)
{
    return strcmp(what, "graphs") != 0 || s->flags & TILEWISE_IN_GRAPH;
}

/* Calls of all wanted rows with the entry point of row `i`; 0 unless that is the first one. */
static unsigned long long calls_of_entry(const struct tilewise_signature *s, size_t count, size_t i,
                                         const char *what)
{
    unsigned long long sum = 0;
    for (size_t j = 0; j < count; j++) {
        if (s[j].entry != s[i].entry)
            continue;
        if (j < i)
            return 0;
        sum += is_wanted(&s[j], what) ? calls[j] : 0;
    }
    return sum;
}

static void print_calls(const struct reader *r, const char *what)
{
    size_t count;
    const struct tilewise_signature *s = reader_signatures(r, &count);
    for (size_t i = 0; i < count; i++) {
        const char *entry = reader_string(r, s[i].entry);
        unsigned long long sum = calls_of_entry(s, count, i, what);
        if (strcmp(what, "rows") == 0)
            rowtext_print(entry, &s[i], calls[i]);
        else if (sum)
            printf("%s %llu\n", entry, sum);
    }
}

static void print_stream(const struct timeline_stream *s)
{
    unsigned work[3] = { 0 }, launched = 0, first = 0, graph = 0;
    for (size_t i = 0; i < s->count; i++) {
        const struct timeline_interval *v = &s->interval[i];
        work[v->work]++;
        launched += v->launch_ns != GPU_NO_TIME;
        first += v->is_first;
        graph += v->in_graph;
    }
    printf("stream %u %u %u %u %u %u %u\n", s->stream, work[GPU_KERNEL], work[GPU_COPY],
           work[GPU_FILL], launched, first, graph);
}

static void print_gaps(const struct timeline_stream *s)
{
    printf("gaps");
    for (size_t i = 1; i < s->count && i < 6; i++)
        printf(" %llu",
               (unsigned long long)(s->interval[i].start_ns - s->interval[i - 1].end_ns + 50) /
                   100 * 100);
    printf("\n");
}

static int dump_timeline(const char *path)
{
    struct timeline *t;
    struct timeline_window w;
    unsigned long long missing = 0;
    if (timeline_open(&t, path, NULL) != ST_OK)
        return 1;
    while (timeline_next(t, &w, NULL) == ST_OK) {
        missing += w.missing;
        for (size_t i = 0; i < w.nstreams; i++) {
            print_stream(&w.streams[i]);
            if (w.streams[i].stream == 1)
                print_gaps(&w.streams[i]);
        }
    }
    printf("missing %llu\n", missing);
    timeline_close(t);
    return 0;
}

static int dump(const char *path, const char *what)
{
    struct reader *r;
    struct reader_frame frame;
    struct fault fault;
    size_t count;
    if (strcmp(what, "timeline") == 0)
        return dump_timeline(path);
    memset(calls, 0, sizeof calls);
    memset(streams, 0, sizeof streams);
    memset(phases, 0, sizeof phases);
    in_phases = lost = 0;
    if (reader_open(&r, path, &fault) != ST_OK)
        return 1;
    while (reader_next(r, &frame, &fault) == ST_OK)
        add_frame(&frame, strcmp(what, "facts") == 0);
    const struct reader_shard *shard = reader_shards(r, &count);
    const struct trace_counters *c = &shard->counters;
    if (strcmp(what, "counters") == 0)
        printf("seen %llu\nrecorded %llu\nfailed %llu\ndropped %llu\ncomplete %d\n",
               (unsigned long long)c->seen, (unsigned long long)c->recorded,
               (unsigned long long)c->failed, (unsigned long long)loss_total(c), shard->complete);
    else if (strcmp(what, "phases") == 0)
        print_phases(r, c->recorded);
    else if (strcmp(what, "streams") == 0)
        for (int i = 0; i < STREAMS; i++)
            streams[i] ? printf("stream %d %llu\n", i, streams[i]) : 0;
    else if (strcmp(what, "facts") != 0)
        print_calls(r, what);
    reader_close(r);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *directory = argc == 3 ? opendir(argv[2]) : NULL;
    int failed = !directory;
    for (struct dirent *e; directory && (e = readdir(directory));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[2], e->d_name);
        if (strstr(e->d_name, ".twt"))
            failed |= dump(path, argv[1]);
    }
    return failed;
}
