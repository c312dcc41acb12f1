/* SPDX-License-Identifier: Apache-2.0
 *
 * One kind of device: how to hold buffers there, run the vendor library there, and time a burst of
 * calls. Everything else of the replayer is written against this struct; a new kind of device is
 * one file that fills it in. Used by one thread, in a child process that serves one case.
 */
#ifndef TILEWISE_REPLAYER_BACKEND_H
#define TILEWISE_REPLAYER_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replayer/candidate.h"
#include "traces/status.h"

enum { BACKEND_ROUTINES_MAX = 24, BACKEND_NAME_BYTES = 32, BACKEND_TEXT_BYTES = 192 };

struct backend_options {
    uint32_t threads;      /* 0 = as many as this process may use */
    bool uncap_baseline;   /* remove instruction-set caps from the environment first */
    const char *libraries; /* cuda: look for the vendor's libraries in this folder first, or NULL */
};

struct backend_info {
    char device[BACKEND_TEXT_BYTES];  /* "AMD EPYC 9575F" */
    char library[BACKEND_TEXT_BYTES]; /* of the baseline, with its version */
    char core[BACKEND_NAME_BYTES];    /* kernel set the library chose; "" if it does not say */
    char capped[BACKEND_TEXT_BYTES];  /* why the baseline is held back; "" if it is not */
    uint32_t threads;
    uint64_t cache_bytes;  /* of the last cache level: what "cold" must exceed */
    uint64_t memory_bytes; /* free device memory; 0 where operands lie in host memory */
    double burst_ns;       /* shortest burst that can be timed well */
    double warm_up_ns;     /* under load, until the clock has settled; 0: it does so at once */
};

/* Ways of the library to do what a signature says; [0] is the call as recorded. */
struct backend_routines {
    size_t count;
    char name[BACKEND_ROUTINES_MAX][BACKEND_NAME_BYTES]; /* "sgemm", "sgemv", ... */
};

/* How calls are made where a device can be told a whole burst at once. */
enum backend_how { BACKEND_AS_BEST, BACKEND_IN_A_GRAPH, BACKEND_CALL_BY_CALL };

/* Calls to time together. */
struct backend_burst {
    int (*step)(void *context); /* one call; 0 or a negative errno */
    void *context;
    uint64_t calls;
    unsigned arm; /* who: the same number does the same calls on the same buffers, so that a backend
                     may record a burst once and repeat it */
    bool cold;    /* nothing of the operands may be in a cache at the start */
    enum backend_how how;
};

/* Memory traffic without a result: `bytes` of a region are read, from `at` on and round its end,
 * and written to the same place of `other`. Then all of `hot` is read and written again
 * with what it held. */
struct backend_touch {
    const void *region;
    void *other;                    /* as large, or the region itself; NULL: nothing is written */
    size_t region_bytes, at, bytes; /* region_bytes: a multiple of 256, and more than one */
    void *hot;
    size_t hot_bytes;
};

/* One kernel that ran. */
struct backend_kernel {
    const char *name; /* as the vendor's profiler has it */
    uint64_t start_ns;
    double ns;
};

/* The device's clock while it worked. */
struct backend_clock {
    double mhz;          /* mean; NaN: nobody knows */
    double slowed_share; /* of the samples: too hot, or held back from outside */
};

struct backend_session; /* of one backend; opaque */
struct site_ops;        /* replayer/site.h */

struct backend {
    /* Required. Also the `target` of the candidates that run here. Static storage. */
    const char *name;
    /* Address space means nothing here: a library maps much more than it uses. */
    bool maps_freely;
    /* The library proposes more routines than are worth a fair comparison: the quickest few are
     * chosen first, in a process of their own. */
    bool screens;
    /* Opening costs as much as a case: one process serves many, until something goes wrong in it.
     */
    bool opens_slowly;
    size_t align_bytes;     /* of operands whose recorded class is the best one */
    double slow_rate_flops; /* a library that is slower than this hangs */
    const int64_t *cubes;   /* sizes for the matrix rate; 0 ends them */
    /* Is the rate of the library's large products that of the hardware, so that a faster result was
     * measured wrongly? Not on a processor: its clock varies, and others use it at the same time.
     */
    bool ceiling_is_hard;

    /* Optional (NULL: all the same). Number of an entry point that calls for a routine of its own,
     * 0 for one that is not known here. Kept in signature->entry while it is replayed. */
    uint32_t (*entry)(const char *name);
    /* Optional (NULL: 0). Growth of a sum's error with k: 1/16 for tensor cores. */
    double (*kappa)(const struct tilewise_signature *s);

    /* Required. Can the library do this call here? False with one line why not. Loads nothing;
     * may be called in the parent process. */
    bool (*supports)(const struct tilewise_signature *s, char *why, size_t why_bytes);

    /* Required. Find the device and the library. DEVICE or UNSUPPORTED with the remedy. */
    enum status (*open)(struct backend_session **out, const struct backend_options *options,
                        struct fault *fault);
    /* Required. Accepts NULL. */
    void (*close)(struct backend_session *session);
    /* Required. */
    void (*describe)(struct backend_session *session, struct backend_info *info);

    /* Required. Device memory, aligned to 256 bytes at least; NULL when there is none. */
    void *(*alloc)(struct backend_session *session, size_t bytes);
    void (*release)(struct backend_session *session, void *memory); /* accepts NULL */
    /* Required. Copy to and from the device; done on return. */
    enum status (*write)(struct backend_session *session, void *device, const void *host,
                         size_t bytes);
    enum status (*read)(struct backend_session *session, void *host, const void *device,
                        size_t bytes);

    /* Optional (NULL, or the answer NULL: results are verified on the host). Who verifies them
     * where they are. */
    const struct site_ops *(*site)(struct backend_session *session);

    /* Required. Make ready to run this signature (copied) and list the ways to do it. */
    enum status (*prepare)(struct backend_session *session, const struct tilewise_signature *s,
                           struct backend_routines *out);
    /* Required. Enqueue one call of routine `index` of the last prepare(). 0 or a negative errno.
     */
    int (*baseline)(struct backend_session *session, size_t index,
                    const struct tilewise_args *args);

    /* Required. Make the calls and wait for the work: ns of all of it on the device's clock, or NaN
     * if one failed. Recorded bursts end with release() of any memory. */
    double (*burst)(struct backend_session *session, const struct backend_burst *burst);
    /* Optional. What went wrong on the device last, one line; "" for nothing. */
    const char *(*complaint)(struct backend_session *session);

    /* Optional. Since the last call. */
    struct backend_clock (*clock)(struct backend_session *session);

    /* Optional (NULL: no profiler). Run the burst under the vendor's profiler: its kernels in order
     * of their start, until the next call; NULL where that is not known. Comes after all timing:
     * a profiler slows the host for the rest of the process. */
    const struct backend_kernel *(*kernels)(struct backend_session *session,
                                            const struct backend_burst *burst, size_t *count);
    /* Optional (NULL: nothing is shared). Work on the stream and the workspace of `leader`, which
     * is closed last: calls of several signatures in one order. */
    enum status (*join)(struct backend_session *session, struct backend_session *leader);
    /* Required. Enqueue a copy of `bytes` on the device. 0 or a negative errno. */
    int (*copy)(struct backend_session *session, void *to, const void *from, size_t bytes);
    /* Required for replay in order. Enqueue such traffic, always as the same number of kernels. 0
     * or a negative errno. */
    int (*touch)(struct backend_session *session, const struct backend_touch *touch);

    /* Required. Best memory rate in bytes per second, read + write, out of the caches. */
    enum status (*bandwidth)(struct backend_session *session, double *bytes_per_s);

    /* Required. Fields of tilewise_args that belong to the device: stream, threads, and the scales
     * and bias of the prepared signature. */
    void (*fill_args)(struct backend_session *session, struct tilewise_args *args);
};

static inline double backend_kappa(const struct backend *backend,
                                   const struct tilewise_signature *s)
{
    return backend->kappa ? backend->kappa(s) : 0;
}

extern const struct backend backend_cpu;
extern const struct backend backend_cuda;

#endif
