/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cubin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replayer/cubin_call.h"
#include "replayer/cubin_driver.h"
#include "traces/number.h"

enum { FILE_BYTES_MAX = 64 << 20, SHARED_BYTES_UNASKED = 48 << 10, CLUSTER_PORTABLE = 8 };

/* What is loaded, and the numbers of the signature that ran last: bursts repeat one. */
struct cubin_state {
    bool is_ready;
    char complaint[CUBIN_COMPLAINT_BYTES];
    struct cubin_driver driver;
    void *functions[CUBIN_LAUNCHES_MAX];
    uint32_t shared_allowed[CUBIN_LAUNCHES_MAX];
    bool is_planned;
    struct tilewise_signature signature;
    struct cubin_call call;
    struct cubin_launch_numbers numbers[CUBIN_LAUNCHES_MAX];
};

/* ---- files ---- */

static enum status read_all(int fd, const char *path, char **out, size_t *bytes,
                            struct fault *fault)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return fault_set(fault, ST_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode) || info.st_size > FILE_BYTES_MAX)
        return fault_set(fault, ST_INVALID, "%s is not a regular file of at most %d MiB", path,
                         FILE_BYTES_MAX >> 20);
    size_t size = (size_t)info.st_size;
    char *data = malloc(size + 1);
    if (data == NULL)
        return fault_set(fault, ST_NOMEM, "out of memory");
    for (*bytes = 0; *bytes < size;) {
        ssize_t got = read(fd, data + *bytes, size - *bytes);
        if (got <= 0) {
            free(data);
            return fault_set(fault, ST_IO, "%s: %s", path,
                             got ? strerror(errno) : "it became shorter");
        }
        *bytes += (size_t)got;
    }
    data[size] = '\0';
    *out = data;
    return ST_OK;
}

char *cubin_read_file(const char *path, const uint8_t want[SHA256_BYTES], size_t *bytes,
                      struct fault *fault)
{
    uint8_t digest[SHA256_BYTES];
    char *data = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        fault_set(fault, ST_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    enum status st = read_all(fd, path, &data, bytes, fault);
    close(fd);
    if (st != ST_OK)
        return NULL;
    sha256(data, *bytes, digest);
    if (memcmp(digest, want, sizeof digest) == 0)
        return data;
    fault_set(fault, ST_INVALID, "%s is not the file that the manifest was written for (sha256)",
              path);
    free(data);
    return NULL;
}

const struct cubin_binary *cubin_choose(const struct cubin_module *module, unsigned arch)
{
    const struct cubin_binary *best = NULL;
    for (size_t i = 0; i < module->nbinaries; i++) {
        const struct cubin_binary *b = &module->binaries[i];
        bool runs = b->only_there ? b->arch == arch : b->arch / 10 == arch / 10 && b->arch <= arch;
        bool better =
            best == NULL || b->arch > best->arch || (b->arch == best->arch && b->only_there);
        if (runs && better)
            best = b;
    }
    return best;
}

/* ---- getting ready ---- */

static enum status no_binary(const struct cubin_module *module, unsigned arch, struct fault *fault)
{
    char known[120] = "";
    for (size_t i = 0; i < module->nbinaries; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%ssm_%u%s", used ? ", " : "",
                 module->binaries[i].arch, module->binaries[i].only_there ? "a" : "");
    }
    return fault_set(fault, ST_UNSUPPORTED, "no cubin of '%.40s' for sm_%u, only for %s",
                     module->name, arch, known);
}

/* The driver takes the bytes of parameters on trust, but from CUDA 12.4 on it says how many each
 * has: the manifest is held against that. If it does not say so of the first one, nothing is known.
 */
static enum status check_parameters(const struct cubin_driver *driver, void *function,
                                    const struct cubin_launch *launch, struct fault *fault)
{
    static const struct {
        const char *word;
        size_t bytes;
    } types[] = {
#define X(id, word, kind, bytes, least, most) { word, bytes },
        CUBIN_TYPE_LIST(X)
#undef X
    };
    size_t offset, bytes;
    if (!driver->cuFuncGetParamInfo || driver->cuFuncGetParamInfo(function, 0, &offset, &bytes))
        return ST_OK;
    for (size_t i = 0; i < launch->nargs; i++) {
        enum cubin_type type = launch->args[i].type;
        if (driver->cuFuncGetParamInfo(function, i, &offset, &bytes))
            return fault_set(fault, ST_INVALID, "%.60s takes %zu parameters, the manifest has %zu",
                             launch->entry, i, launch->nargs);
        if (bytes != types[type].bytes)
            return fault_set(fault, ST_INVALID,
                             "parameter %zu of %.60s has %zu bytes, the manifest's %s has %zu",
                             i + 1, launch->entry, bytes, types[type].word, types[type].bytes);
    }
    if (driver->cuFuncGetParamInfo(function, launch->nargs, &offset, &bytes) == 0)
        return fault_set(fault, ST_INVALID, "%.60s takes more than the manifest's %zu parameters",
                         launch->entry, launch->nargs);
    return ST_OK;
}

static enum status load(struct cubin_state *state, size_t i, const struct cubin_launch *launch,
                        struct fault *fault)
{
    const struct cubin_driver *driver = &state->driver;
    const struct cubin_binary *binary = cubin_choose(launch->module, driver->arch);
    size_t bytes;
    void *module = NULL;
    if (binary == NULL)
        return no_binary(launch->module, driver->arch, fault);
    char *image = cubin_read_file(binary->path, binary->sha256, &bytes, fault);
    if (image == NULL)
        return ST_IO;
    int error = driver->cuModuleLoadData(&module, image);
    free(image);
    if (error)
        return cubin_driver_refused(driver, error, "cuModuleLoadData", fault);
    error = driver->cuModuleGetFunction(&state->functions[i], module, launch->entry);
    return error ? cubin_driver_refused(driver, error, launch->entry, fault)
                 : check_parameters(driver, state->functions[i], launch, fault);
}

static int init(const struct tilewise_candidate *self)
{
    const struct cubin_candidate *c = self->context;
    struct cubin_state *state = c->state;
    struct fault fault = { .text = "" };
    if (state->is_ready)
        return 0;
    enum status st = cubin_driver_open(&state->driver, &fault);
    for (size_t i = 0; st == ST_OK && i < c->nlaunches; i++)
        st = load(state, i, &c->launches[i], &fault);
    snprintf(state->complaint, sizeof state->complaint, "%.250s", fault.text);
    state->is_ready = st == ST_OK;
    return st == ST_OK ? 0 : -ENODEV;
}

static const char *complaint(const struct tilewise_candidate *self)
{
    const struct cubin_candidate *c = self->context;
    return c->state->complaint;
}

/* ---- what it can do ---- */

static void add_device(const struct cubin_state *state, struct cubin_call *call)
{
    call->knows_device = state->is_ready;
    call->names[EXPR_ARCH] = state->driver.arch;
    call->names[EXPR_SM_COUNT] = state->driver.sm_count;
}

static int supports(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    const struct cubin_candidate *c = self->context;
    struct cubin_launch_numbers numbers;
    struct cubin_call call;
    uint64_t bytes;
    if (!cubin_call_read(s, &call))
        return 0;
    add_device(c->state, &call);
    if (!cubin_call_fits(c, s, &call) || !cubin_call_scratch(c, &call, &bytes))
        return 0;
    for (size_t i = 0; i < c->nlaunches; i++)
        if (cubin_call_launch(&c->launches[i], &call, &numbers) != NULL)
            return 0;
    return 1;
}

static size_t scratch_bytes(const struct tilewise_candidate *self,
                            const struct tilewise_signature *s, uint32_t threads)
{
    const struct cubin_candidate *c = self->context;
    struct cubin_call call;
    uint64_t bytes;
    (void)threads;
    if (!cubin_call_read(s, &call))
        return 0;
    add_device(c->state, &call);
    return cubin_call_scratch(c, &call, &bytes) ? bytes : 0;
}

/* ---- running ---- */

static int complain(struct cubin_state *state, size_t i, const struct cubin_launch *launch,
                    const char *what)
{
    snprintf(state->complaint, sizeof state->complaint, "launch %zu (%.60s): %.150s", i + 1,
             launch->entry, what);
    return -EINVAL;
}

/* More than a kernel may have unasked must be allowed first. */
static int allow(struct cubin_state *state, size_t i)
{
    const struct cubin_launch_numbers *n = &state->numbers[i];
    void *function = state->functions[i];
    uint32_t blocks = n->cluster[0] * n->cluster[1] * n->cluster[2];
    int error = 0;
    if (n->shared_bytes > SHARED_BYTES_UNASKED && n->shared_bytes > state->shared_allowed[i]) {
        error = state->driver.cuFuncSetAttribute(function, CUBIN_FUNCTION_SHARED_BYTES,
                                                 (int)n->shared_bytes);
        state->shared_allowed[i] = error ? 0 : n->shared_bytes;
    }
    if (error == 0 && blocks > CLUSTER_PORTABLE)
        error = state->driver.cuFuncSetAttribute(function, CUBIN_FUNCTION_LARGE_CLUSTERS, 1);
    return error;
}

static int refused(struct cubin_state *state, size_t i, const struct cubin_launch *launch,
                   int error, const char *what)
{
    struct fault fault;
    cubin_driver_refused(&state->driver, error, what, &fault);
    complain(state, i, launch, fault.text);
    return -EIO;
}

static int plan(const struct cubin_candidate *c, const struct tilewise_signature *s)
{
    struct cubin_state *state = c->state;
    uint64_t scratch;
    state->is_planned = false;
    if (!cubin_call_read(s, &state->call))
        return -ENOTSUP;
    add_device(state, &state->call);
    if (!cubin_call_scratch(c, &state->call, &scratch))
        return complain(state, 0, &c->launches[0], "its scratch is out of range");
    for (size_t i = 0; i < c->nlaunches; i++) {
        const struct cubin_launch *launch = &c->launches[i];
        const char *wrong = cubin_call_launch(launch, &state->call, &state->numbers[i]);
        if (wrong == NULL && state->numbers[i].clear_bytes > scratch)
            wrong = "it clears more than its scratch";
        if (wrong)
            return complain(state, i, launch, wrong);
        int error = allow(state, i);
        if (error)
            return refused(state, i, launch, error, "cuFuncSetAttribute");
    }
    state->signature = *s;
    state->is_planned = true;
    return 0;
}

static const void *pointer_of(const struct cubin_call *call, enum cubin_source source,
                              const struct tilewise_args *args)
{
    switch (source) {
    case CUBIN_FROM_A:
        return call->is_swapped ? args->b : args->a;
    case CUBIN_FROM_B:
        return call->is_swapped ? args->a : args->b;
    case CUBIN_FROM_C:
        return args->c;
    case CUBIN_FROM_SCRATCH:
        return args->scratch;
    default:
        return NULL;
    }
}

/* The bytes of one parameter; whole numbers of fewer bytes are the low ones. */
static uint64_t parameter(const struct cubin_state *state, const struct cubin_arg *arg,
                          int64_t value, const struct tilewise_args *args)
{
    double number =
        arg->source == CUBIN_FROM_NUMBER  ? arg->number
        : arg->source == CUBIN_FROM_ALPHA ? number_load(state->signature.scale, args->alpha, 0)
        : arg->source == CUBIN_FROM_BETA  ? number_load(state->signature.scale, args->beta, 0)
                                          : 0;
    float single = (float)number;
    uint64_t bits = (uint64_t)value;
    if (arg->type == CUBIN_PTR)
        bits += (uint64_t)(uintptr_t)pointer_of(&state->call, arg->source, args);
    else if (arg->type == CUBIN_F32)
        memcpy(&bits, &single, sizeof single);
    else if (arg->type == CUBIN_F64)
        memcpy(&bits, &number, sizeof number);
    return bits;
}

static int enqueue(struct cubin_state *state, size_t i, const struct cubin_launch *launch,
                   const struct tilewise_args *args)
{
    const struct cubin_launch_numbers *n = &state->numbers[i];
    uint64_t parameters[CUBIN_ARGS_MAX];
    void *places[CUBIN_ARGS_MAX + 1] = { NULL };
    struct cubin_launch_attribute cluster = { .id = CUBIN_LAUNCH_CLUSTER };
    memcpy(cluster.value.axes, n->cluster, sizeof n->cluster);
    for (size_t j = 0; j < launch->nargs; j++) {
        parameters[j] = parameter(state, &launch->args[j], n->value[j], args);
        places[j] = &parameters[j];
    }
    struct cubin_launch_config config = {
        .grid = { n->grid[0], n->grid[1], n->grid[2] },
        .block = { n->block[0], n->block[1], n->block[2] },
        .shared_bytes = n->shared_bytes,
        .stream = args->stream,
        .attributes = &cluster,
        .nattributes = launch->is_clustered,
    };
    int error = n->clear_bytes ? state->driver.cuMemsetD8Async((uint64_t)(uintptr_t)args->scratch,
                                                               0, n->clear_bytes, args->stream)
                               : 0;
    if (error)
        return refused(state, i, launch, error, "cuMemsetD8Async");
    error = state->driver.cuLaunchKernelEx(&config, state->functions[i], places, NULL);
    return error ? refused(state, i, launch, error, "cuLaunchKernelEx") : 0;
}

static int run(const struct tilewise_candidate *self, const struct tilewise_signature *s,
               const struct tilewise_args *args)
{
    const struct cubin_candidate *c = self->context;
    struct cubin_state *state = c->state;
    if (!state->is_ready)
        return -ENODEV;
    int error = state->is_planned && signature_equal(&state->signature, s) ? 0 : plan(c, s);
    for (size_t i = 0; error == 0 && i < c->nlaunches; i++)
        error = enqueue(state, i, &c->launches[i], args);
    if (error == 0)
        state->complaint[0] = '\0';
    return error;
}

bool cubin_offer(struct cubin_candidate *c)
{
    c->state = calloc(1, sizeof *c->state);
    c->row.abi = TILEWISE_CANDIDATE_ABI;
    c->row.bytes = sizeof c->row;
    c->row.target = "cuda";
    c->row.supports = supports;
    c->row.scratch_bytes = scratch_bytes;
    c->row.init = init;
    c->row.run = run;
    c->row.complaint = complaint;
    c->row.context = c;
    return c->state != NULL;
}

const struct cubin_candidate *cubin_of(const struct tilewise_candidate *row)
{
    return row->run == run ? row->context : NULL;
}

void cubin_withdraw(struct cubin_candidate *c)
{
    free(c->state);
    c->state = NULL;
}
