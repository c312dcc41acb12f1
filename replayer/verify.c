/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/verify.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/site.h"
#include "replayer/stats.h"

enum { REPEATS = 10, REPEATS_BIG = 3 };
static const double big_steps = 1 << 28; /* from here on every run is felt */

/* The case: images where the site has them, and their copies that the kernel works on. */
struct stage {
    const struct verify_job *job;
    struct site site;
    struct data_image image[OPERAND_COUNT]; /* as a run finds them */
    struct data_image after, spare;         /* C: after a run; scratch, or the first result */
    void *device[OPERAND_COUNT];
    void *scratch;
    struct tilewise_args args;
    _Alignas(16) unsigned char alpha_value[16];
    _Alignas(16) unsigned char beta_value[16];
    double alpha, beta;    /* scales of the operands included */
    bool has_no_reference; /* at this site */
    struct verify_report *report;
};

static bool refuse(struct stage *s, enum result_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Always false, so that `return refuse(...)` ends a check. */
static bool refuse(struct stage *s, enum result_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->report->reason, sizeof s->report->reason, format, arguments);
    va_end(arguments);
    s->report->status = status;
    return false;
}

static const char *complaint(const struct stage *s)
{
    const struct backend *backend = s->job->backend;
    return backend->complaint ? backend->complaint(s->job->session) : "";
}

/* What a kernel breaks shows when its work is waited for. */
static bool device_failed(struct stage *s)
{
    unsigned char byte;
    if (complaint(s)[0] == '\0')
        s->job->backend->read(s->job->session, &byte, s->device[OPERAND_C], sizeof byte);
    const char *text = complaint(s);
    return refuse(s, RESULT_FAILED, "%.150s", text[0] ? text : "copying from or to it failed");
}

size_t verify_bytes(const struct operand shapes[OPERAND_COUNT])
{
    size_t total = 0;
    for (int i = 0; i < OPERAND_COUNT; i++)
        total += (i == OPERAND_C ? 4 : 3) * data_image_bytes(&shapes[i]);
    /* Reference: value and magnitude in fp64. */
    return total + shapes[OPERAND_C].bytes / shapes[OPERAND_C].element_bytes * 16;
}

static bool create(struct stage *s, struct data_image *image, const struct operand *shape)
{
    return s->site.ops->create(&s->site, image, shape) == ST_OK;
}

static bool create_images(struct stage *s, const struct operand *shapes)
{
    bool ok = create(s, &s->after, &shapes[OPERAND_C]) && create(s, &s->spare, &shapes[OPERAND_C]);
    for (int i = 0; ok && i < OPERAND_COUNT; i++) {
        ok = create(s, &s->image[i], &shapes[i]);
        if (ok && shapes[i].present) {
            s->device[i] = s->job->backend->alloc(s->job->session, s->image[i].total_bytes);
            ok = s->device[i] != NULL;
        }
    }
    return ok;
}

static void *operand_on_device(const struct stage *s, enum operand_name name)
{
    return s->device[name] ? (char *)s->device[name] + s->image[name].first_byte : NULL;
}

static void fill_args(struct stage *s)
{
    const struct tilewise_signature *g = s->job->signature;
    double alpha = data_scalar(OPERAND_A, g->alpha);
    double beta = g->op == TILEWISE_OP_ADD ? 1 : data_scalar(OPERAND_C, g->beta);
    data_scalar_store(s->alpha_value, g->scale, alpha);
    data_scalar_store(s->beta_value, g->scale, beta);
    s->alpha = alpha * data_scale_product(g, OPERAND_A);
    s->beta = beta * data_scale_product(g, OPERAND_C);
    s->args = (struct tilewise_args){
        .abi = TILEWISE_CANDIDATE_ABI,
        .bytes = sizeof s->args,
        .a = operand_on_device(s, OPERAND_A),
        .b = operand_on_device(s, s->device[OPERAND_B] ? OPERAND_B : OPERAND_A),
        .c = operand_on_device(s, OPERAND_C),
        .alpha = s->alpha_value,
        .beta = s->beta_value,
        .scratch = s->scratch,
    };
    s->job->backend->fill_args(s->job->session, &s->args);
}

static bool set_up(struct stage *s)
{
    struct operand shapes[OPERAND_COUNT];
    struct fault fault;
    if (operand_layout(s->job->signature, shapes, &fault) != ST_OK)
        return refuse(s, RESULT_UNSUPPORTED, "%.150s", fault.text);
    bool ok = create_images(s, shapes);
    if (ok && s->job->scratch_bytes) {
        s->scratch = s->job->backend->alloc(s->job->session, s->job->scratch_bytes);
        ok = s->scratch != NULL;
    }
    if (!ok)
        return refuse(s, RESULT_SKIPPED, "no memory to verify");
    fill_args(s);
    return true;
}

/* False: the device has failed, and the report says so. */
static bool works(struct stage *s, enum status st)
{
    return st == ST_OK || device_failed(s);
}

static bool upload(struct stage *s, enum operand_name name)
{
    return s->device[name] == NULL ||
           works(s, s->site.ops->to_device(&s->site, s->device[name], &s->image[name]));
}

static void tear_down(struct stage *s)
{
    for (int i = 0; i < OPERAND_COUNT; i++) {
        s->site.ops->release(&s->site, &s->image[i]);
        s->job->backend->release(s->job->session, s->device[i]);
    }
    s->site.ops->release(&s->site, &s->after);
    s->site.ops->release(&s->site, &s->spare);
    s->job->backend->release(s->job->session, s->scratch);
    site_close(&s->site);
}

static bool fill(struct stage *s, enum data_class class)
{
    struct data_recipe recipe = {
        .class = class,
        .seed = s->job->seed + class,
        .depth = operand_depth(s->job->signature),
        .squared = s->job->signature->uplo != TILEWISE_FULL,
        .compute = s->job->signature->compute,
        .result = s->image[OPERAND_C].shape.dtype,
    };
    enum status st = ST_OK;
    for (int i = 0; st == ST_OK && i < OPERAND_COUNT; i++)
        if (s->device[i])
            st = s->site.ops->fill(&s->site, &s->image[i], (enum operand_name)i, &recipe);
    if (st == ST_OK && s->beta == 0) /* NaN: who reads C now is found out */
        st = s->site.ops->poison(&s->site, &s->image[OPERAND_C]);
    return works(s, st) && upload(s, OPERAND_A) && upload(s, OPERAND_B);
}

/* One run on a fresh C. The inputs are uploaded where they changed. */
static bool run_with(struct stage *s, int (*run)(void *, const struct tilewise_args *),
                     void *context)
{
    if (!upload(s, OPERAND_C))
        return false;
    int error = run(context, &s->args);
    s->report->runs++;
    if (error)
        return refuse(s, RESULT_FAILED, "run() returned %d (%s)%s%.100s", error, strerror(-error),
                      complaint(s)[0] ? ": " : "", complaint(s));
    return works(s, s->site.ops->from_device(&s->site, &s->after, s->device[OPERAND_C]));
}

static bool run_once(struct stage *s)
{
    return run_with(s, s->job->run, s->job->context);
}

static bool inputs_are_intact(struct stage *s, const char *class)
{
    for (int i = 0; i < OPERAND_C; i++) {
        bool same = true;
        if (s->device[i] &&
            !works(s, s->site.ops->same_on_device(&s->site, &s->image[i], s->device[i], &same)))
            return false;
        if (!same)
            return refuse(s, RESULT_FAILED, "%s data: input %c was modified", class, "AB"[i]);
    }
    return true;
}

/* A question about every element of the last result. */
static bool ask(struct stage *s, struct judge judge, struct judge_outcome *found)
{
    judge.after = s->after;
    return works(s, s->site.ops->judge(&s->site, &judge, found));
}

static enum status compare(struct stage *s, enum data_class class, const struct data_image *after,
                           struct compare_outcome *outcome)
{
    const struct tilewise_signature *g = s->job->signature;
    struct compare_job job = {
        .signature = g,
        .a = &s->image[OPERAND_A],
        .b = &s->image[OPERAND_B],
        .before = &s->image[OPERAND_C],
        .after = after,
        .alpha = s->alpha,
        .beta = s->beta,
        .kappa = s->job->kappa,
        .exact = class == DATA_INTEGER && data_integers_exact(g),
        .seed = s->job->seed,
    };
    return s->site.ops->compare(&s->site, &job, outcome);
}

/* False, and why, where nothing can be compared. */
static bool is_compared(struct stage *s, enum status st)
{
    s->has_no_reference = st == ST_UNSUPPORTED;
    if (st == ST_UNSUPPORTED)
        return refuse(s, RESULT_NOT_VERIFIED, "no reference for %s",
                      tilewise_dtype_name(s->job->signature->dtype_c));
    if (st == ST_NOMEM)
        return refuse(s, RESULT_SKIPPED, "no memory to verify");
    return works(s, st);
}

/* A result that nobody computed must be told from a right one, or passing means nothing. */
static bool check_can_fail(struct stage *s, enum data_class class)
{
    struct compare_outcome ghost;
    if (!is_compared(s, compare(s, class, &s->image[OPERAND_C], &ghost)))
        return false;
    if (ghost.equal)
        return refuse(s, RESULT_NOT_VERIFIED, "a kernel that does nothing would pass this case");
    return true;
}

/* With beta = 0 the result was all canaries before the run. */
static bool check_written(struct stage *s, const char *class)
{
    struct judge_outcome survivors;
    /* One byte of integer may be the canary by chance. */
    const struct operand *o = &s->after.shape;
    if (s->beta != 0 ||
        (o->element_bytes == 1 && tilewise_dtype_kind(o->dtype) != TILEWISE_KIND_REAL))
        return true;
    if (!ask(s, (struct judge){ .kind = JUDGE_WRITTEN }, &survivors))
        return false;
    if (survivors.bad)
        return refuse(s, RESULT_FAILED,
                      "%s data: %llu results still hold the canary: never written, or "
                      "computed from memory that is not theirs",
                      class, (unsigned long long)survivors.bad);
    return true;
}

static bool check_frame(struct stage *s, const char *class)
{
    bool intact;
    enum status st = s->site.ops->copy(&s->site, &s->spare, &s->image[OPERAND_C]);
    if (st == ST_OK)
        st = s->site.ops->frame(&s->site, &s->spare, &s->after, &intact);
    if (!works(s, st))
        return false;
    return intact || refuse(s, RESULT_FAILED, "%s data: wrote outside the result", class);
}

static bool check_result(struct stage *s, enum data_class class)
{
    const char *name = data_class_name(class);
    struct compare_outcome outcome;
    if (!check_written(s, name) || !is_compared(s, compare(s, class, &s->after, &outcome)))
        return false;
    s->report->worst_error = fmax(s->report->worst_error, outcome.worst);
    if (!outcome.equal)
        return refuse(s, RESULT_FAILED, "%s data: %s", name, outcome.where);
    return check_frame(s, name) && inputs_are_intact(s, name);
}

static bool check_class(struct stage *s, enum data_class class)
{
    if (!fill(s, class) || (s->report->runs == 0 && !check_can_fail(s, class)))
        return false;
    return run_once(s) && check_result(s, class);
}

/* Same inputs, fresh C: the same bits, or it is labelled. Differing by more than the bound was
 * caught before. */
static bool check_repeats(struct stage *s, int repeats)
{
    const struct site_ops *ops = s->site.ops;
    if (!works(s, ops->copy(&s->site, &s->spare, &s->after)))
        return false;
    s->report->deterministic = true;
    for (int i = 1; i < repeats; i++) {
        bool same = true;
        if (!run_once(s) || !works(s, ops->same(&s->site, &s->spare, &s->after, &same)))
            return false;
        if (same)
            continue;
        s->report->deterministic = false;
        return check_result(s, DATA_NORMAL); /* other bits, but are they right? */
    }
    return true;
}

/* The twin on the same data: are its bits the same? Both may be right and differ. */
static bool check_twin(struct stage *s)
{
    struct judge_outcome found;
    if (s->job->twin == NULL)
        return true;
    if (!works(s, s->site.ops->copy(&s->site, &s->spare, &s->after)) ||
        !run_with(s, s->job->twin, s->job->twin_context) ||
        !ask(s, (struct judge){ .kind = JUDGE_BITS, .other = s->spare }, &found))
        return false;
    if (found.bad == 0)
        return true;
    return refuse(s, RESULT_FAILED,
                  "%llu results have other bits than those of the recorded call, the first at "
                  "batch %lld, (%lld, %lld): %.9g, there %.9g",
                  (unsigned long long)found.bad, (long long)found.at[0], (long long)found.at[1],
                  (long long)found.at[2], found.want, found.got);
}

/* One NaN or infinity in row i of A (of x for an add) reaches row i of the result, and nothing
 * else. */
static bool check_special(struct stage *s, double special)
{
    const struct tilewise_signature *g = s->job->signature;
    enum operand_name from = g->op == TILEWISE_OP_ADD ? OPERAND_B : OPERAND_A;
    const struct operand *in = &s->image[from].shape;
    uint64_t state = s->job->seed;
    int64_t batch = (int64_t)(stats_random(&state) % (uint64_t)in->batch);
    int64_t row = (int64_t)(stats_random(&state) % (uint64_t)in->rows);
    int64_t column = (int64_t)(stats_random(&state) % (uint64_t)in->cols);
    struct judge_outcome found;
    struct judge judge = {
        .kind = JUDGE_SPECIAL,
        .special = { .batch = batch,
                     .row = row,
                     .column = column,
                     .infinite = isinf(special),
                     .everywhere = in->batch > 1 && in->stride == 0, /* every batch reads this A */
                     .mirrored = g->uplo != TILEWISE_FULL,
                     .one_element = g->op == TILEWISE_OP_ADD },
    };
    enum status st =
        s->site.ops->put(&s->site, &s->image[from], operand_index(in, batch, row, column), special);
    if (!works(s, st) || !upload(s, from) || !run_once(s) || !ask(s, judge, &found))
        return false;
    if (found.bad)
        return refuse(s, RESULT_FAILED, "%s in row %lld: element (%lld, %lld) is %s",
                      isnan(special) ? "NaN" : "infinity", (long long)row, (long long)found.at[1],
                      (long long)found.at[2],
                      isnan(found.got)   ? "NaN"
                      : isinf(found.got) ? "infinite"
                                         : "a number");
    return true;
}

/* 8 bits have no infinity, or results stop at their largest number. */
static bool check_specials(struct stage *s)
{
    enum operand_name from = s->job->signature->op == TILEWISE_OP_ADD ? OPERAND_B : OPERAND_A;
    const struct operand *in = &s->image[from].shape, *out = &s->after.shape;
    if (s->alpha == 0 || tilewise_dtype_kind(in->dtype) == TILEWISE_KIND_INTEGER)
        return true;
    bool infinite = in->element_bytes > 1 && out->element_bytes > 1;
    return (!infinite || check_special(s, INFINITY)) && check_special(s, NAN);
}

static bool verify_all(struct stage *s)
{
    const struct operand *c = &s->after.shape;
    double steps = (double)c->rows * (double)c->cols * (double)operand_depth(s->job->signature) *
                   (double)c->batch;
    bool big = steps >= big_steps;
    if (!check_class(s, DATA_INTEGER))
        return false;
    if (!big && (!check_class(s, DATA_UNIFORM) || !check_class(s, DATA_CANCEL)))
        return false;
    return check_class(s, DATA_NORMAL) && check_repeats(s, big ? REPEATS_BIG : REPEATS) &&
           check_twin(s) && check_specials(s);
}

/* At one site. False: it has no reference for this signature. */
static bool verify_at(const struct verify_job *job, const struct site_ops *ops,
                      compare_reference *reference, struct verify_report *report)
{
    struct stage s = { .job = job,
                       .site = { .ops = ops,
                                 .backend = job->backend,
                                 .session = job->session,
                                 .reference = reference },
                       .report = report };
    *report = (struct verify_report){ .status = RESULT_NOT_VERIFIED };
    if (set_up(&s) && verify_all(&s)) {
        report->status = RESULT_PASSED;
        report->reason[0] = '\0';
    }
    tear_down(&s);
    return !s.has_no_reference;
}

void verify_subject(const struct verify_job *job, struct verify_report *report)
{
    const struct backend *backend = job->backend;
    const struct site_ops *near =
        backend->site && job->device_reference ? backend->site(job->session) : NULL;
    if (near == NULL || !verify_at(job, near, job->device_reference, report))
        verify_at(job, &site_host, job->reference, report);
}
