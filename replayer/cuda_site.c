/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cuda_site.h"

#include <string.h>

#include "replayer/cuda_device.h"

static void *stream_of(const struct site *site)
{
    struct tilewise_args args = { .abi = TILEWISE_CANDIDATE_ABI };
    site->backend->fill_args(site->session, &args);
    return args.stream;
}

static enum status status_of(int error)
{
    return error == 0 ? ST_OK : ST_DEVICE;
}

/* ---- images ---- */

static enum status device_create(struct site *site, struct data_image *image,
                                 const struct operand *shape)
{
    *image = (struct data_image){ .shape = *shape };
    if (!shape->present)
        return ST_OK;
    image->total_bytes = data_image_bytes(shape);
    image->first_byte = data_first_byte(shape);
    image->bytes = site->backend->alloc(site->session, image->total_bytes);
    return image->bytes ? ST_OK : ST_NOMEM;
}

static void device_release(struct site *site, struct data_image *image)
{
    site->backend->release(site->session, image->bytes);
    *image = (struct data_image){ .bytes = NULL };
}

static enum status device_fill(struct site *site, struct data_image *image, enum operand_name name,
                               const struct data_recipe *recipe)
{
    struct draw draw = data_draw(&image->shape, name, recipe);
    site->is_referred = false;
    return status_of(cuda_device_fill(image, &draw, stream_of(site)));
}

static enum status device_poison(struct site *site, struct data_image *image)
{
    site->is_referred = false;
    return status_of(cuda_device_poison(image, stream_of(site)));
}

static enum status device_put(struct site *site, struct data_image *image, int64_t index,
                              double value)
{
    unsigned char element[16];
    site->is_referred = false;
    number_store(image->shape.dtype, element, 0, value);
    return site->backend->write(site->session, image_element(image, index), element,
                                image->shape.element_bytes);
}

static enum status copy(struct site *site, void *to, const void *from, size_t bytes)
{
    return status_of(site->backend->copy(site->session, to, from, bytes));
}

static enum status device_copy(struct site *site, struct data_image *to,
                               const struct data_image *from)
{
    return copy(site, to->bytes, from->bytes, from->total_bytes);
}

static enum status device_to_device(struct site *site, void *device, const struct data_image *image)
{
    return copy(site, device, image->bytes, image->total_bytes);
}

static enum status device_from_device(struct site *site, struct data_image *image,
                                      const void *device)
{
    return copy(site, image->bytes, device, image->total_bytes);
}

/* ---- questions ---- */

static enum status begin(struct site *site)
{
    const struct cuda_device_answer none = { .first = CUDA_DEVICE_NONE };
    if (site->answer == NULL)
        site->answer = site->backend->alloc(site->session, sizeof none);
    if (site->answer == NULL)
        return ST_NOMEM;
    return site->backend->write(site->session, site->answer, &none, sizeof none);
}

/* Waits for all work before it: what a kernel broke shows here. */
static enum status end(struct site *site, enum status st, struct cuda_device_answer *out)
{
    return st == ST_OK ? site->backend->read(site->session, out, site->answer, sizeof *out) : st;
}

static enum status same_bytes(struct site *site, const void *x, const void *y, size_t bytes,
                              bool *same)
{
    struct cuda_device_answer found = { .bad = 0 };
    enum status st = begin(site);
    if (st == ST_OK)
        st = status_of(cuda_device_differ(x, y, bytes, site->answer, stream_of(site)));
    st = end(site, st, &found);
    *same = found.bad == 0;
    return st;
}

static enum status device_same(struct site *site, const struct data_image *x,
                               const struct data_image *y, bool *same)
{
    return same_bytes(site, x->bytes, y->bytes, x->total_bytes, same);
}

static enum status device_same_on_device(struct site *site, const struct data_image *image,
                                         const void *device, bool *same)
{
    return same_bytes(site, image->bytes, device, image->total_bytes, same);
}

static enum status device_frame(struct site *site, struct data_image *before,
                                const struct data_image *after, bool *intact)
{
    enum status st = status_of(cuda_device_adopt(before, after, stream_of(site)));
    return st == ST_OK ? device_same(site, before, after, intact) : st;
}

static enum status device_judge(struct site *site, const struct judge *judge,
                                struct judge_outcome *out)
{
    const struct operand *o = &judge->after.shape;
    struct cuda_device_answer found;
    enum status st = begin(site);
    if (st == ST_OK)
        st = status_of(cuda_device_judge(judge, site->answer, stream_of(site)));
    st = end(site, st, &found);
    if (st != ST_OK)
        return st;
    *out = (struct judge_outcome){ .bad = found.bad };
    memcpy(&out->worst, &found.worst_bits, sizeof out->worst);
    if (found.bad == 0)
        return ST_OK;
    int64_t column = (int64_t)found.first / o->rows;
    out->at[0] = column / o->cols;
    out->at[1] = (int64_t)found.first % o->rows;
    out->at[2] = column % o->cols;
    st = end(site, status_of(cuda_device_judge_one(judge, out->at, site->answer, stream_of(site))),
             &found);
    out->got = found.got;
    out->want = found.want;
    return st;
}

/* ---- the reference ---- */

/* The product alone, for the images as they are. */
static struct tilewise_signature plain_of(const struct compare_job *job)
{
    const struct operand *c = &job->before->shape;
    struct tilewise_signature plain = compare_plain(job->signature, c->dtype);
    if (plain.batch_kind == TILEWISE_BATCH_NONE)
        return plain;
    plain.batch_kind = TILEWISE_BATCH_STRIDED;
    plain.stride_a = job->a->shape.stride;
    plain.stride_b = job->b->shape.stride;
    plain.stride_c = plain.stride_d = c->stride;
    return plain;
}

static enum status refer(struct site *site, const struct compare_job *job)
{
    const struct operand *c = &job->before->shape;
    const struct data_image *b = job->b->bytes ? job->b : job->a;
    struct tilewise_signature plain = plain_of(job);
    struct tilewise_args args = {
        .abi = TILEWISE_CANDIDATE_ABI,
        .bytes = sizeof args,
        .a = image_element(job->a, 0),
        .b = image_element(b, 0),
        .c = image_element(job->before, 0),
    };
    site->backend->fill_args(site->session, &args);
    args.alpha = &job->alpha;
    args.beta = &job->beta;
    site->want_count = (size_t)(c->rows * c->cols * c->batch);
    if (site->want == NULL)
        site->want = site->backend->alloc(site->session, 2 * site->want_count * sizeof *site->want);
    if (site->want == NULL)
        return ST_NOMEM;
    if (site->reference(&plain, &args, site->want, site->want + site->want_count) != 0)
        return ST_UNSUPPORTED;
    site->is_referred = true;
    return ST_OK;
}

static enum status device_compare(struct site *site, const struct compare_job *job,
                                  struct compare_outcome *out)
{
    bool is_add = job->signature->op == TILEWISE_OP_ADD;
    struct judge judge = { .kind = is_add ? JUDGE_ADD : JUDGE_BOUND, .after = *job->after };
    struct judge_outcome found;
    enum status st = ST_OK;
    if (!number_is_known(judge.after.shape.dtype) || job->signature->epilogue)
        return ST_UNSUPPORTED;
    if (!is_add && !site->is_referred)
        st = refer(site, job);
    judge.other = *job->b;
    judge.before = *job->before;
    judge.alpha = job->alpha;
    judge.exact = job->exact;
    judge.bound = compare_bound_for(job);
    judge.want = site->want;
    judge.magnitude = is_add ? NULL : site->want + site->want_count;
    st = st == ST_OK ? device_judge(site, &judge, &found) : st;
    if (st == ST_OK)
        compare_describe(&found, out);
    return st;
}

const struct site_ops cuda_site = {
    .create = device_create,
    .release = device_release,
    .fill = device_fill,
    .poison = device_poison,
    .put = device_put,
    .copy = device_copy,
    .to_device = device_to_device,
    .from_device = device_from_device,
    .same = device_same,
    .same_on_device = device_same_on_device,
    .frame = device_frame,
    .compare = device_compare,
    .judge = device_judge,
};
