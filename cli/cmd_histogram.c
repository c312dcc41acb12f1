/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/shape_bins.h"
#include "analysis/words.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "traces/summary.h"

enum { PANELS_MAX = 6, SHAPES_MAX = 16, PANEL_HEIGHT = 260 };

extern char **environ;

static const char *by = "time", *dimension = "m", *output = "";

static const struct option_row rows[] = {
    { "by", 'b', OPTION_CHOICE, "WHAT", "height of the bars: share of the time or of the calls",
      &by, "time|calls" },
    { "dim", 'd', OPTION_CHOICE, "DIM", "one dimension as called, or the largest shapes",
      &dimension, "m|n|k|shape" },
    { "output", 'o', OPTION_TEXT, "FILE.svg", "write to FILE instead of standard output", &output,
      NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "histogram",
    .args = "TRACE...",
    .doc = "Draw the shapes of each operation as a bar chart (SVG), through "
           "gnuplot.\v"
           "One panel per operation and element type, the largest six. Several "
           "traces are merged "
           "first.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

static double height(double time, double calls)
{
    return 100 * (strcmp(by, "time") == 0 ? time : calls);
}

/* Everything that reaches gnuplot is a number or a word of ours: no name out of
 * a trace. */
static void shape_data(FILE *script, const struct analysis *a, const struct analysis_group *g)
{
    for (size_t i = 0; i < g->nmembers && i < SHAPES_MAX; i++) {
        const struct summary_signature *s = &a->summary->signatures[g->members[i]];
        fprintf(
            script, "\"%s %s\" %.6f\n", words_shape(&s->signature), words_trans(&s->signature),
            height((double)s->time_ns / (double)g->time_ns, (double)s->calls / (double)g->calls));
    }
}

static void bin_data(FILE *script, const struct shape_bins *bins)
{
    char label[48];
    for (size_t i = 0; i < bins->count; i++)
        fprintf(script, "\"%s\" %.6f\n", shape_bins_label(&bins->bin[i], label, sizeof label),
                height(bins->bin[i].time, bins->bin[i].calls));
}

static enum status panel(FILE *script, const struct analysis *a, size_t number)
{
    const struct analysis_group *g = &a->ops[number];
    fprintf(script, "$panel%zu << END\n", number);
    if (strcmp(dimension, "shape") == 0)
        shape_data(script, a, g);
    else {
        struct shape_bins bins;
        enum shape_dimension d = dimension[0] == 'm'   ? SHAPE_M
                                 : dimension[0] == 'n' ? SHAPE_N
                                                       : SHAPE_K;
        if (shape_bins_fill(&bins, a, g, d) != ST_OK)
            return ST_NOMEM;
        bin_data(script, &bins);
    }
    fprintf(script,
            "END\nstats $panel%zu using 2 nooutput\n"
            "set xrange [-0.7:(STATS_records < 10 ? 9.7 : STATS_records - 0.3)]\nset title \"%s "
            "%s: %s calls, %s of wall time\"\n"
            "plot $panel%zu using 2:xtic(1) with boxes linecolor rgb \"#3b6fc4\" "
            "notitle\n",
            number, tilewise_op_name(g->op), tilewise_dtype_name(g->dtype), words_count(g->calls),
            words_share(g->heat.wall_share), number);
    return ST_OK;
}

static enum status write_script(FILE *script, const struct analysis *a)
{
    size_t panels = a->nops < PANELS_MAX ? a->nops : PANELS_MAX;
    fprintf(script,
            "set terminal svg noenhanced dynamic size 900,%zu background rgb "
            "\"white\" font "
            "\"DejaVu Sans,12\"\n"
            "set multiplot layout %zu,1\nset style fill solid 0.8\nset boxwidth 0.8\n"
            "set xtics rotate by -35 scale 0\nset grid ytics\nset yrange [0:*]\n"
            "set ylabel \"%% of %s\"\nset xlabel \"%s\"\n",
            panels * PANEL_HEIGHT, panels, by,
            strcmp(dimension, "shape") == 0 ? "m x n x k as called" : dimension);
    enum status st = ST_OK;
    for (size_t i = 0; i < panels && st == ST_OK; i++)
        st = panel(script, a, i);
    fputs("unset multiplot\n", script);
    return fflush(script) == 0 ? st : ST_IO;
}

/* gnuplot reads the script from `script` and writes to `drawing`: two open
 * files, so neither can block on the other. */
static enum status run_gnuplot(FILE *script, FILE *drawing, struct fault *fault)
{
    char *const argv[] = { "gnuplot", "-d", NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int result;
    rewind(script);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return fault_set(fault, ST_NOMEM, "out of memory");
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(drawing), STDOUT_FILENO);
    int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT)
        return fault_set(fault, ST_UNSUPPORTED,
                         "gnuplot is not installed; install the package gnuplot-nox, or use "
                         "tilewise report --format=html, which needs none");
    if (error)
        return fault_set(fault, ST_IO, "gnuplot: %s", strerror(error));
    while (waitpid(pid, &result, 0) < 0)
        if (errno != EINTR)
            return fault_set(fault, ST_IO, "gnuplot: %s", strerror(errno));
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
        return fault_set(fault, ST_IO, "gnuplot failed; what it said is above");
    return ST_OK;
}

static enum status copy(FILE *from, FILE *to, struct fault *fault)
{
    char buffer[1 << 14];
    size_t bytes;
    rewind(from);
    while ((bytes = fread(buffer, 1, sizeof buffer, from)) > 0)
        if (fwrite(buffer, 1, bytes, to) != bytes)
            break; /* output_close() says why */
    return ferror(from) ? fault_set(fault, ST_IO, "temporary file: %s", strerror(errno)) : ST_OK;
}

/* gnuplot does not notice that a disk is full, so it draws into a temporary file and the copy is
 * checked. */
static enum status draw_panels(FILE *script, FILE *drawing, struct fault *fault)
{
    struct output out;
    enum status st = run_gnuplot(script, drawing, fault);
    if (st == ST_OK)
        st = output_open(&out, output, fault);
    return st == ST_OK ? output_close(&out, copy(drawing, out.stream, fault), fault) : st;
}

static enum status draw(const struct analysis *a, struct fault *fault)
{
    if (a->nops == 0)
        return fault_set(fault, ST_INVALID, "the traces hold no calls: nothing to draw");
    FILE *script = tmpfile(), *drawing = tmpfile();
    enum status st = ST_IO;
    if (!script || !drawing)
        fault_set(fault, ST_IO, "temporary file: %s", strerror(errno));
    else if ((st = write_script(script, a)) != ST_OK)
        fault_set(fault, st, "writing the gnuplot script: %s", status_text(st));
    else
        st = draw_panels(script, drawing, fault);
    if (script)
        fclose(script);
    if (drawing)
        fclose(drawing);
    return st;
}

static enum status run(char **paths, size_t count, struct fault *fault)
{
    struct summary *summary = NULL;
    struct analysis *a = NULL;
    const struct result_set none = { 0 };
    struct policy policy;
    policy_default(&policy);
    enum status st = summary_build(&summary, (const char *const *)paths, count, 0, fault);
    if (st == ST_OK)
        st = analysis_build(&a, summary, &none, &policy, fault);
    if (st == ST_OK)
        st = draw(a, fault);
    analysis_free(a);
    summary_free(summary);
    return st;
}

int cmd_histogram(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    struct fault fault = { .status = ST_NOMEM };
    enum status st = run(argv + first, (size_t)(argc - first), &fault);
    return st == ST_OK ? EXIT_FINE : command_fault("histogram", &fault);
}
