/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/escape.h"
#include "analysis/hardware.h"
#include "analysis/history.h"
#include "analysis/json.h"
#include "analysis/words.h"

enum { OPS_MAX = 64, CELL_BYTES = 64 };

/* How a table is written: to a terminal, or as Markdown. */
struct table {
    FILE *out;
    bool markdown;
    const int *widths;
};

/* At most `bytes`, and no character in halves. */
static int whole_bytes(const char *text, int bytes)
{
    if (strlen(text) <= (size_t)bytes)
        return bytes;
    while (bytes > 0 && ((unsigned char)text[bytes] & 0xc0) == 0x80)
        bytes--;
    return bytes;
}

static void cell(const struct table *t, size_t column, const char *text)
{
    char *clean = escape_copy(text ? text : "");
    char padded[CELL_BYTES * 2];
    snprintf(padded, sizeof padded, "%.*s", CELL_BYTES, clean && clean[0] ? clean : "-");
    free(clean);
    if (t->markdown) {
        fputs(column ? " " : "| ", t->out);
        escape_markdown(t->out, padded);
        fputs(" |", t->out);
    } else
        fprintf(t->out, "%s%-*.*s", column ? "  " : "", t->widths[column],
                whole_bytes(padded, t->widths[column]), padded);
}

static void header(const struct table *t, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cell(t, i, names[i]);
    fputc('\n', t->out);
    for (size_t i = 0; i < count && t->markdown; i++)
        fputs(i ? " --- |" : "| --- |", t->out);
    if (t->markdown)
        fputc('\n', t->out);
}

static void title(const struct table *t, const char *text)
{
    fprintf(t->out, t->markdown ? "\n**%s**\n\n" : "\n%s\n", text);
}

static const char *speedup(struct history_cost cost)
{
    return words_real(cost.library_ns / cost.table_ns, 3);
}

static const char *interval(double value, double lo, double hi, char text[CELL_BYTES])
{
    if (isnan(value))
        return "-";
    snprintf(text, CELL_BYTES, "%.3f (%.3f to %.3f)", value, lo, hi);
    return text;
}

static void op_table(const struct history *h, const struct policy *policy, const uint8_t op[2],
                     FILE *out, bool markdown)
{
    static const int widths[] = { 20, 26, 13, 7, 24, 10, 8 };
    static const char *const names[] = { "date", "library",    "verdict", "changed",
                                         "heat", "library ns", "speed-up" };
    const struct table t = { out, markdown, widths };
    const char *before = NULL;
    char text[CELL_BYTES];
    snprintf(text, sizeof text, "%s %s", tilewise_op_name(op[0]), tilewise_dtype_name(op[1]));
    title(&t, text);
    header(&t, names, sizeof names / sizeof *names);
    for (size_t i = 0; i < h->nentries; i++) {
        const struct history_entry *e = &h->entries[i];
        const struct result_verdict *v = history_verdict(e, op[0], op[1]);
        struct history_cost cost = history_cost(e, op[0], op[1], policy);
        bool changed = v && before && strcmp(v->verdict, before) != 0;
        if (!v && isnan(cost.library_ns))
            continue;
        cell(&t, 0, history_run(e)->date_utc);
        cell(&t, 1, history_run(e)->baseline_library);
        cell(&t, 2, v ? v->verdict : NULL);
        cell(&t, 3, changed ? "CHANGED" : "-");
        cell(&t, 4, v ? interval(v->heat, v->heat_lo, v->heat_hi, text) : NULL);
        cell(&t, 5, words_ns(cost.library_ns));
        cell(&t, 6, speedup(cost));
        fputc('\n', out);
        before = v ? v->verdict : before;
    }
}

static void shape_table(const struct history *h, const struct history_shape *s, FILE *out,
                        bool markdown)
{
    static const int widths[] = { 20, 11, 28, 26, 8 };
    static const char *const names[] = { "date", "library", "best kernel", "times the library",
                                         "call" };
    const struct table t = { out, markdown, widths };
    const struct tilewise_signature *g = &s->row->signature;
    char text[CELL_BYTES];
    snprintf(text, sizeof text, "%s %s %s %s", tilewise_op_name(g->op),
             tilewise_dtype_name(shape_dtype(g)), words_shape(g), words_trans(g));
    title(&t, text);
    header(&t, names, sizeof names / sizeof *names);
    for (size_t i = 0; i < s->npoints; i++) {
        const struct history_point *p = &s->points[i];
        const struct result_candidate *c = p->candidate;
        cell(&t, 0, history_run(&h->entries[p->entry])->date_utc);
        cell(&t, 1, words_ns(p->row->baseline_best_ns));
        cell(&t, 2, c ? c->name : NULL);
        cell(&t, 3, c ? interval(c->ratio_best, c->best_lo, c->best_hi, text) : NULL);
        cell(&t, 4, c ? result_call_name(c->call) : NULL);
        fputc('\n', out);
    }
}

static void print(const struct history *h, const struct policy *policy, size_t shapes, FILE *out,
                  bool markdown)
{
    uint8_t ops[OPS_MAX][2];
    char text[160];
    size_t nops = history_ops(h, ops, OPS_MAX);
    fprintf(out, "%zu replay%s on ", h->nentries, h->nentries == 1 ? "" : "s");
    if (markdown)
        escape_markdown(out, hardware_words(history_run(&h->entries[0]), text));
    else
        fputs(hardware_words(history_run(&h->entries[0]), text), out);
    fputs(history_stranger(h) ? " and other hardware: compare with care\n" : "\n", out);
    for (size_t i = 0; i < nops; i++)
        op_table(h, policy, ops[i], out, markdown);
    for (size_t i = 0; i < h->nshapes && i < shapes; i++)
        shape_table(h, &h->shapes[i], out, markdown);
    if (h->nshapes > shapes)
        fprintf(out, "\n%zu more shapes: --shapes N, --format=json\n", h->nshapes - shapes);
}

void history_text(const struct history *h, const struct policy *policy, size_t shapes, FILE *out)
{
    print(h, policy, shapes, out, false);
}

void history_md(const struct history *h, const struct policy *policy, size_t shapes, FILE *out)
{
    print(h, policy, shapes, out, true);
}

static void json_verdicts(yajl_gen g, const struct history_entry *e, const struct policy *policy)
{
    json_open_array(g, "verdicts");
    for (size_t i = 0; i < e->set->nverdicts; i++) {
        const struct result_verdict *v = &e->set->verdicts[i];
        struct history_cost cost = history_cost(e, v->op, v->dtype, policy);
        yajl_gen_map_open(g);
        json_key_text(g, "op", tilewise_op_name(v->op));
        json_key_text(g, "dtype", tilewise_dtype_name(v->dtype));
        json_key_text(g, "verdict", v->verdict);
        json_key_text(g, "stability", v->stability[0] ? v->stability : NULL);
        json_key_text(g, "reason", v->reason);
        json_key_real(g, "heat", v->heat);
        json_key_real(g, "heat_lo", v->heat_lo);
        json_key_real(g, "heat_hi", v->heat_hi);
        json_key_real(g, "gain_lo", v->gain_lo);
        json_key_real(g, "gain_hi", v->gain_hi);
        json_key_real(g, "library_ns", cost.library_ns);
        json_key_real(g, "table_ns", cost.table_ns);
        yajl_gen_map_close(g);
    }
    yajl_gen_array_close(g);
}

static void json_entry(yajl_gen g, const struct history_entry *e, const struct policy *policy)
{
    const struct result_run *run = history_run(e);
    yajl_gen_map_open(g);
    json_key_text(g, "file", e->name);
    json_key_text(g, "date", run->date_utc);
    json_key_text(g, "host", run->host);
    json_key_text(g, "backend", run->backend);
    json_key_text(g, "device", run->device);
    json_key_text(g, "core", run->baseline_core);
    json_key_text(g, "library", run->baseline_library);
    json_key_text(g, "replayed_with", run->tilewise_version);
    json_key_text(g, "command", run->command);
    json_key_text(g, "protocol", run->protocol);
    json_key_whole(g, "threads", run->threads);
    json_key_flag(g, "capped", run->baseline_capped);
    json_key_real(g, "noise_floor", run->noise_floor);
    json_key_whole(g, "cases", e->set->ncases);
    json_verdicts(g, e, policy);
    yajl_gen_map_close(g);
}

static void json_point(yajl_gen g, const struct history_point *p)
{
    const struct result_candidate *c = p->candidate;
    yajl_gen_map_open(g);
    json_key_whole(g, "entry", p->entry);
    json_key_real(g, "library_recorded_ns", p->row->baseline_recorded_ns);
    json_key_real(g, "library_best_ns", p->row->baseline_best_ns);
    json_key_text(g, "candidate", c ? c->name : NULL);
    json_key_real(g, "ratio", c ? c->ratio_best : NAN);
    json_key_real(g, "lo", c ? c->best_lo : NAN);
    json_key_real(g, "hi", c ? c->best_hi : NAN);
    json_key_text(g, "call", c && c->call ? result_call_name(c->call) : NULL);
    yajl_gen_map_close(g);
}

static void json_shape(yajl_gen g, const struct history_shape *s)
{
    yajl_gen_map_open(g);
    json_problem(g, &s->row->signature);
    json_key_text(g, "entry", s->row->entry);
    json_open_array(g, "points");
    for (size_t i = 0; i < s->npoints; i++)
        json_point(g, &s->points[i]);
    yajl_gen_array_close(g);
    yajl_gen_map_close(g);
}

enum status history_json(const struct history *h, const struct policy *policy, FILE *out)
{
    yajl_gen g = json_begin();
    if (!g)
        return ST_NOMEM;
    json_key_flag(g, "same_hardware", !history_stranger(h));
    json_open_array(g, "entries");
    for (size_t i = 0; i < h->nentries; i++)
        json_entry(g, &h->entries[i], policy);
    yajl_gen_array_close(g);
    json_open_array(g, "shapes");
    for (size_t i = 0; i < h->nshapes; i++)
        json_shape(g, &h->shapes[i]);
    yajl_gen_array_close(g);
    return json_end(g, out);
}
