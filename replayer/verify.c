/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/verify.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/stats.h"

enum { REPEATS = 10, REPEATS_BIG = 3 };
static const double big_steps = 1 << 28; /* from here on every run is felt */

/* The case on host and device. */
struct stage {
    const struct verify_job *job;
    struct data_image image[OPERAND_COUNT]; /* as uploaded */
    struct data_image after, spare;         /* C: read back; scratch, or the first result */
    struct data_image input_back;           /* A or B: read back */
    void *device[OPERAND_COUNT];
    double *want, *magnitude, *device_want; /* from the device's reference; NULL: none */
    void *scratch;
    struct tilewise_args args;
    _Alignas(16) unsigned char alpha_value[16];
    _Alignas(16) unsigned char beta_value[16];
    double alpha, beta; /* scales of the operands included */
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

static bool create_images(struct stage *s, const struct operand *shapes)
{
    const struct operand *larger = &shapes[OPERAND_A];
    if (data_image_bytes(&shapes[OPERAND_B]) > data_image_bytes(larger))
        larger = &shapes[OPERAND_B];
    bool ok = data_create(&s->after, &shapes[OPERAND_C]) == ST_OK &&
              data_create(&s->spare, &shapes[OPERAND_C]) == ST_OK &&
              data_create(&s->input_back, larger) == ST_OK;
    for (int i = 0; ok && i < OPERAND_COUNT; i++) {
        ok = data_create(&s->image[i], &shapes[i]) == ST_OK;
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

static size_t result_count(const struct stage *s)
{
    const struct operand *o = &s->after.shape;
    return (size_t)(o->rows * o->cols * o->batch);
}

/* Room for what the device's reference says. Without it the host computes one. */
static void make_room(struct stage *s)
{
    size_t count = result_count(s);
    if (s->job->device_reference == NULL || s->job->signature->op == TILEWISE_OP_ADD)
        return;
    s->want = malloc(2 * count * sizeof *s->want);
    s->device_want = s->job->backend->alloc(s->job->session, 2 * count * sizeof *s->want);
    s->magnitude = s->want ? s->want + count : NULL;
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
    make_room(s);
    return true;
}

static bool upload(struct stage *s, enum operand_name name)
{
    const struct data_image *image = &s->image[name];
    return s->device[name] == NULL ||
           s->job->backend->write(s->job->session, s->device[name], image->bytes,
                                  image->total_bytes) == ST_OK;
}

static void tear_down(struct stage *s)
{
    for (int i = 0; i < OPERAND_COUNT; i++) {
        data_release(&s->image[i]);
        s->job->backend->release(s->job->session, s->device[i]);
    }
    data_release(&s->after);
    data_release(&s->spare);
    data_release(&s->input_back);
    s->job->backend->release(s->job->session, s->scratch);
    s->job->backend->release(s->job->session, s->device_want);
    free(s->want);
}

static void forget_reference(struct stage *s)
{
    s->job->backend->release(s->job->session, s->device_want);
    free(s->want);
    s->want = s->device_want = NULL;
}

/* All operands as they are before the run; what the reference makes of them. */
static bool refer(struct stage *s)
{
    size_t count = result_count(s);
    struct tilewise_signature plain = compare_plain(s->job->signature, s->after.shape.dtype);
    struct tilewise_args args = s->args;
    if (s->want == NULL || s->device_want == NULL)
        return true;
    args.alpha = &s->alpha;
    args.beta = &s->beta;
    if (plain.batch_kind != TILEWISE_BATCH_NONE) {
        plain.batch_kind = TILEWISE_BATCH_STRIDED;
        plain.stride_a = s->image[OPERAND_A].shape.stride;
        plain.stride_b = s->image[OPERAND_B].shape.stride;
        plain.stride_c = plain.stride_d = s->after.shape.stride;
    }
    if (!upload(s, OPERAND_C))
        return device_failed(s);
    int error = s->job->device_reference(&plain, &args, s->device_want, s->device_want + count);
    if (error) { /* not for such types, or not on such a device: the host will do it */
        forget_reference(s);
        return true;
    }
    if (s->job->backend->read(s->job->session, s->want, s->device_want,
                              2 * count * sizeof *s->want) != ST_OK)
        return device_failed(s);
    return true;
}

static void fill(struct stage *s, enum data_class class)
{
    struct data_recipe recipe = {
        .class = class,
        .seed = s->job->seed + class,
        .depth = operand_depth(s->job->signature),
        .squared = s->job->signature->uplo != TILEWISE_FULL,
        .compute = s->job->signature->compute,
        .result = s->image[OPERAND_C].shape.dtype,
    };
    for (int i = 0; i < OPERAND_COUNT; i++)
        data_fill(&s->image[i], (enum operand_name)i, &recipe);
    if (s->beta == 0)
        data_poison(&s->image[OPERAND_C]); /* NaN: who reads C now is found out */
}

/* One run on a fresh C. The inputs are uploaded where they changed. */
static bool run_with(struct stage *s, int (*run)(void *, const struct tilewise_args *),
                     void *context)
{
    if (!upload(s, OPERAND_C))
        return device_failed(s);
    int error = run(context, &s->args);
    s->report->runs++;
    if (error)
        return refuse(s, RESULT_FAILED, "run() returned %d (%s)%s%.100s", error, strerror(-error),
                      complaint(s)[0] ? ": " : "", complaint(s));
    if (s->job->backend->read(s->job->session, s->after.bytes, s->device[OPERAND_C],
                              s->after.total_bytes) != ST_OK)
        return device_failed(s);
    return true;
}

static bool run_once(struct stage *s)
{
    return run_with(s, s->job->run, s->job->context);
}

static bool inputs_are_intact(struct stage *s, const char *class)
{
    for (int i = 0; i < OPERAND_C; i++) {
        if (s->device[i] == NULL)
            continue;
        size_t bytes = s->image[i].total_bytes;
        if (s->job->backend->read(s->job->session, s->input_back.bytes, s->device[i], bytes) !=
                ST_OK ||
            memcmp(s->input_back.bytes, s->image[i].bytes, bytes) != 0)
            return refuse(s, RESULT_FAILED, "%s data: input %c was modified", class, "AB"[i]);
    }
    return true;
}

static uint64_t count_survivors(const struct stage *s)
{
    const struct operand *o = &s->after.shape;
    uint64_t count = 0;
    for (int64_t b = 0; b < o->batch; b++)
        for (int64_t c = 0; c < o->cols; c++)
            for (int64_t r = 0; r < o->rows; r++)
                count +=
                    operand_holds(o, r, c) && data_is_canary(&s->after, operand_index(o, b, r, c));
    return count;
}

static enum status compare(struct stage *s, enum data_class class, const struct data_image *after,
                           struct compare_outcome *outcome)
{
    const struct tilewise_signature *g = s->job->signature;
    struct compare_job job = {
        .signature = g,
        .reference = s->job->reference,
        .a = &s->image[OPERAND_A],
        .b = &s->image[OPERAND_B],
        .before = &s->image[OPERAND_C],
        .want = s->want,
        .magnitude = s->magnitude,
        .after = after,
        .alpha = s->alpha,
        .beta = s->beta,
        .kappa = s->job->kappa,
        .exact = class == DATA_INTEGER && data_integers_exact(g),
        .seed = s->job->seed,
    };
    return compare_result(&job, outcome);
}

/* A result that nobody computed must be told from a right one, or passing means nothing. */
static bool check_can_fail(struct stage *s, enum data_class class)
{
    struct compare_outcome ghost;
    enum status st = compare(s, class, &s->image[OPERAND_C], &ghost);
    if (st == ST_UNSUPPORTED)
        return refuse(s, RESULT_NOT_VERIFIED, "no reference for %s",
                      tilewise_dtype_name(s->job->signature->dtype_c));
    if (st != ST_OK)
        return refuse(s, RESULT_SKIPPED, "no memory to verify");
    if (ghost.equal)
        return refuse(s, RESULT_NOT_VERIFIED, "a kernel that does nothing would pass this case");
    return true;
}

static bool check_result(struct stage *s, enum data_class class)
{
    const char *name = data_class_name(class);
    struct compare_outcome outcome;
    memcpy(s->spare.bytes, s->image[OPERAND_C].bytes, s->spare.total_bytes);
    /* One byte of integer may be the canary by chance. */
    const struct operand *o = &s->image[OPERAND_C].shape;
    bool tells = o->element_bytes > 1 || tilewise_dtype_kind(o->dtype) == TILEWISE_KIND_REAL;
    uint64_t survivors = s->beta == 0 && tells ? count_survivors(s) : 0;
    if (survivors)
        return refuse(s, RESULT_FAILED,
                      "%s data: %llu results still hold the canary: never written, or "
                      "computed from memory that is not theirs",
                      name, (unsigned long long)survivors);
    if (compare(s, class, &s->after, &outcome) != ST_OK)
        return refuse(s, RESULT_SKIPPED, "no memory to verify");
    s->report->worst_error = fmax(s->report->worst_error, outcome.worst);
    if (!outcome.equal)
        return refuse(s, RESULT_FAILED, "%s data: %s", name, outcome.where);
    if (!data_frame_intact(&s->spare, &s->after))
        return refuse(s, RESULT_FAILED, "%s data: wrote outside the result", name);
    return inputs_are_intact(s, name);
}

static bool check_class(struct stage *s, enum data_class class)
{
    fill(s, class);
    if (!upload(s, OPERAND_A) || !upload(s, OPERAND_B))
        return device_failed(s);
    if (!refer(s) || (s->report->runs == 0 && !check_can_fail(s, class)))
        return false;
    return run_once(s) && check_result(s, class);
}

/* Same inputs, fresh C: the same bits, or it is labelled. Differing by more than the bound was
 * caught before. */
static bool check_repeats(struct stage *s, int repeats)
{
    memcpy(s->spare.bytes, s->after.bytes, s->spare.total_bytes);
    s->report->deterministic = true;
    for (int i = 1; i < repeats; i++) {
        if (!run_once(s))
            return false;
        if (memcmp(s->spare.bytes, s->after.bytes, s->after.total_bytes) == 0)
            continue;
        s->report->deterministic = false;
        return check_result(s, DATA_NORMAL); /* other bits, but are they right? */
    }
    return true;
}

static uint64_t count_different(const struct stage *s, int64_t first[3])
{
    const struct operand *o = &s->after.shape;
    uint64_t count = 0;
    for (int64_t b = 0; b < o->batch; b++)
        for (int64_t c = 0; c < o->cols; c++)
            for (int64_t r = 0; r < o->rows; r++) {
                size_t at =
                    s->after.first_byte + (size_t)operand_index(o, b, r, c) * o->element_bytes;
                bool differs = operand_holds(o, r, c) &&
                               memcmp(s->after.bytes + at, s->spare.bytes + at, o->element_bytes);
                if (differs && count++ == 0)
                    memcpy(first, (int64_t[]){ b, r, c }, 3 * sizeof *first);
            }
    return count;
}

/* The twin on the same data: are its bits the same? Both may be right and differ. */
static bool check_twin(struct stage *s)
{
    int64_t at[3] = { 0 };
    if (s->job->twin == NULL)
        return true;
    memcpy(s->spare.bytes, s->after.bytes, s->spare.total_bytes);
    if (!run_with(s, s->job->twin, s->job->twin_context))
        return false;
    uint64_t count = count_different(s, at);
    if (count == 0)
        return true;
    int64_t index = operand_index(&s->after.shape, at[0], at[1], at[2]);
    return refuse(s, RESULT_FAILED,
                  "%llu results have other bits than those of the recorded call, the first at "
                  "batch %lld, (%lld, %lld): %.9g, there %.9g",
                  (unsigned long long)count, (long long)at[0], (long long)at[1], (long long)at[2],
                  data_get(&s->spare, index), data_get(&s->after, index));
}

/* One NaN in row i of A (of x for an add) reaches row i of the result, and nothing else. */
static bool check_nan(struct stage *s)
{
    const struct tilewise_signature *g = s->job->signature;
    enum operand_name from = g->op == TILEWISE_OP_ADD ? OPERAND_B : OPERAND_A;
    const struct operand *in = &s->image[from].shape, *o = &s->after.shape;
    uint64_t state = s->job->seed;
    int64_t batch = (int64_t)(stats_random(&state) % (uint64_t)in->batch);
    int64_t row = (int64_t)(stats_random(&state) % (uint64_t)in->rows);
    int64_t column = (int64_t)(stats_random(&state) % (uint64_t)in->cols);
    bool shared = in->batch > 1 && in->stride == 0; /* every batch reads this A */
    data_put(&s->image[from], operand_index(in, batch, row, column), NAN);
    if (!upload(s, from) || !run_once(s))
        return false;
    for (int64_t b = 0; b < o->batch; b++)
        for (int64_t c = 0; c < o->cols; c++)
            for (int64_t r = 0; r < o->rows; r++) {
                bool mirrored = g->uplo != TILEWISE_FULL && c == row;
                bool hit = (b == batch || shared) && (r == row || mirrored) &&
                           (g->op != TILEWISE_OP_ADD || c == column);
                bool got = isnan(data_get(&s->after, operand_index(o, b, r, c)));
                if (operand_holds(o, r, c) && got != hit)
                    return refuse(s, RESULT_FAILED, "NaN in row %lld: element (%lld, %lld) is %s",
                                  (long long)row, (long long)r, (long long)c,
                                  got ? "NaN" : "a number");
            }
    return true;
}

static bool has_nan(const struct stage *s)
{
    enum operand_name from = s->job->signature->op == TILEWISE_OP_ADD ? OPERAND_B : OPERAND_A;
    return tilewise_dtype_kind(s->image[from].shape.dtype) != TILEWISE_KIND_INTEGER;
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
           check_twin(s) && (s->alpha == 0 || !has_nan(s) || check_nan(s));
}

void verify_subject(const struct verify_job *job, struct verify_report *report)
{
    struct stage s = { .job = job, .report = report };
    *report = (struct verify_report){ .status = RESULT_NOT_VERIFIED };
    if (set_up(&s) && verify_all(&s)) {
        report->status = RESULT_PASSED;
        report->reason[0] = '\0';
    }
    tear_down(&s);
}
