/* SPDX-License-Identifier: Apache-2.0
 *
 * Images in host memory: any backend, any type.
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/site.h"

static enum status host_create(struct site *site, struct data_image *image,
                               const struct operand *shape)
{
    (void)site;
    return data_create(image, shape);
}

static void host_release(struct site *site, struct data_image *image)
{
    (void)site;
    data_release(image);
}

static enum status host_fill(struct site *site, struct data_image *image, enum operand_name name,
                             const struct data_recipe *recipe)
{
    (void)site;
    data_fill(image, name, recipe);
    return ST_OK;
}

static enum status host_poison(struct site *site, struct data_image *image)
{
    (void)site;
    data_poison(image);
    return ST_OK;
}

static enum status host_put(struct site *site, struct data_image *image, int64_t index,
                            double value)
{
    (void)site;
    data_put(image, index, value);
    return ST_OK;
}

static enum status host_copy(struct site *site, struct data_image *to,
                             const struct data_image *from)
{
    (void)site;
    memcpy(to->bytes, from->bytes, from->total_bytes);
    return ST_OK;
}

static enum status host_to_device(struct site *site, void *device, const struct data_image *image)
{
    return site->backend->write(site->session, device, image->bytes, image->total_bytes);
}

static enum status host_from_device(struct site *site, struct data_image *image, const void *device)
{
    return site->backend->read(site->session, image->bytes, device, image->total_bytes);
}

static enum status host_same(struct site *site, const struct data_image *x,
                             const struct data_image *y, bool *same)
{
    (void)site;
    *same = memcmp(x->bytes, y->bytes, x->total_bytes) == 0;
    return ST_OK;
}

static enum status host_same_on_device(struct site *site, const struct data_image *image,
                                       const void *device, bool *same)
{
    if (site->back.total_bytes != image->total_bytes) {
        data_release(&site->back);
        enum status st = data_create(&site->back, &image->shape);
        if (st != ST_OK)
            return st;
    }
    enum status st = host_from_device(site, &site->back, device);
    return st == ST_OK ? host_same(site, &site->back, image, same) : st;
}

static enum status host_frame(struct site *site, struct data_image *before,
                              const struct data_image *after, bool *intact)
{
    (void)site;
    *intact = data_frame_intact(before, after);
    return ST_OK;
}

static enum status host_compare(struct site *site, const struct compare_job *job,
                                struct compare_outcome *out)
{
    struct compare_job own = *job;
    own.reference = site->reference;
    return compare_result(&own, out);
}

static enum status host_judge(struct site *site, const struct judge *judge,
                              struct judge_outcome *out)
{
    (void)site;
    judge_all(judge, out);
    return ST_OK;
}

const struct site_ops site_host = {
    .create = host_create,
    .release = host_release,
    .fill = host_fill,
    .poison = host_poison,
    .put = host_put,
    .copy = host_copy,
    .to_device = host_to_device,
    .from_device = host_from_device,
    .same = host_same,
    .same_on_device = host_same_on_device,
    .frame = host_frame,
    .compare = host_compare,
    .judge = host_judge,
};

void site_close(struct site *site)
{
    data_release(&site->back);
    site->backend->release(site->session, site->want);
    site->backend->release(site->session, site->answer);
}
