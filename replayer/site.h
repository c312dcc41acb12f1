/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the images of a verification lie, and who works on them: the host, with copies to the
 * device and back around every run, or the device itself, where nothing but counts and one element
 * come back. The order of the checks (verify.c) knows no difference.
 */
#ifndef TILEWISE_REPLAYER_SITE_H
#define TILEWISE_REPLAYER_SITE_H

#include "replayer/backend.h"
#include "replayer/compare.h"
#include "replayer/data.h"
#include "replayer/judge.h"

struct site;

/* All: ST_OK, or DEVICE (the backend's complaint says what), NOMEM. Images are of the site's own
 * create(); `device` is where a kernel finds an operand: as many bytes as the image. */
struct site_ops {
    enum status (*create)(struct site *site, struct data_image *image, const struct operand *shape);
    void (*release)(struct site *site, struct data_image *image);
    /* data_fill(), data_poison(), data_put(). */
    enum status (*fill)(struct site *site, struct data_image *image, enum operand_name name,
                        const struct data_recipe *recipe);
    enum status (*poison)(struct site *site, struct data_image *image);
    enum status (*put)(struct site *site, struct data_image *image, int64_t index, double value);
    enum status (*copy)(struct site *site, struct data_image *to, const struct data_image *from);
    enum status (*to_device)(struct site *site, void *device, const struct data_image *image);
    enum status (*from_device)(struct site *site, struct data_image *image, const void *device);
    /* Are all bytes the same? */
    enum status (*same)(struct site *site, const struct data_image *x, const struct data_image *y,
                        bool *same);
    enum status (*same_on_device)(struct site *site, const struct data_image *image,
                                  const void *device, bool *same);
    /* data_frame_intact() */
    enum status (*frame)(struct site *site, struct data_image *before,
                         const struct data_image *after, bool *intact);
    /* compare_result(); UNSUPPORTED when this site has no reference for it. */
    enum status (*compare)(struct site *site, const struct compare_job *job,
                           struct compare_outcome *out);
    /* judge_all() */
    enum status (*judge)(struct site *site, const struct judge *judge, struct judge_outcome *out);
};

struct site {
    const struct site_ops *ops;
    const struct backend *backend;
    struct backend_session *session;
    compare_reference *reference; /* for operands that lie here */
    /* Its own: */
    struct data_image back; /* host: what was read back */
    double *want;           /* device: values, then magnitudes */
    size_t want_count;
    bool is_referred; /* want is that of the images as they are */
    void *answer;     /* device: where counts are kept */
};

extern const struct site_ops site_host;
void site_close(struct site *site);

#endif
