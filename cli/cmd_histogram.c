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

enum {
    OPS_MAX = 6,
    SHAPES_MAX = 16,
    STRIPS_MAX = 10,
    WIDTH = 900,        /* pixels, of a picture with one column */
    COLUMN_WIDTH = 520, /* with several */
    PANEL_HEIGHT = 270,
    SHAPES_HEIGHT = 330 /* longer labels */
};

static const char *by = "time", *dimension = "auto", *output = "", *format = "auto";
static bool windows;

static const struct option_row rows[] = {
    { "by", 'b', OPTION_CHOICE, "WHAT", "bars: share of the time, of the calls, or both", &by,
      "time|calls|both" },
    { "dim", 'd', OPTION_CHOICE, "DIM",
      "one dimension as called, or the largest shapes (default: all that have several values)",
      &dimension, "auto|m|n|k|batch|shape" },
    { "windows", 'w', OPTION_FLAG, NULL, "the largest shapes over the time of the run", &windows,
      NULL },
    { "format", 'f', OPTION_CHOICE, "FORMAT",
      "text, svg, png or pdf (default: by the ending of FILE, else text)", &format,
      "auto|text|svg|png|pdf" },
    OPTION_ROW_OUTPUT(&output),
    { 0 },
};

static const struct usage usage = {
    .command = "histogram",
    .args = "TRACE...",
    .doc =
        "Show the shapes of each operation as bars: in the terminal, or as SVG, PNG or PDF "
        "through gnuplot.\v"
        "Per operation and element type, the largest six. Times are those of the calls, or, where "
        "they were measured, of their kernels on the GPU. Several traces are merged first.",
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

static bool is_by_calls(void)
{
    return is(by, "calls");
}

static size_t op_count(const struct analysis *a)
{
    return a->nops < OPS_MAX ? a->nops : OPS_MAX;
}

/* Is it asked for, of this group: by name, or for having something to show? */
static bool is_chosen(const struct analysis_group *g, enum shape_dimension d)
{
    if (!is(dimension, "auto"))
        return is(dimension, shape_dimension_name(d));
    return d == SHAPE_M || g->stability.values[d] > 1;
}

static bool is_chosen_anywhere(const struct analysis *a, enum shape_dimension d)
{
    bool any = false;
    for (size_t i = 0; i < op_count(a); i++)
        any |= is_chosen(&a->ops[i], d);
    return any;
}

/* "gemm f32: 12,000 calls, 45.8 % of the wall time" */
static const char *heading(const struct analysis_group *g, char text[160])
{
    const struct heat *h = &g->heat;
    int used = snprintf(text, 160, "%s: %s calls, ", words_operation(g->op, g->dtype),
                        words_count(g->calls));
    if (h->is_of_launches)
        snprintf(text + used, 160 - (size_t)used, "GPU time not known: time is that of launches");
    else
        snprintf(text + used, 160 - (size_t)used, "%s of the %s", words_share(h->wall_share),
                 h->is_of_gpu ? "time of the GPU" : "wall time");
    return text;
}

/* Everything that reaches gnuplot is a number or a word of ours: no name out of a trace. */
static enum status shape_data(FILE *script, const struct analysis *a,
                              const struct analysis_group *g)
{
    struct shape_shares shares;
    enum status st = shape_bins_shares(&shares, a, g);
    for (size_t i = 0; st == ST_OK && i < shares.count && i < SHAPES_MAX; i++) {
        const struct shape_share *one = &shares.share[i];
        const struct tilewise_signature *s = &a->summary->signatures[one->signature].signature;
        fprintf(script, "\"%s %s\" %.6f %.6f\n", words_shape(s), words_trans(s), 100 * one->time,
                100 * one->calls);
    }
    shape_bins_free_shares(&shares);
    return st;
}

static enum status bin_data(FILE *script, const struct analysis *a, const struct analysis_group *g,
                            enum shape_dimension d)
{
    struct shape_bins bins;
    char label[48];
    if (shape_bins_fill(&bins, a, g, d) != ST_OK)
        return ST_NOMEM;
    for (size_t i = 0; i < bins.count; i++)
        fprintf(script, "\"%s\" %.6f %.6f\n", shape_bins_label(&bins.bin[i], label, sizeof label),
                100 * bins.bin[i].time, 100 * bins.bin[i].calls);
    return ST_OK;
}

/* Bars of one dimension; SHAPE_DIMENSIONS: of whole shapes. */
static enum status bar_panel(FILE *script, const struct analysis *a, size_t op, int d,
                             const char *title)
{
    fputs("$panel << END\n", script);
    enum status st = d == SHAPE_DIMENSIONS
                         ? shape_data(script, a, &a->ops[op])
                         : bin_data(script, a, &a->ops[op], (enum shape_dimension)d);
    fprintf(script,
            "END\nstats $panel using 2 nooutput\n"
            "set xrange [-0.7:(STATS_records < 8 ? 7.7 : STATS_records - 0.3)]\n"
            "set title \"%s\"\nset xlabel \"%s\"\n",
            title,
            d == SHAPE_DIMENSIONS ? "m x n x k as called"
                                  : shape_dimension_name((enum shape_dimension)d));
    const char *time = "fillstyle solid 0.85 linecolor rgb \"#3b6fc4\"",
               *calls = "fillstyle empty linecolor rgb \"#222222\"";
    if (is(by, "both"))
        fprintf(script, "plot $panel using 2:xtic(1) %s, '' using 3 %s\n", time, calls);
    else
        fprintf(script, "plot $panel using %d:xtic(1) %s\n", is_by_calls() ? 3 : 2,
                is_by_calls() ? calls : time);
    return st;
}

/* A row of the picture per operation. Every row has the same columns. */
static enum status bar_row(FILE *script, const struct analysis *a, size_t op)
{
    char title[160];
    enum status st = ST_OK;
    bool is_first = true;
    heading(&a->ops[op], title);
    if (is(dimension, "shape"))
        return bar_panel(script, a, op, SHAPE_DIMENSIONS, title);
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS && st == ST_OK; d++) {
        if (!is_chosen_anywhere(a, d))
            continue;
        st = bar_panel(script, a, op, d, is_first ? title : " ");
        is_first = false;
    }
    return st;
}

static void strip_names(FILE *script, const struct analysis *a, const struct shape_shares *shares,
                        size_t shown)
{
    fputs("set ytics (", script);
    for (size_t i = 0; i < shown; i++) {
        const struct tilewise_signature *s =
            &a->summary->signatures[shares->share[i].signature].signature;
        fprintf(script, "%s\"%s %s\" %zu", i ? "," : "", words_shape(s), words_trans(s), i);
    }
    if (shares->count > shown)
        fprintf(script, ",\"%zu others\" %zu", shares->count - shown, shown);
    fprintf(script, ")\nset yrange [%.1f:-0.5]\n",
            (double)shown - 0.5 + (shares->count > shown ? 1 : 0));
}

/* A cell per window and shape: the darker, the more of the window. */
static enum status window_row(FILE *script, const struct analysis *a, size_t op)
{
    struct shape_shares shares;
    char title[160];
    enum status st = shape_bins_shares(&shares, a, &a->ops[op]);
    size_t shown = st != ST_OK ? 0 : shares.count < STRIPS_MAX ? shares.count : STRIPS_MAX;
    double *part = shown ? shape_bins_windows(a, &shares, shown, is_by_calls()) : NULL;
    if (part) {
        strip_names(script, a, &shares, shown);
        fputs("$panel << END\n", script);
        for (size_t w = 0; w < a->summary->nwindows; w++)
            for (size_t i = 0; i <= shown; i++)
                if (part[w * (shown + 1) + i] > 0)
                    fprintf(script, "%zu %zu %.4f\n", w + 1, i, 100 * part[w * (shown + 1) + i]);
        fprintf(script,
                "END\nset title \"%s\"\nset xrange [0.5:%.1f]\n"
                "plot $panel using 1:2:(0.5):(0.42):3 with boxxyerror fillstyle solid noborder "
                "linecolor palette notitle\n",
                heading(&a->ops[op], title), (double)a->summary->nwindows + 0.5);
    }
    free(part);
    shape_bins_free_shares(&shares);
    return part ? ST_OK : ST_NOMEM;
}

static size_t column_count(const struct analysis *a)
{
    size_t columns = 0;
    if (windows || is(dimension, "shape"))
        return 1;
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        columns += is_chosen_anywhere(a, d);
    return columns;
}

static void style(FILE *script)
{
    fputs("set border 3\nset tics nomirror scale 0.5\nset title offset 0,-0.4\n", script);
    if (windows) {
        fprintf(script,
                "set xlabel \"window\"\nset cbrange [0:100]\nset cblabel \"%% of %s\"\n"
                "set palette defined (0 \"#eef3fb\", 100 \"#173a75\")\n",
                is_by_calls() ? "calls" : "time");
        return;
    }
    fputs("set style data histograms\nset style histogram clustered gap 0.6\nset grid ytics\n"
          "set yrange [0:*]\nset xtics rotate by 35 right\nset ylabel \"%\"\n",
          script);
    /* Room for labels, the same in every panel, so that axes stand in line. */
    fputs(is(dimension, "shape") ? "set lmargin 17\nset bmargin 8\n"
                                 : "set lmargin 8\nset bmargin 6\n",
          script);
}

static enum status write_script(FILE *script, const void *context)
{
    const struct analysis *a = context;
    size_t rows_count = op_count(a), columns = column_count(a);
    gnuplot_terminal(
        script, chosen_format(), (unsigned)(columns > 1 ? columns * COLUMN_WIDTH : WIDTH),
        (unsigned)rows_count * (is(dimension, "shape") && !windows ? SHAPES_HEIGHT : PANEL_HEIGHT));
    fprintf(script, "unset key\nset multiplot layout %zu,%zu title \"%s\"\n", rows_count, columns,
            windows          ? "the largest shapes over time"
            : is(by, "both") ? "share of the time (filled) and of the calls (outlined)"
            : is_by_calls()  ? "share of the calls"
                             : "share of the time");
    style(script);
    enum status st = ST_OK;
    for (size_t i = 0; i < rows_count && st == ST_OK; i++)
        st = windows ? window_row(script, a, i) : bar_row(script, a, i);
    fputs("unset multiplot\n", script);
    return st;
}

static enum status text_panel(const struct analysis *a, const struct analysis_group *g, FILE *out)
{
    char title[160];
    enum status st = ST_OK;
    fprintf(out, "%s\n", heading(g, title));
    if (windows)
        return textchart_windows(a, g, is_by_calls(), out);
    if (is(dimension, "shape"))
        return textchart_shapes(a, g, is_by_calls(), out);
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS && st == ST_OK; d++)
        if (is_chosen(g, d))
            st = textchart_dimension(a, g, d, is_by_calls(), out);
    return st;
}

static enum status print(const struct analysis *a, struct fault *fault)
{
    struct output out;
    enum status st = output_open(&out, output, fault);
    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < op_count(a) && st == ST_OK; i++)
        st = text_panel(a, &a->ops[i], out.stream);
    if (a->nops > OPS_MAX)
        fprintf(out.stream, "and %zu more operations: see tilewise report\n", a->nops - OPS_MAX);
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
