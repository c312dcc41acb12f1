/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's modules and launches. A cubin of this device is a text:
 *   fake cubin sm_90
 *   kernel NAME PARAMETERS WORK[:TYPE]
 * PARAMETERS has a letter for each, or is "-": P pointer, b int8, s int16, i int32, l int64, f
 * float, d double. WORK is one of the kernels below, over elements of TYPE (f32). A kernel does
 * what its grid covers, and only that, from the bytes of its parameters: a wrong grid or argument
 * is a wrong result.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"
#include "replayer/cubin_driver.h"
#include "traces/number.h"

#define X(name, result, parameters) result name parameters;
CUBIN_DRIVER_LIST(X)
CUBIN_DRIVER_LATER_LIST(X)
#undef X

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    NO_BINARY = 209,
    NOT_FOUND = 500,
    OUT_OF_RESOURCES = 701,
};
enum { TILE = 16, KERNELS_MAX = 8, SHARED_UNASKED = 48 << 10, SHARED_MOST = 227 << 10 };

struct work;
struct kernel {
    char name[64], parameters[FAKE_PARAMETERS_MAX + 1];
    const struct work *work;
    unsigned dtype;
    int shared_allowed;
    bool large_clusters;
};

/* Loaded until the process ends: the list keeps them in sight of leak checkers. */
struct module {
    struct module *next;
    size_t count;
    struct kernel kernels[KERNELS_MAX];
};

/* What a kernel sees. */
struct running {
    const struct kernel *kernel;
    struct fake_launch launch;
};

static struct fake_launches seen;
static struct module *loaded;

struct fake_launches *fake_launches(void)
{
    return &seen;
}

/* ---- kernels ---- */

static int64_t whole(const struct running *r, int i)
{
    uint64_t bits = r->launch.parameters[i];
    return r->kernel->parameters[i] == 'i' ? (int32_t)bits : (int64_t)bits;
}

static char *pointer(const struct running *r, int i)
{
    return (char *)(uintptr_t)r->launch.parameters[i];
}

static double real(const struct running *r, int i)
{
    float single;
    double number;
    memcpy(&single, &r->launch.parameters[i], sizeof single);
    memcpy(&number, &r->launch.parameters[i], sizeof number);
    return r->kernel->parameters[i] == 'f' ? (double)single : number;
}

static int64_t parts(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

/* cuTile's matmul: X[M,K] Y[K,N] = Z[M,N], each a pointer, two shapes and two strides in elements,
 * any of them. A block is one tile of Z; blocks along y have a part of K each, and a matrix each of
 * their own behind Z. */
static void run_matmul(const struct running *r)
{
    int64_t m = whole(r, 1), k = whole(r, 2), n = whole(r, 7), along = r->launch.grid[1];
    unsigned out = along > 1 ? TILEWISE_F32 : r->kernel->dtype;
    if (whole(r, 6) != k || whole(r, 11) != m || whole(r, 12) != n)
        return; /* shapes that do not fit together */
    for (int64_t block = 0; block < r->launch.grid[0] * along; block++) {
        int64_t tile = block % r->launch.grid[0], part = block / r->launch.grid[0];
        int64_t row = tile % parts(m, TILE) * TILE, column = tile / parts(m, TILE) * TILE;
        int64_t per = parts(k, along), first = part * per;
        for (int64_t i = row; i < m && i < row + TILE; i++)
            for (int64_t j = column; j < n && j < column + TILE; j++) {
                double sum = 0;
                for (int64_t p = first; p < k && p < first + per; p++)
                    sum += number_load(r->kernel->dtype, pointer(r, 0),
                                       i * whole(r, 3) + p * whole(r, 4)) *
                           number_load(r->kernel->dtype, pointer(r, 5),
                                       p * whole(r, 8) + j * whole(r, 9));
                int64_t at = part * m * n + i * whole(r, 13) + j * whole(r, 14);
                number_store(out, pointer(r, 10), at, sum);
            }
    }
}

/* Z = sum of `parts` matrices of M x N floats in rows: partial, Z, M, N, row stride, parts; 256
 * elements to a block. */
static void run_reduce(const struct running *r)
{
    int64_t m = whole(r, 2), n = whole(r, 3), ld = whole(r, 4), count = whole(r, 5);
    for (int64_t at = 0; at < m * n && at < (int64_t)r->launch.grid[0] * 256; at++) {
        double sum = 0;
        for (int64_t p = 0; p < count; p++)
            sum += number_load(TILEWISE_F32, pointer(r, 0), p * m * n + at);
        number_store(r->kernel->dtype, pointer(r, 1), at / n * ld + at % n, sum);
    }
}

/* y = alpha x + y: x, y, count, alpha; a thread for each element. */
static void run_axpy(const struct running *r)
{
    int64_t count = whole(r, 2), threads = (int64_t)r->launch.grid[0] * r->launch.block[0];
    for (int64_t i = 0; i < count && i < threads; i++) {
        double y = number_load(r->kernel->dtype, pointer(r, 1), i);
        double x = number_load(r->kernel->dtype, pointer(r, 0), i);
        number_store(r->kernel->dtype, pointer(r, 1), i, fma(real(r, 3), x, y));
    }
}

/* C = alpha A B + beta C in columns, nothing transposed: A, B, C, m, n, k, lda, ldb, ldc, alpha,
 * beta; a 16 x 16 tile to a block of the plane, `batch` along z with strides behind. */
static void run_columns(const struct running *r)
{
    int64_t m = whole(r, 3), n = whole(r, 4), k = whole(r, 5);
    double alpha = real(r, 9), beta = real(r, 10);
    for (int64_t z = 0; z < r->launch.grid[2]; z++)
        for (int64_t i = 0; i < m && i < (int64_t)r->launch.grid[0] * TILE; i++)
            for (int64_t j = 0; j < n && j < (int64_t)r->launch.grid[1] * TILE; j++) {
                double sum = 0;
                int64_t at = z * whole(r, 13) + i + j * whole(r, 8);
                for (int64_t p = 0; p < k; p++)
                    sum += number_load(r->kernel->dtype, pointer(r, 0),
                                       z * whole(r, 11) + i + p * whole(r, 6)) *
                           number_load(r->kernel->dtype, pointer(r, 1),
                                       z * whole(r, 12) + p + j * whole(r, 7));
                sum *= alpha;
                if (beta != 0)
                    sum += beta * number_load(r->kernel->dtype, pointer(r, 2), at);
                number_store(r->kernel->dtype, pointer(r, 2), at, sum);
            }
}

/* Takes anything, does nothing. */
static void run_nothing(const struct running *r)
{
    (void)r;
}

static const struct work {
    const char *name, *parameters; /* NULL: any */
    void (*run)(const struct running *r);
} works[] = {
    { "matmul", "PiiiiPiiiiPiiii", run_matmul },
    { "reduce", "PPiiii", run_reduce },
    { "axpy", "PPif", run_axpy },
    { "columns", "PPPiiillldfiii", run_columns },
    { "nothing", NULL, run_nothing },
};

/* ---- modules ---- */

static const struct {
    int error;
    const char *name, *text;
} errors[] = {
    { INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument" },
    { OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory" },
    { INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid" },
    { INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context" },
    { NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU",
      "no kernel image is available for execution on the device" },
    { NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found" },
    { OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
      "too many resources requested for launch" },
};

static int describe(int error, const char **name, const char **text)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].error == error) {
            *name = errors[i].name;
            *text = errors[i].text;
            return 0;
        }
    *name = *text = NULL;
    return INVALID_VALUE;
}

int cuGetErrorName(int error, const char **text)
{
    const char *other;
    return describe(error, text, &other);
}

int cuGetErrorString(int error, const char **text)
{
    const char *other;
    return describe(error, &other, text);
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return (int)fake_setting("context", 0);
}

static bool read_kernel(const char *line, struct kernel *k)
{
    char work[32], type[16] = "f32";
    if (sscanf(line, "kernel %63s %64s %31[^: \n]:%15s", k->name, k->parameters, work, type) < 3)
        return false;
    if (strcmp(k->parameters, "-") == 0)
        k->parameters[0] = '\0';
    k->dtype = tilewise_dtype_find(type);
    for (size_t i = 0; i < sizeof works / sizeof works[0]; i++)
        if (strcmp(works[i].name, work) == 0)
            k->work = &works[i];
    return k->work && tilewise_dtype_bits(k->dtype) &&
           (!k->work->parameters || strcmp(k->work->parameters, k->parameters) == 0);
}

int cuModuleLoadData(void **module, const void *image)
{
    unsigned arch = 0;
    int refused = (int)fake_setting("load", 0);
    seen.loads++;
    if (refused)
        return refused;
    if (sscanf(image, "fake cubin sm_%u", &arch) != 1)
        return INVALID_IMAGE;
    if (arch / 10 != (unsigned)fake_setting("capability", 90) / 10)
        return NO_BINARY;
    struct module *m = calloc(1, sizeof *m);
    if (m == NULL)
        return OUT_OF_MEMORY;
    for (const char *line = strchr(image, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
        if (m->count == KERNELS_MAX || !read_kernel(line + 1, &m->kernels[m->count++])) {
            free(m);
            return INVALID_IMAGE;
        }
    m->next = loaded;
    *module = loaded = m;
    return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    struct module *m = module;
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->kernels[i].name, name) == 0) {
            *function = &m->kernels[i];
            return 0;
        }
    return NOT_FOUND;
}

static size_t bytes_of(char letter)
{
    return letter == 'b' ? 1 : letter == 's' ? 2 : letter == 'i' || letter == 'f' ? 4 : 8;
}

int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes)
{
    const struct kernel *k = function;
    if (index >= strlen(k->parameters))
        return INVALID_VALUE;
    *bytes = bytes_of(k->parameters[index]);
    *offset = 0;
    for (size_t i = 0; i <= index; i++) {
        size_t each = bytes_of(k->parameters[i]);
        *offset = (*offset + each - 1) / each * each + (i < index ? each : 0);
    }
    return 0;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    struct kernel *k = function;
    if (attribute == CUBIN_FUNCTION_SHARED_BYTES && value <= SHARED_MOST)
        return k->shared_allowed = value, 0;
    if (attribute == CUBIN_FUNCTION_LARGE_CLUSTERS)
        return k->large_clusters = value != 0, 0;
    return INVALID_VALUE;
}

/* ---- launches ---- */

static int check_launch(const struct kernel *k, const struct fake_launch *l)
{
    uint32_t threads = l->block[0] * l->block[1] * l->block[2];
    uint32_t blocks = l->cluster[0] * l->cluster[1] * l->cluster[2];
    int allowed = k->shared_allowed > SHARED_UNASKED ? k->shared_allowed : SHARED_UNASKED;
    for (int i = 0; i < 3; i++)
        if (l->grid[i] == 0 || l->block[i] == 0 || l->grid[i] % l->cluster[i] != 0)
            return INVALID_VALUE;
    if (threads > 1024 || l->grid[1] > 65535 || l->grid[2] > 65535)
        return INVALID_VALUE;
    if ((int)l->shared_bytes > allowed || (blocks > 8 && !k->large_clusters))
        return INVALID_VALUE;
    return (int)fake_setting("launch", 0);
}

static void work(const void *context)
{
    const struct running *r = context;
    r->kernel->work->run(r);
}

int cuLaunchKernelEx(const struct cubin_launch_config *config, void *function, void **parameters,
                     void **extra)
{
    struct running r = { .kernel = function, .launch = { .stream = config->stream } };
    struct fake_launch *l = &r.launch;
    memcpy(l->grid, config->grid, sizeof l->grid);
    memcpy(l->block, config->block, sizeof l->block);
    for (int i = 0; i < 3; i++)
        l->cluster[i] = config->nattributes ? config->attributes[0].value.axes[i] : 1;
    l->shared_bytes = config->shared_bytes;
    l->nparameters = (unsigned)strlen(r.kernel->parameters);
    memcpy(l->kernel, r.kernel->name, sizeof l->kernel);
    for (unsigned i = 0; i < l->nparameters; i++)
        memcpy(&l->parameters[i], parameters[i], bytes_of(r.kernel->parameters[i]));
    seen.launches++;
    seen.last = *l;
    if (extra || config->nattributes > 1 ||
        (config->nattributes && config->attributes[0].id != CUBIN_LAUNCH_CLUSTER))
        return INVALID_VALUE;
    int error = check_launch(r.kernel, l);
    return error ? error : fake_enqueue(config->stream, work, &r, sizeof r, 3000);
}

struct clearing {
    uint64_t memory;
    unsigned char value;
    size_t bytes;
};

static void clear(const void *context)
{
    const struct clearing *c = context;
    memset((char *)(uintptr_t)c->memory, c->value, c->bytes);
}

int cuMemsetD8Async(uint64_t memory, unsigned char value, size_t bytes, void *stream)
{
    struct clearing c = { memory, value, bytes };
    seen.clears++;
    seen.cleared_bytes = bytes;
    return fake_enqueue(stream, clear, &c, sizeof c, 2000);
}
