/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/shape_bins.h"
#include "analysis/textchart.h"
#include "analysis/words.h"
#include "cli/command.h"
#include "cli/gnuplot.h"
#include "cli/options.h"
#include "cli/output.h"
#include "traces/summary.h"

enum { PANELS_MAX = 6, SHAPES_MAX = 16, LAYERS_MAX = 8, WIDTH = 900, PANEL_HEIGHT = 260 };

static const char *by = "time", *dimension = "auto", *output = "", *format = "auto";
static bool windows;

static const struct option_row rows[] = {
    { "by", 'b', OPTION_CHOICE, "WHAT", "bars: share of the time, of the calls, or both", &by,
      "time|calls|both" },
    { "dim", 'd', OPTION_CHOICE, "DIM",
      "one dimension as called, or the largest shapes (default: m; in text all that move)",
      &dimension, "auto|m|n|k|batch|shape" },
    { "windows", 'w', OPTION_FLAG, NULL, "the largest shapes over the time of the run", &windows,
      NULL },
    { "format", 'f', OPTION_CHOICE, "FORMAT",
      "text, svg, png or pdf (default: by the ending of FILE, else text)", &format,
      "auto|text|svg|png|pdf" },
    { "output", 'o', OPTION_TEXT, "FILE", "write to FILE instead of standard output", &output,
      NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "histogram",
    .args = "TRACE...",
    .doc = "Show the shapes of each operation as bars: in the terminal, or as SVG, PNG or PDF "
           "through gnuplot.\v"
           "One panel per operation and element type, the largest six. Several traces are merged "
           "first.",
    .options = rows,
    .min_args = 1,
    .max_args = -1,
};

static bool is(const char *value, const char *word)
{
    return strcmp(value, word) == 0;
}

/* What `auto` means: the ending of the file, if it is one that we draw. */
static const char *chosen_format(void)
{
    static const char *const drawn[] = { "svg", "png", "pdf" };
    const char *dot = strrchr(output, '.');
    if (!is(format, "auto"))
        return format;
    for (size_t i = 0; dot && i < sizeof drawn / sizeof *drawn; i++)
        if (is(dot + 1, drawn[i]))
            return drawn[i];
    return "text";
}

static enum shape_dimension chosen_dimension(void)
{
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        if (is(dimension, shape_dimension_name(d)))
            return d;
    return SHAPE_M;
}

static size_t panel_count(const struct analysis *a)
{
    return a->nops < PANELS_MAX ? a->nops : PANELS_MAX;
}

/* Everything that reaches gnuplot is a number or a word of ours: no name out of a trace. */
static enum status shape_data(FILE *script, const struct analysis *a,
                              const struct analysis_group *g)
{
    struct shape_share *shares = shape_bins_shares(a, g);
    for (size_t i = 0; i < g->nmembers && i < SHAPES_MAX && shares; i++) {
        const struct tilewise_signature *s = &a->summary->signatures[shares[i].signature].signature;
        fprintf(script, "\"%s %s\" %.6f %.6f\n", words_shape(s), words_trans(s),
                100 * shares[i].time, 100 * shares[i].calls);
    }
    free(shares);
    return shares ? ST_OK : ST_NOMEM;
}

static enum status bin_data(FILE *script, const struct analysis *a, const struct analysis_group *g)
{
    struct shape_bins bins;
    char label[48];
    if (shape_bins_fill(&bins, a, g, chosen_dimension()) != ST_OK)
        return ST_NOMEM;
    for (size_t i = 0; i < bins.count; i++)
        fprintf(script, "\"%s\" %.6f %.6f\n", shape_bins_label(&bins.bin[i], label, sizeof label),
                100 * bins.bin[i].time, 100 * bins.bin[i].calls);
    return ST_OK;
}

static void title(FILE *script, const struct analysis_group *g)
{
    fprintf(script, "set title \"%s %s: %s calls, %s of wall time\"\n", tilewise_op_name(g->op),
            tilewise_dtype_name(g->dtype), words_count(g->calls), words_share(g->heat.wall_share));
}

static enum status bar_panel(FILE *script, const struct analysis *a, size_t number)
{
    const struct analysis_group *g = &a->ops[number];
    fprintf(script, "$panel%zu << END\n", number);
    enum status st = is(dimension, "shape") ? shape_data(script, a, g) : bin_data(script, a, g);
    fprintf(script,
            "END\nstats $panel%zu using 2 nooutput\n"
            "set xrange [-0.7:(STATS_records < 10 ? 9.7 : STATS_records - 0.3)]\n",
            number);
    title(script, g);
    const char *time = "with boxes linecolor rgb \"#3b6fc4\" title \"time\"",
               *calls = "with boxes fillstyle empty linecolor rgb \"#222222\" title \"calls\"";
    if (is(by, "both"))
        fprintf(script, "plot $panel%zu using 2:xtic(1) %s, '' using 3 %s\n", number, time, calls);
    else
        fprintf(script, "plot $panel%zu using %d:xtic(1) %s\n", number, is(by, "time") ? 2 : 3,
                is(by, "time") ? time : calls);
    return st;
}

static void window_data(FILE *script, const double *part, size_t windows_count, size_t layers)
{
    for (size_t w = 0; w < windows_count; w++) {
        for (size_t i = 0; i < layers; i++)
            fprintf(script, "%.4f ", 100 * part[w * layers + i]);
        fputc('\n', script);
    }
}

/* Stacked: the largest shapes by window. */
static enum status window_panel(FILE *script, const struct analysis *a, size_t number)
{
    const struct analysis_group *g = &a->ops[number];
    size_t layers = g->nmembers < LAYERS_MAX ? g->nmembers : LAYERS_MAX;
    struct shape_share *shares = shape_bins_shares(a, g);
    double *part = shares ? textchart_window_shares(a, g, shares, layers, is(by, "calls")) : NULL;
    fprintf(script, "$panel%zu << END\n", number);
    if (part)
        window_data(script, part, a->summary->nwindows, layers);
    fputs("END\n", script);
    title(script, g);
    for (size_t i = 0; i < layers && shares; i++) {
        const struct tilewise_signature *s = &a->summary->signatures[shares[i].signature].signature;
        fprintf(script,
                "%s $panel%zu using %zu with histograms fillstyle pattern %zu title \"%s %s\"",
                i ? "," : "plot", number, i + 1, i + 1, words_shape(s), words_trans(s));
    }
    fputc('\n', script);
    free(shares);
    free(part);
    return part ? ST_OK : ST_NOMEM;
}

static enum status write_script(FILE *script, const void *context)
{
    const struct analysis *a = context;
    size_t panels = panel_count(a);
    gnuplot_terminal(script, chosen_format(), WIDTH, (unsigned)panels * PANEL_HEIGHT);
    fprintf(script,
            "set multiplot layout %zu,1\nset style fill solid 0.8\nset boxwidth 0.8\n"
            "set grid ytics\nset yrange [0:*]\nset ylabel \"%% of %s\"\n",
            panels,
            is(by, "calls")             ? "calls"
            : windows || is(by, "time") ? "time"
                                        : "time, calls");
    if (windows)
        fputs("set style data histograms\nset style histogram rowstacked\nset key outside\n"
              "set yrange [0:100]\nset xlabel \"window\"\n",
              script);
    else
        fprintf(script, "set xtics rotate by -35 scale 0\nset xlabel \"%s\"\n",
                is(dimension, "shape") ? "m x n x k as called"
                                       : shape_dimension_name(chosen_dimension()));
    enum status st = ST_OK;
    for (size_t i = 0; i < panels && st == ST_OK; i++)
        st = windows ? window_panel(script, a, i) : bar_panel(script, a, i);
    fputs("unset multiplot\n", script);
    return st;
}

/* One dimension, the shapes, or, without a wish, every dimension that has more than one value. */
static enum status text_panel(const struct analysis *a, const struct analysis_group *g, FILE *out)
{
    enum status st = ST_OK;
    fprintf(out, "%s %s: %s calls, %s of wall time\n", tilewise_op_name(g->op),
            tilewise_dtype_name(g->dtype), words_count(g->calls), words_share(g->heat.wall_share));
    if (windows)
        return textchart_windows(a, g, is(by, "calls"), out);
    if (is(dimension, "shape"))
        return textchart_shapes(a, g, out);
    else if (!is(dimension, "auto"))
        return textchart_dimension(a, g, chosen_dimension(), out);
    else
        for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS && st == ST_OK; d++)
            if (d == SHAPE_M || g->stability.values[d] > 1)
                st = textchart_dimension(a, g, d, out);
    return st;
}

static enum status print(const struct analysis *a, struct fault *fault)
{
    struct output out;
    enum status st = output_open(&out, output, fault);
    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < panel_count(a) && st == ST_OK; i++)
        st = text_panel(a, &a->ops[i], out.stream);
    return output_close(&out, st, fault);
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
    if (st == ST_OK && a->nops == 0)
        st = fault_set(fault, ST_INVALID, "the traces hold no calls: nothing to draw");
    if (st == ST_OK)
        st = is(chosen_format(), "text") ? print(a, fault)
                                         : gnuplot_draw(write_script, a, output, fault);
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
