/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the CUDA backend, shared by its files: libraries, one stream, the prepared signature
 * with the ways to call for it, and the recorded bursts.
 */
#ifndef TILEWISE_REPLAYER_CUDA_SESSION_H
#define TILEWISE_REPLAYER_CUDA_SESSION_H

#include "replayer/backend.h"
#include "replayer/cuda_api.h"
#include "replayer/cuda_entry.h"
#include "replayer/operand.h"

enum { CUDA_LT_FOUND_MAX = 16, CUDA_RECORDINGS_MAX = 16, CUDA_POINTER_SETS_MAX = 1024 };

struct cuda_routine {
    char name[BACKEND_NAME_BYTES];
    int (*run)(struct backend_session *session, const struct cuda_routine *routine,
               const struct tilewise_args *args); /* a status of cuBLAS */
    void *function;                               /* of cuBLAS, of the family's type */
    enum cuda_family family;
    bool swapped;               /* gemv for m = 1: the matrix is B */
    struct cuda_lt_found found; /* cuBLASLt */
};

/* One problem in cuBLASLt's words. */
struct cuda_lt_problem {
    void *desc, *layout[4]; /* A, B, C, D; NULL: none */
};

/* A burst as a graph that can be launched again. */
struct cuda_recording {
    unsigned arm;
    uint64_t calls;
    void *exec; /* NULL: free */
};

/* Device arrays of the pointers of a batch, for one place of the operands. */
struct cuda_pointer_set {
    const void *a;
    void **device; /* A's, B's, C's, `batch` each */
};

struct cuda_clock {
    void *device; /* NVML's handle */
    int (*get_clock)(void *device, int kind, unsigned *mhz);
    int (*get_reasons)(void *device, unsigned long long *reasons);
    double sum_mhz;
    uint64_t samples, slowed;
    struct backend_clock reading;
};

struct backend_session {
    struct cuda_api api;
    struct backend_info info;
    const char *libraries; /* where they were looked for first, or NULL */
    void *stream, *blas, *lt;
    bool is_guest;            /* stream and workspace are another session's */
    void *workspace;          /* of cuBLAS and cuBLASLt: shared, one call at a time */
    size_t recorded_bytes;    /* part of it that a recorded call may use */
    void *sweep, *sink;       /* memory to push everything out of the cache, and a sum's place */
    void *start, *stop;       /* events */
    bool no_graphs;           /* something cannot be recorded: bursts are made call by call */
    bool has_kernels;         /* those of cuda_device.h run here */
    bool outside;             /* events inside of graphs do not tell the time */
    int sm_count, capability; /* 90 = 9.0 */

    struct tilewise_signature signature; /* of the last prepare() */
    struct operand shapes[OPERAND_COUNT];
    size_t nroutines;
    struct cuda_routine routines[BACKEND_ROUTINES_MAX];
    struct cuda_lt_problem problem;
    void *scale[4], *bias; /* of A, B, C, D; NULL where the signature has none */

    struct cuda_recording recordings[CUDA_RECORDINGS_MAX];
    size_t next_recording;
    struct cuda_pointer_set pointers[CUDA_POINTER_SETS_MAX];
    size_t npointers;
    struct cuda_clock clock;
    char complaint[160];
};

/* cuda_call.c: routines of cuBLAS. [0] is the recorded call; nothing is appended where the library
 * has no such function. */
void cuda_call_append_recorded(struct backend_session *session);
void cuda_call_append_gemv(struct backend_session *session);
void cuda_call_forget_pointers(struct backend_session *session);

/* cuda_lt.c: the problem and the list of cuBLASLt. */
enum status cuda_lt_prepare(struct backend_session *session);
void cuda_lt_append(struct backend_session *session, size_t wanted, size_t workspace_bytes);
void cuda_lt_release(struct backend_session *session);

/* cuda_burst.c */
double cuda_burst_run(struct backend_session *session, const struct backend_burst *burst);
void cuda_burst_forget(struct backend_session *session);
/* Push everything out of the cache; 0 when it is enqueued. */
int cuda_burst_sweep(struct backend_session *session);
/* Read memory, by a sum of it that nobody wants; 0 when it is enqueued. */
int cuda_burst_read(struct backend_session *session, const void *memory, size_t bytes);

/* cuda_kernels.c: backend->kernels. */
const struct backend_kernel *cuda_kernels_of(struct backend_session *session,
                                             const struct backend_burst *burst, size_t *count);

/* cuda_clock.c: what NVML says while the device works; NaN where there is no NVML. take() starts
 * anew. */
void cuda_clock_open(struct backend_session *session);
void cuda_clock_sample(struct backend_session *session);
struct backend_clock cuda_clock_take(struct backend_session *session);

/* Remember what the runtime says about `error`; true if there is one. */
bool cuda_session_failed(struct backend_session *session, int error, const char *what);
/* cudaMalloc that answers NULL. */
void *cuda_session_alloc(struct backend_session *session, size_t bytes);

#endif
