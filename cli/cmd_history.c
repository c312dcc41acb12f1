/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/hardware.h"
#include "analysis/history.h"
#include "analysis/words.h"
#include "cli/command.h"
#include "cli/gnuplot.h"
#include "cli/inputs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "traces/crc32c.h"

enum { CURVES_MAX = 6, PANEL_HEIGHT = 320, FILE_BYTES_MAX = 1 << 28 };

static const char *format = "text", *output = "", *policy_path = "";
static bool any_hardware;
static uint64_t shapes = 10;

static const struct option_row rows[] = {
    { "format", 'f', OPTION_CHOICE, "FORMAT", "text, json, md, or a chart: svg, png, pdf", &format,
      "text|json|md|svg|png|pdf" },
    OPTION_ROW_OUTPUT(&output),
    OPTION_ROW_POLICY(&policy_path),
    { "shapes", 's', OPTION_COUNT, "N", "how many shapes to show one by one (default: 10)", &shapes,
      NULL },
    { "any-hardware", 0, OPTION_FLAG, NULL, "show replays of different hardware side by side",
      &any_hardware, NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "history",
    .args = "DIR | add DIR RESULT.twr TRACE...",
    .doc = "Show how replays went over time; or keep one more, with the verdicts that it leads "
           "to.\v"
           "A history is a directory of result files, one for each replay, named by date and "
           "content: `add` never changes one, and adding the same result again changes nothing. "
           "Replays of different hardware are refused unless --any-hardware is given.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

/* The name of a kept result: its date as digits, and a checksum of the file, so that the same one
 * has the same name. */
static enum status name_of(const struct history_entry *e, const char *result, char *name,
                           size_t name_bytes, struct fault *fault)
{
    char digits[24] = "";
    size_t used = 0;
    for (const char *c = history_run(e)->date_utc; *c && used < 14; c++)
        if (*c >= '0' && *c <= '9')
            digits[used++] = *c;
    FILE *file = fopen(result, "re");
    struct stat info;
    if (!file || fstat(fileno(file), &info) != 0 || info.st_size > FILE_BYTES_MAX) {
        if (file)
            fclose(file);
        return fault_set(fault, ST_IO, "%s: cannot be read", result);
    }
    size_t bytes = (size_t)info.st_size;
    void *content = malloc(bytes + 1);
    bool whole = content && fread(content, 1, bytes, file) == bytes;
    if (whole)
        snprintf(name, name_bytes, "%s-%08" PRIx32 ".twr", used ? digits : "undated",
                 crc32c(content, bytes));
    free(content);
    fclose(file);
    return whole ? ST_OK : fault_set(fault, ST_IO, "%s: cannot be read", result);
}

/* Written beside its place and linked into it: never over an older file. */
static enum status keep(const struct analysis *a, const char *directory, const char *name,
                        struct fault *fault)
{
    char *path = NULL, *partial = NULL;
    struct result_writer *w = NULL;
    enum status st = ST_NOMEM;
    fault_set(fault, st, "out of memory");
    if (asprintf(&path, "%s/%s", directory, name) >= 0 &&
        asprintf(&partial, "%s/.%s.%d", directory, name, (int)getpid()) >= 0)
        st = result_create(&w, partial, fault);
    if (w) {
        st = history_write(w, a);
        enum status closed = result_close(w);
        st = st == ST_OK ? closed : st;
        if (st != ST_OK)
            fault_set(fault, st, "%s: writing failed: %s", path, strerror(errno));
        else if (link(partial, path) == 0)
            fprintf(stderr, "tilewise history: kept as %s\n", path);
        else if (errno == EEXIST)
            fprintf(stderr, "tilewise history: %s is there already: nothing to do\n", path);
        else
            st = fault_set(fault, ST_IO, "%s: %s", path, strerror(errno));
        unlink(partial);
    }
    free(path);
    free(partial);
    return st;
}

static enum status add(char *const *args, size_t count, const struct policy *policy,
                       struct fault *fault)
{
    struct inputs in = { .summary = NULL };
    char name[64];
    if (access(args[1], R_OK) != 0)
        return fault_set(fault, ST_IO, "%s: %s", args[1], strerror(errno));
    if (!result_is_result_file(args[1]))
        return fault_set(fault, ST_INVALID, "%s: not a result of tilewise replay", args[1]);
    if (mkdir(args[0], 0700) != 0 && errno != EEXIST)
        return fault_set(fault, ST_IO, "%s: %s", args[0], strerror(errno));
    enum status st = inputs_read(&in, args + 1, count - 1, policy, fault);
    if (st == ST_OK && in.results.nruns != 1)
        st = fault_set(fault, ST_INVALID, "%s: one result at a time; these hold %zu replays",
                       args[1], in.results.nruns);
    const struct history_entry e = { args[1], &in.results };
    if (st == ST_OK)
        st = name_of(&e, args[1], name, sizeof name, fault);
    if (st == ST_OK)
        st = keep(in.analysis, args[0], name, fault);
    inputs_free(&in);
    return st;
}

/* The results of a directory. */
struct shelf {
    struct inputs_paths paths;
    struct result_set *sets;
    struct history_entry *entries;
    size_t count;
};

static void free_shelf(struct shelf *s)
{
    for (size_t i = 0; i < s->count && s->sets; i++)
        result_free(&s->sets[i]);
    free(s->sets);
    free(s->entries);
    inputs_free_paths(&s->paths);
}

static enum status read_shelf(struct shelf *s, char *const *args, struct fault *fault)
{
    if (access(args[0], R_OK) != 0)
        return fault_set(fault, ST_IO, "%s: %s", args[0], strerror(errno));
    enum status st = inputs_expand(&s->paths, args, 1, fault);
    if (st != ST_OK)
        return st;
    s->sets = calloc(s->paths.count, sizeof *s->sets);
    s->entries = calloc(s->paths.count, sizeof *s->entries);
    if (!s->sets || !s->entries)
        return fault_set(fault, ST_NOMEM, "out of memory");
    for (size_t i = 0; i < s->paths.count && st == ST_OK; i++) {
        if (!result_is_result_file(s->paths.path[i]))
            continue;
        const char *slash = strrchr(s->paths.path[i], '/');
        struct result_set *set = &s->sets[s->count];
        s->entries[s->count++] =
            (struct history_entry){ slash ? slash + 1 : s->paths.path[i], set };
        st = result_read(set, s->paths.path[i], fault);
        if (st == ST_OK && set->nruns == 0)
            st = fault_set(fault, ST_INVALID, "%s: holds no replay", s->paths.path[i]);
    }
    if (st == ST_OK && s->count == 0)
        return fault_set(fault, ST_INVALID, "%s: no result of tilewise replay in it", args[0]);
    return st;
}

/* The library itself: the line that kernels have to cross. */
#define PLOT "plot 1 with lines linecolor rgb \"#888888\" dashtype 2 title \"library\""

/* What the chart's script is made from. */
struct chart {
    const struct history *h;
    const struct policy *policy;
};

/* A date comes from a file: only digits, dashes and colons reach gnuplot. "2026-11-30 07:52". */
static void print_date(FILE *script, const char *date)
{
    char clean[17] = "";
    size_t used = 0;
    for (; *date && used < sizeof clean - 1; date++)
        if ((*date >= '0' && *date <= '9') || *date == '-' || *date == ':' || *date == 'T')
            clean[used++] = (char)(*date == 'T' ? ' ' : *date);
    fputs(used ? clean : "undated", script);
}

static void print_dates(FILE *script, const struct history *h)
{
    size_t step = h->nentries / 12 + 1;
    fputs("set xtics rotate by -35 (", script);
    for (size_t i = 0; i < h->nentries; i += step) {
        fprintf(script, "%s\"", i ? "," : "");
        print_date(script, history_run(&h->entries[i])->date_utc);
        fprintf(script, "\" %zu", i);
    }
    fprintf(script, ")\nset xrange [-0.5:%zu.5]\n", h->nentries - 1);
}

/* The curve of one operation; returns how many points it has. */
static size_t print_op(FILE *script, const struct chart *c, const uint8_t op[2], size_t number)
{
    size_t points = 0;
    fprintf(script, "$op%zu << END\n", number);
    for (size_t e = 0; e < c->h->nentries; e++) {
        struct history_cost cost = history_cost(&c->h->entries[e], op[0], op[1], c->policy);
        if (!(cost.library_ns > 0))
            continue;
        fprintf(script, "%zu %.6g\n", e, cost.library_ns / cost.table_ns);
        points++;
    }
    fputs("END\n", script);
    return points;
}

static void print_ops(FILE *script, const struct chart *c)
{
    uint8_t ops[CURVES_MAX][2];
    size_t points[CURVES_MAX], count = history_ops(c->h, ops, CURVES_MAX);
    for (size_t i = 0; i < count; i++)
        points[i] = print_op(script, c, ops[i], i);
    fputs(
        "set title \"the recorded calls, by the best table of kernels: times the library\"\n" PLOT,
        script);
    for (size_t i = 0; i < count; i++)
        if (points[i])
            fprintf(script, ", $op%zu using 1:2 with linespoints pointtype %zu title \"%s %s\"", i,
                    i + 4, tilewise_op_name(ops[i][0]), tilewise_dtype_name(ops[i][1]));
    fputc('\n', script);
}

static size_t print_shape(FILE *script, const struct history_shape *shape, size_t number)
{
    size_t points = 0;
    fprintf(script, "$shape%zu << END\n", number);
    for (size_t p = 0; p < shape->npoints; p++) {
        const struct history_point *point = &shape->points[p];
        const struct result_candidate *c = point->candidate;
        if (!c || !isfinite(c->ratio_best + c->best_lo + c->best_hi))
            continue;
        fprintf(script, "%zu %.6g %.6g %.6g\n", point->entry, c->ratio_best, c->best_lo,
                c->best_hi);
        points++;
    }
    fputs("END\n", script);
    return points;
}

static void print_shapes(FILE *script, const struct history *h)
{
    size_t points[CURVES_MAX], count = h->nshapes < CURVES_MAX ? h->nshapes : CURVES_MAX;
    for (size_t i = 0; i < count; i++)
        points[i] = print_shape(script, &h->shapes[i], i);
    fputs("set title \"the best verified kernel of the largest shapes: times the library\"\n" PLOT,
          script);
    for (size_t i = 0; i < count; i++) {
        const struct tilewise_signature *s = &h->shapes[i].row->signature;
        if (points[i])
            fprintf(script,
                    ", $shape%zu using 1:2:3:4 with yerrorlines pointtype %zu title \"%s %s %s\"",
                    i, i + 4, tilewise_op_name(s->op), words_shape(s), words_trans(s));
    }
    fputc('\n', script);
}

static enum status write_script(FILE *script, const void *context)
{
    const struct chart *c = context;
    gnuplot_terminal(script, format, 900, 2 * PANEL_HEIGHT);
    fputs("set multiplot layout 2,1\nset grid\nset key outside\nset datafile missing \"?\"\n",
          script);
    print_dates(script, c->h);
    print_ops(script, c);
    print_shapes(script, c->h);
    fputs("unset multiplot\n", script);
    return ST_OK;
}

static enum status write_tables(const struct chart *c, struct fault *fault)
{
    struct output out;
    enum status st = output_open(&out, output, fault);
    if (st != ST_OK)
        return st;
    size_t most = shapes < SIZE_MAX ? (size_t)shapes : SIZE_MAX;
    if (strcmp(format, "json") == 0)
        st = history_json(c->h, c->policy, out.stream);
    else
        (strcmp(format, "md") == 0 ? history_md : history_text)(c->h, c->policy, most, out.stream);
    return output_close(&out, st, fault);
}

static enum status refuse_strangers(const struct history *h, struct fault *fault)
{
    char here[160], there[160];
    const struct history_entry *stranger = history_stranger(h);
    if (!stranger || any_hardware)
        return ST_OK;
    return fault_set(fault, ST_INVALID,
                     "%.60s ran on %.100s, %.60s on %.100s: times do not compare; --any-hardware "
                     "shows both",
                     h->entries[0].name, hardware_words(history_run(&h->entries[0]), here),
                     stranger->name, hardware_words(history_run(stranger), there));
}

static enum status show(char *const *args, const struct policy *policy, struct fault *fault)
{
    struct shelf shelf = { .count = 0 };
    struct history *h = NULL;
    bool table = !strcmp(format, "text") || !strcmp(format, "json") || !strcmp(format, "md");
    enum status st = read_shelf(&shelf, args, fault);
    if (st == ST_OK)
        st = history_build(&h, shelf.entries, shelf.count, fault);
    if (st == ST_OK)
        st = refuse_strangers(h, fault);
    const struct chart chart = { h, policy };
    if (st == ST_OK)
        st =
            table ? write_tables(&chart, fault) : gnuplot_draw(write_script, &chart, output, fault);
    history_free(h);
    free_shelf(&shelf);
    return st;
}

int cmd_history(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    struct fault fault = { .status = ST_NOMEM };
    struct policy policy;
    bool adds = strcmp(argv[first], "add") == 0;
    int count = argc - first;
    if (adds ? count < 4 : count != 1) {
        fprintf(stderr,
                "tilewise history: needs DIR, or add DIR RESULT.twr TRACE...; see: tilewise "
                "help history\n");
        return EXIT_BAD_USAGE;
    }
    enum status st = policy_read(&policy, policy_path, &fault);
    if (st == ST_OK)
        st = adds ? add(argv + first + 1, (size_t)count - 1, &policy, &fault)
                  : show(argv + first, &policy, &fault);
    return st == ST_OK ? EXIT_FINE : command_fault("history", &fault);
}
