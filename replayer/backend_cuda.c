/* SPDX-License-Identifier: Apache-2.0
 *
 * One NVIDIA GPU; baseline: cuBLAS and cuBLASLt. Opened in child processes only: CUDA does not
 * survive a fork.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/cuda_machine.h"
#include "replayer/cuda_session.h"
#include "replayer/data.h"
#ifdef REPLAYER_CUDA
#include "replayer/cuda_device.h"
#include "replayer/cuda_site.h"
#endif

static const int64_t cubes[] = { 4096, 8192, 0 };
static const double burst_ns = 1e6, warm_up_ns = 50e6;
static const size_t list_workspace_bytes = 64u << 20;
enum { CAPABILITY_HOPPER = 90, BANDWIDTH_TRIES = 10 };

bool cuda_session_failed(struct backend_session *session, int error, const char *what)
{
    if (error == 0)
        return false;
    session->api.cudaGetLastError();
    snprintf(session->complaint, sizeof session->complaint, "%s: %s", what,
             session->api.cudaGetErrorString(error));
    return true;
}

void *cuda_session_alloc(struct backend_session *session, size_t bytes)
{
    void *memory = NULL;
    if (session->api.cudaMalloc(&memory, bytes) == 0)
        return memory;
    session->api.cudaGetLastError(); /* not an error of the next call */
    return NULL;
}

/* ---- open ---- */

static int attribute(const struct backend_session *session, int number)
{
    int value = 0;
    return session->api.cudaDeviceGetAttribute(&value, number, 0) == 0 ? value : 0;
}

/* Everything up to the first that is missing. */
static enum status open_machine(struct backend_session *session, const char *folder,
                                struct fault *fault)
{
    struct cuda_machine machine = { .driver_version = 0 };
    struct cuda_api *api = &session->api;
    enum status st = cuda_api_open_driver(api, folder, fault);
    st = st == ST_OK ? cuda_machine_gpu(api, &machine, fault) : st;
    st = st == ST_OK ? cuda_api_open_libraries(api, folder, fault) : st;
    st = st == ST_OK ? cuda_machine_versions(api, &machine, fault) : st;
    session->sm_count = machine.sm_count;
    session->capability = machine.capability;
    return st;
}

static enum status create_handles(struct backend_session *session, struct fault *fault)
{
    const struct cuda_api *api = &session->api;
    int error = api->cudaSetDevice(0);
    error =
        error ? error : api->cudaStreamCreateWithFlags(&session->stream, CUDA_STREAM_NON_BLOCKING);
    error = error ? error : api->cudaEventCreate(&session->start);
    error = error ? error : api->cudaEventCreate(&session->stop);
    if (error)
        return fault_set(fault, ST_DEVICE, "the GPU cannot be used: %s",
                         api->cudaGetErrorString(error));
    if (api->cublasCreate_v2(&session->blas) != 0 || api->cublasLtCreate(&session->lt) != 0 ||
        api->cublasSetStream_v2(session->blas, session->stream) != 0)
        return fault_set(fault, ST_DEVICE, "cuBLAS does not start on this GPU");
    return ST_OK;
}

/* Workspaces: what cuBLAS itself takes on such a device. Its own would come from an allocator that
 * a graph must not call. */
static enum status allocate(struct backend_session *session, struct fault *fault)
{
    session->info.cache_bytes = (uint64_t)attribute(session, CUDA_ATTRIBUTE_L2_BYTES);
    session->recorded_bytes = session->capability >= CAPABILITY_HOPPER ? 32u << 20 : 4u << 20;
    session->workspace = cuda_session_alloc(session, list_workspace_bytes);
    session->sweep = cuda_session_alloc(session, 2 * session->info.cache_bytes);
    session->sink = cuda_session_alloc(session, sizeof(float));
    size_t free_bytes = 0, total_bytes = 0;
    if (session->workspace == NULL || session->sweep == NULL || session->sink == NULL ||
        session->api.cudaMemGetInfo(&free_bytes, &total_bytes) != 0 ||
        session->api.cublasSetWorkspace_v2(session->blas, session->workspace,
                                           session->recorded_bytes) != 0)
        return fault_set(fault, ST_DEVICE, "no memory is left on the GPU; is it in use?");
    session->info.memory_bytes = free_bytes / 10 * 9;
    return ST_OK;
}

/* Do the kernels of this build run here? A device of another kind, and a simulated one, says no. */
static void try_kernels(struct backend_session *session)
{
#ifdef REPLAYER_CUDA
    session->has_kernels = cuda_device_touch(
                               &(struct cuda_device_traffic){
                                   .region = session->sweep, .region_bytes = 4096, .bytes = 4096 },
                               session->stream) == 0 &&
                           session->api.cudaStreamSynchronize(session->stream) == 0;
    session->api.cudaGetLastError();
#else
    (void)session;
#endif
}

static void describe_device(struct backend_session *session)
{
    char name[100] = "GPU";
    int version = 0, driver = 0;
    session->api.cuDeviceGetName(name, sizeof name, 0);
    session->api.cuDriverGetVersion(&driver);
    session->api.cublasGetVersion_v2(session->blas, &version);
    struct backend_info *info = &session->info;
    snprintf(info->device, sizeof info->device, "%.90s, %d SMs, driver for CUDA %d.%d", name,
             session->sm_count, driver / 1000, driver % 1000 / 10);
    snprintf(info->library, sizeof info->library, "cuBLAS %d.%d.%d", version / 10000,
             version / 100 % 100, version % 100);
    snprintf(info->core, sizeof info->core, "sm_%d", session->capability);
    info->threads = 1;
    info->burst_ns = burst_ns;
    info->warm_up_ns = warm_up_ns;
}

static void cuda_close(struct backend_session *session);

static enum status cuda_open(struct backend_session **out, const struct backend_options *options,
                             struct fault *fault)
{
    struct backend_session *session = calloc(1, sizeof *session);
    if (session == NULL)
        return fault_set(fault, ST_NOMEM, "out of memory");
    session->libraries = options->libraries;
    enum status st = open_machine(session, options->libraries, fault);
    if (st != ST_OK) {
        free(session); /* there may be no library to close anything with */
        return st;
    }
    st = create_handles(session, fault);
    st = st == ST_OK ? allocate(session, fault) : st;
    if (st != ST_OK) {
        cuda_close(session);
        return st;
    }
    describe_device(session);
    try_kernels(session);
    cuda_clock_open(session);
    *out = session;
    return ST_OK;
}

static void release_extras(struct backend_session *session)
{
    for (int i = 0; i < 4; i++)
        session->api.cudaFree(session->scale[i]);
    session->api.cudaFree(session->bias);
    memset(session->scale, 0, sizeof session->scale);
    session->bias = NULL;
}

static void cuda_close(struct backend_session *session)
{
    if (session == NULL)
        return;
    const struct cuda_api *api = &session->api;
    cuda_burst_forget(session);
    cuda_lt_release(session);
    cuda_call_forget_pointers(session);
    release_extras(session);
    if (!session->is_guest)
        api->cudaFree(session->workspace);
    api->cudaFree(session->sweep);
    api->cudaFree(session->sink);
    if (session->lt)
        api->cublasLtDestroy(session->lt);
    if (session->blas)
        api->cublasDestroy_v2(session->blas);
    if (session->stop)
        api->cudaEventDestroy(session->stop);
    if (session->start)
        api->cudaEventDestroy(session->start);
    if (session->stream && !session->is_guest)
        api->cudaStreamDestroy(session->stream);
    free(session);
}

static void cuda_describe(struct backend_session *session, struct backend_info *info)
{
    *info = session->info;
}

/* ---- memory ---- */

static void cuda_release(struct backend_session *session, void *memory)
{
    if (memory == NULL)
        return;
    cuda_burst_forget(session);
    cuda_call_forget_pointers(session);
    session->api.cudaFree(memory);
}

static enum status copy(struct backend_session *session, void *to, const void *from, size_t bytes,
                        int kind)
{
    /* The stream of the work does not wait for copies by itself, nor they for it. */
    int error = session->api.cudaStreamSynchronize(session->stream);
    if (error == 0)
        error = session->api.cudaMemcpy(to, from, bytes, kind);
    return cuda_session_failed(session, error, "a copy") ? ST_DEVICE : ST_OK;
}

static enum status cuda_write(struct backend_session *session, void *device, const void *host,
                              size_t bytes)
{
    return copy(session, device, host, bytes, CUDA_COPY_TO_DEVICE);
}

static enum status cuda_read(struct backend_session *session, void *host, const void *device,
                             size_t bytes)
{
    return copy(session, host, device, bytes, CUDA_COPY_TO_HOST);
}

/* ---- the prepared signature ---- */

/* Values that scale modes may need at most: one per 16 elements and per row, or per row. */
static size_t scale_count(const struct operand *o)
{
    return (size_t)((o->rows + 127) / 128 * 128) * (size_t)((o->cols + 63) / 64 * 4 + 4) *
           (size_t)o->batch;
}

/* Every scale is the same power of two, so that results stay comparable: data.h says which. */
static bool make_scale(struct backend_session *session, int i, uint8_t mode,
                       const struct operand *o)
{
    enum { VEC16_UE4M3 = 2, VEC32_UE8M0 = 3 };
    static const unsigned char half_ue4m3 = 0x30, half_ue8m0 = 0x7e;
    static const float half = (float)DATA_OPERAND_SCALE;
    size_t count = mode == 1 ? 1 : scale_count(o), bytes = count * sizeof half;
    unsigned char *host = malloc(bytes);
    session->scale[i] = host ? cuda_session_alloc(session, bytes) : NULL;
    for (size_t at = 0; host && at < count; at++)
        memcpy(host + at * sizeof half, &half, sizeof half);
    if (host && (mode == VEC16_UE4M3 || mode == VEC32_UE8M0))
        memset(host, mode == VEC16_UE4M3 ? half_ue4m3 : half_ue8m0, bytes);
    bool good = session->scale[i] && cuda_write(session, session->scale[i], host, bytes) == ST_OK;
    free(host);
    return good;
}

/* Normal values, read or written by the epilogue. */
static bool make_bias(struct backend_session *session)
{
    const struct tilewise_signature *s = &session->signature;
    int64_t length = s->m > s->n ? s->m : s->n;
    struct operand shape = {
        .present = true,
        .dtype = s->epilogue >> 11 ? (uint8_t)(s->epilogue >> 11) : s->dtype_d,
        .align_log2 = 4,
        .rows = length,
        .cols = 1,
        .row_step = 1,
        .col_step = 1,
        .batch = 1,
    };
    shape.element_bytes = tilewise_dtype_bits(shape.dtype) / 8;
    shape.bytes = (size_t)length * shape.element_bytes;
    struct data_image image;
    bool good = shape.bytes && data_create(&image, &shape) == ST_OK;
    if (!good)
        return false;
    data_fill(&image, OPERAND_B, &(struct data_recipe){ .class = DATA_NORMAL, .seed = 7 });
    session->bias = cuda_session_alloc(session, shape.bytes);
    good = session->bias &&
           cuda_write(session, session->bias, image.bytes + image.first_byte, shape.bytes) == ST_OK;
    data_release(&image);
    return good;
}

static bool make_extras(struct backend_session *session)
{
    enum { EPILOGUE_WITH_BIAS = 4 | 16 | 256 | 512 };
    const struct tilewise_signature *s = &session->signature;
    const uint8_t modes[] = { s->scale_a, s->scale_b, s->scale_c, s->scale_d };
    static const enum operand_name of[] = { OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_C };
    release_extras(session);
    for (int i = 0; i < 4; i++)
        if (modes[i] && !make_scale(session, i, modes[i], &session->shapes[of[i]]))
            return false;
    return !(s->epilogue & EPILOGUE_WITH_BIAS) || make_bias(session);
}

static enum status cuda_prepare(struct backend_session *session, const struct tilewise_signature *s,
                                struct backend_routines *out)
{
    cuda_burst_forget(session);
    cuda_call_forget_pointers(session);
    session->signature = *s;
    session->nroutines = 0;
    session->no_graphs = false;
    session->complaint[0] = '\0';
    *out = (struct backend_routines){ .count = 0 };
    if (operand_layout(s, session->shapes, NULL) != ST_OK || !make_extras(session))
        return ST_UNSUPPORTED;
    session->api.cublasSetMathMode(session->blas, s->math_mode & 0xff);
    bool has_problem = cuda_lt_prepare(session) == ST_OK;
    if (cuda_entry_family(s->entry) == CUDA_FAMILY_LT)
        cuda_lt_append(session, 1, session->recorded_bytes);
    else
        cuda_call_append_recorded(session);
    if (session->nroutines == 0)
        return ST_UNSUPPORTED;
    cuda_call_append_gemv(session);
    if (has_problem)
        cuda_lt_append(session, CUDA_LT_FOUND_MAX, list_workspace_bytes);
    out->count = session->nroutines;
    for (size_t i = 0; i < out->count; i++)
        memcpy(out->name[i], session->routines[i].name, sizeof out->name[i]);
    return ST_OK;
}

static int cuda_baseline(struct backend_session *session, size_t index,
                         const struct tilewise_args *args)
{
    if (index >= session->nroutines)
        return -EINVAL;
    const struct cuda_routine *r = &session->routines[index];
    int status = r->run(session, r, args);
    if (status == 0)
        return 0;
    snprintf(session->complaint, sizeof session->complaint, "%.30s: cuBLAS status %d", r->name,
             status);
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? -ENOTSUP : -EIO;
}

/* ---- the device ---- */

struct copying {
    struct backend_session *session;
    char *memory;
    size_t bytes;
};

static int copy_half(void *context)
{
    struct copying *c = context;
    return c->session->api.cudaMemcpyAsync(c->memory, c->memory + c->bytes, c->bytes,
                                           CUDA_COPY_ON_DEVICE, c->session->stream);
}

static enum status cuda_bandwidth(struct backend_session *session, double *bytes_per_s)
{
    size_t bytes = 8 * session->info.cache_bytes, most = (size_t)session->info.memory_bytes / 4;
    struct copying c = { session, NULL, bytes < most ? bytes : most };
    double best_ns = INFINITY;
    c.memory = cuda_session_alloc(session, 2 * c.bytes);
    if (c.memory == NULL)
        return ST_NOMEM;
    for (int i = 0; i < BANDWIDTH_TRIES; i++) {
        struct backend_burst burst = { copy_half, &c, 4, 0, false, BACKEND_AS_BEST };
        best_ns = fmin(best_ns, cuda_burst_run(session, &burst) / 4);
    }
    cuda_release(session, c.memory);
    *bytes_per_s = 2 * (double)c.bytes / (best_ns * 1e-9);
    return isfinite(best_ns) ? ST_OK : ST_DEVICE;
}

static void cuda_fill_args(struct backend_session *session, struct tilewise_args *args)
{
    args->stream = session->stream;
    args->threads = 1;
    args->scale_a = session->scale[0];
    args->scale_b = session->scale[1];
    args->scale_c = session->scale[2];
    args->scale_d = session->scale[3];
    args->bias = session->bias;
}

/* The application's calls share both, too. */
static enum status cuda_join(struct backend_session *session, struct backend_session *leader)
{
    const struct cuda_api *api = &session->api;
    /* In this order: another stream takes the workspace away. */
    int error = api->cublasSetStream_v2(session->blas, leader->stream);
    error |= api->cublasSetWorkspace_v2(session->blas, leader->workspace, session->recorded_bytes);
    if (error)
        return ST_DEVICE;
    api->cudaFree(session->workspace);
    api->cudaFree(session->sweep);
    api->cudaStreamDestroy(session->stream);
    session->stream = leader->stream;
    session->workspace = leader->workspace;
    session->sweep = NULL;
    session->is_guest = true;
    return ST_OK;
}

static int cuda_copy(struct backend_session *session, void *to, const void *from, size_t bytes)
{
    return -session->api.cudaMemcpyAsync(to, from, bytes, CUDA_COPY_ON_DEVICE, session->stream);
}

/* A sum where there is no kernel of ours: it only reads, and stops at the end of the region. */
static int sum_instead(struct backend_session *session, const struct backend_touch *t)
{
    size_t bytes = t->bytes < t->region_bytes - t->at ? t->bytes : t->region_bytes - t->at;
    return cuda_burst_read(session, (const char *)t->region + t->at, bytes) ? -EIO : 0;
}

static int cuda_touch(struct backend_session *session, const struct backend_touch *t)
{
#ifdef REPLAYER_CUDA
    if (session->has_kernels)
        return cuda_device_touch(&(struct cuda_device_traffic){ t->region, t->other, t->hot,
                                                                t->region_bytes, t->at, t->bytes,
                                                                t->hot_bytes },
                                 session->stream);
#endif
    return sum_instead(session, t);
}

static const struct site_ops *site_of(struct backend_session *session)
{
#ifdef REPLAYER_CUDA
    if (session->has_kernels)
        return &cuda_site;
#endif
    (void)session;
    return NULL;
}

static const char *cuda_complaint(struct backend_session *session)
{
    return session->complaint;
}

static double cuda_kappa(const struct tilewise_signature *s)
{
    return cuda_entry_on_tensor_cores(s) ? 1.0 / 16 : 0;
}

const struct backend backend_cuda = {
    .name = "cuda",
    .maps_freely = true,
    .screens = true,
    .opens_slowly = true,
    .align_bytes = 256, /* what cudaMalloc gives */
    .slow_rate_flops = 1e10,
    .cubes = cubes,
    .ceiling_is_hard = true,
    .entry = cuda_entry_number,
    .kappa = cuda_kappa,
    .supports = cuda_entry_supports,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .alloc = cuda_session_alloc,
    .release = cuda_release,
    .write = cuda_write,
    .read = cuda_read,
    .site = site_of,
    .prepare = cuda_prepare,
    .baseline = cuda_baseline,
    .burst = cuda_burst_run,
    .complaint = cuda_complaint,
    .clock = cuda_clock_take,
    .bandwidth = cuda_bandwidth,
    .fill_args = cuda_fill_args,
    .kernels = cuda_kernels_of,
    .join = cuda_join,
    .copy = cuda_copy,
    .touch = cuda_touch,
};
