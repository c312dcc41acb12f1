/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/phases.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/escape.h"
#include "analysis/words.h"

/* What a reader can take in; the rest is in the JSON. */
enum { ROWS_MAX = 24 };

struct row {
    uint32_t shape;
    struct analysis_phase in;
};

static int by_shape_and_phase(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->shape != b->shape)
        return a->shape > b->shape ? 1 : -1;
    return (a->in.phase > b->in.phase) - (a->in.phase < b->in.phase);
}

/* Rows of one shape and phase become one. Returns how many are left. */
static size_t unite(struct row *rows, size_t count)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        struct row *last = used ? &rows[used - 1] : NULL;
        if (last && by_shape_and_phase(last, &rows[i]) == 0) {
            last->in.calls += rows[i].in.calls;
            last->in.time_ns += rows[i].in.time_ns;
        } else {
            rows[used++] = rows[i];
        }
    }
    return used;
}

enum status phases_attach(struct analysis *a, const uint32_t *shape_of)
{
    const struct summary_phases *p = &a->summary->phases;
    struct row *rows = calloc(p->ncells + 1, sizeof *rows);
    a->phase_rows = calloc(p->ncells + 1, sizeof *a->phase_rows);
    if (!rows || !a->phase_rows) {
        free(rows);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < p->ncells; i++) {
        const struct summary_phase_cell *c = &p->cells[i];
        rows[i] = (struct row){ shape_of[c->signature], { c->phase, c->calls, c->time_ns } };
    }
    qsort(rows, p->ncells, sizeof *rows, by_shape_and_phase);
    size_t count = unite(rows, p->ncells);
    for (size_t i = 0; i < count; i++) {
        struct analysis_shape *shape = &a->shapes[rows[i].shape];
        a->phase_rows[i] = rows[i].in;
        if (shape->nphases++ == 0)
            shape->phases = &a->phase_rows[i];
    }
    free(rows);
    return ST_OK;
}

const char *phases_name(const struct summary *s, uint32_t phase)
{
    return s->strings[s->phases.phases[phase].name];
}

double phases_time_ns(const struct summary_phase *p)
{
    return p->ended ? (double)p->time_ns : NAN;
}

uint64_t phases_outside(const struct summary *s)
{
    uint64_t inside = 0;
    for (size_t i = 0; i < s->phases.nphases; i++)
        inside += s->phases.phases[i].calls;
    return s->calls > inside ? s->calls - inside : 0;
}

/* How a table is written: text around the cells of a row, and the escape of a name. */
struct style {
    const char *head, *begin, *cell, *end, *foot;
    void (*name)(FILE *out, const char *name);
};

static void put_row(const struct style *style, FILE *out, const char *name,
                    const char *const cells[4])
{
    fputs(style->begin, out);
    style->name(out, name);
    for (int i = 0; i < 4; i++)
        fprintf(out, style->cell, cells[i]);
    fputs(style->end, out);
}

static void put_table(const struct analysis *a, const struct style *style, FILE *out)
{
    const struct summary *s = a->summary;
    const struct summary_phases *p = &s->phases;
    if (p->nphases == 0)
        return;
    fputs(style->head, out);
    for (size_t i = 0; i < p->nphases && i < ROWS_MAX; i++) {
        const struct summary_phase *phase = &p->phases[i];
        put_row(style, out, phases_name(s, (uint32_t)i),
                (const char *const[]){ words_count(phase->entries), words_ns(phases_time_ns(phase)),
                                       words_count(phase->calls),
                                       words_ns((double)phase->call_ns) });
    }
    put_row(style, out, "(outside of all)",
            (const char *const[]){ "-", "-", words_count(phases_outside(s)), "-" });
    fputs(style->foot, out);
}

/* What the table leaves out. */
static void put_rest(const struct analysis *a, FILE *out)
{
    const struct summary_phases *p = &a->summary->phases;
    if (p->nphases > ROWS_MAX)
        fprintf(out, "and %s more phases\n", words_count(p->nphases - ROWS_MAX));
    if (p->lost)
        fprintf(out, "%s ranges or marks had no room and are not told apart\n",
                words_count(p->lost));
}

static void plain_name(FILE *out, const char *name)
{
    fputs("  ", out);
    escape_plain(out, name);
    fputs("\n    ", out);
}

void phases_text(const struct analysis *a, FILE *out)
{
    static const struct style style = {
        "\nphases (entries, time of the ranges, calls in no phase inside, time of these calls)\n",
        "",
        " %12s",
        "\n",
        "",
        plain_name
    };
    put_table(a, &style, out);
    put_rest(a, out);
}

void phases_md(const struct analysis *a, FILE *out)
{
    static const struct style style = {
        "\n## Phases\n\n| phase | entries | time | calls | time of calls |\n"
        "| --- | ---: | ---: | ---: | ---: |\n",
        "| ",
        " | %s",
        " |\n",
        "\n",
        escape_markdown
    };
    put_table(a, &style, out);
    put_rest(a, out);
}

static void html_name(FILE *out, const char *name)
{
    escape_html(out, name);
    fputs("</th>", out);
}

void phases_html(const struct analysis *a, FILE *out)
{
    static const struct style style = {
        "<h2 id=\"phases\">Phases</h2>\n<p>Ranges that the program named. A call belongs to the "
        "innermost one "
        "that "
        "was open on its thread; the time of a range holds that of ranges inside.</p>\n"
        "<table><thead><tr><th class=\"t\">phase</th><th>entries</th><th>time</th><th>calls</th>"
        "<th>time of calls</th></tr></thead><tbody>\n",
        "<tr><th scope=\"row\" class=\"t\">",
        "<td>%s</td>",
        "</tr>\n",
        "</tbody></table>\n",
        html_name
    };
    put_table(a, &style, out);
    const struct summary_phases *p = &a->summary->phases;
    if (p->nphases > ROWS_MAX || (p->nphases && p->lost)) {
        fputs("<p class=\"notice\">", out);
        put_rest(a, out);
        fputs("</p>\n", out);
    }
}
