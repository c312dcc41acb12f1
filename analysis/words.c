/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BUFFERS = 16, BUFFER_BYTES = 160 };

static char *next_buffer(void)
{
    static char buffers[BUFFERS][BUFFER_BYTES];
    static unsigned turn;
    return buffers[turn++ % BUFFERS];
}

const char *words_count(uint64_t n)
{
    char digits[24], *text = next_buffer(), *p = text;
    int length = snprintf(digits, sizeof digits, "%" PRIu64, n);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            *p++ = ',';
        *p++ = digits[i];
    }
    *p = '\0';
    return text;
}

const char *words_real(double v, int digits)
{
    char *text = next_buffer();
    if (!isfinite(v))
        return "-";
    snprintf(text, BUFFER_BYTES, "%.*f", digits, v);
    return text;
}

const char *words_share(double share)
{
    char *text = next_buffer();
    if (!isfinite(share))
        return "-";
    snprintf(text, BUFFER_BYTES, "%.1f %%", 100 * share);
    return text;
}

const char *words_ns(double ns)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    char *text = next_buffer();
    size_t unit = 0;
    if (!isfinite(ns))
        return "-";
    for (; ns >= 1000 && unit < 3; unit++)
        ns /= 1000;
    snprintf(text, BUFFER_BYTES, "%.*f %s", unit == 0 ? 0 : ns < 10 ? 2 : 1, ns, units[unit]);
    return text;
}

const char *words_operation(unsigned op, unsigned dtype)
{
    char *text = next_buffer();
    snprintf(text, BUFFER_BYTES, "%s %s", tilewise_op_name(op), tilewise_dtype_name(dtype));
    return text;
}

const char *words_scaled(double v)
{
    static const char *const prefixes[] = { "", " k", " M", " G", " T", " P" };
    char *text = next_buffer();
    size_t prefix = 0;
    if (!isfinite(v))
        return "-";
    for (; v >= 999.5 && prefix < 5; prefix++)
        v /= 1000;
    snprintf(text, BUFFER_BYTES, "%.*f%s", v < 10 ? 2 : v < 100 ? 1 : 0, v, prefixes[prefix]);
    return text;
}

const char *words_loss(unsigned cause)
{
    const char *name = loss_name(cause);
    return name ? name : "unknown cause";
}

const char *words_level(const char *level)
{
    return level ? level : "unknown";
}

const char *words_moving(const struct stability *s)
{
    char *text = next_buffer();
    *text = '\0';
    for (enum shape_dimension d = 0; d < SHAPE_DIMENSIONS; d++)
        if (s->moving[d]) {
            strcat(text, *text ? ", " : "");
            strcat(text, shape_dimension_name(d));
        }
    return *text ? text : "-";
}

const char *words_shape(const struct tilewise_signature *s)
{
    char *text = next_buffer();
    int used = snprintf(text, BUFFER_BYTES, "%" PRId64 " x %" PRId64, s->m, s->n);
    if (s->op == TILEWISE_OP_GEMM)
        used += snprintf(text + used, BUFFER_BYTES - (size_t)used, " x %" PRId64, s->k);
    if (s->batch > 1)
        snprintf(text + used, BUFFER_BYTES - (size_t)used, ", batch %" PRId64, s->batch);
    return text;
}

const char *words_row_view(const struct tilewise_signature *s)
{
    char *text = next_buffer();
    bool row = s->layout == TILEWISE_ROW_MAJOR;
    if (s->op != TILEWISE_OP_GEMM)
        return "";
    snprintf(text, BUFFER_BYTES, "[%" PRId64 ",%" PRId64 "] x [%" PRId64 ",%" PRId64 "]",
             row ? s->m : s->n, s->k, s->k, row ? s->n : s->m);
    return text;
}

const char *words_trans(const struct tilewise_signature *s)
{
    char *text = next_buffer();
    text[0] = tilewise_trans_letter(s->trans_a);
    text[1] = tilewise_trans_letter(s->trans_b);
    text[2] = '\0';
    return text;
}

const char *words_windows(const struct summary_gpu *gpu)
{
    char *text = next_buffer();
    const struct gpu_totals *t = &gpu->totals;
    snprintf(text, BUFFER_BYTES,
             "%s kernels in %s windows of %s together, %s without a record; busy %s",
             words_count(t->launches), words_count(t->windows), words_ns((double)t->window_ns),
             words_count(t->dropped), words_share(gpu->busy_share));
    return text;
}

const char *words_launcher(const struct summary *s, const struct summary_kernel *kernel)
{
    if (kernel->signature == GPU_NO_SIGNATURE)
        return "no recorded call";
    char *text = next_buffer();
    const struct tilewise_signature *call = &s->signatures[kernel->signature].signature;
    snprintf(text, BUFFER_BYTES, "%s %s", words_operation(call->op, shape_dtype(call)),
             words_shape(call));
    return text;
}

const char *words_outcome(const struct result_candidate *c)
{
    return c->status == RESULT_PASSED ? result_call_name(c->call) : result_status_name(c->status);
}

const struct result_candidate *words_candidate(const struct analysis_shape *shape)
{
    const struct result_candidate *best = NULL;
    for (size_t i = 0; shape->result && i < shape->result->ncandidates; i++) {
        const struct result_candidate *c = &shape->result->candidates[i];
        bool better = c->status == RESULT_PASSED &&
                      (!best || best->status != RESULT_PASSED || c->ratio_best > best->ratio_best);
        if (!best || better)
            best = c;
    }
    return best;
}
