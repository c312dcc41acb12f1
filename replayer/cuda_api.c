/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cuda_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Newest first; all libraries of one process come from one major version. */
static const int majors[] = { 13, 12 };

struct slot {
    const char *symbol;
    size_t offset;
};

#define X(name, result, parameters) { #name, offsetof(struct cuda_api, name) },
static const struct slot driver_slots[] = { CUDA_DRIVER_LIST(X){ NULL, 0 } };
static const struct slot runtime_slots[] = { CUDA_RUNTIME_LIST(X){ NULL, 0 } };
static const struct slot blas_slots[] = { CUDA_BLAS_LIST(X){ NULL, 0 } };
static const struct slot lt_slots[] = { CUDA_LT_LIST(X){ NULL, 0 } };
#undef X

static const struct library {
    const char *name;
    size_t handle;
    const struct slot *slots;
} libraries[] = {
    /* Each needs the ones before it. */
    { "libcudart.so", offsetof(struct cuda_api, runtime), runtime_slots },
    { "libcublasLt.so", offsetof(struct cuda_api, lt), lt_slots },
    { "libcublas.so", offsetof(struct cuda_api, blas), blas_slots },
};
enum { LIBRARIES = sizeof libraries / sizeof libraries[0] };

static const char *first_missing(struct cuda_api *api, void *handle, const struct slot *slots)
{
    for (; slots->symbol; slots++) {
        void *symbol = dlsym(handle, slots->symbol);
        if (symbol == NULL)
            return slots->symbol;
        memcpy((char *)api + slots->offset, &symbol, sizeof symbol);
    }
    return NULL;
}

static void *open_in(const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (folder[0] && snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path)
        name = path;
    return dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

static void *open_library(const char *folder, const char *name, int major)
{
    static const char *const usual[] = { "", "/usr/local/cuda/lib64" };
    char versioned[64];
    void *handle = NULL;
    snprintf(versioned, sizeof versioned, "%s.%d", name, major);
    if (folder && folder[0])
        handle = open_in(folder, versioned);
    for (size_t i = 0; handle == NULL && i < sizeof usual / sizeof usual[0]; i++)
        handle = open_in(usual[i], versioned);
    return handle;
}

enum status cuda_api_open_driver(struct cuda_api *api, const char *folder, struct fault *fault)
{
    static const char name[] = "libcuda.so.1";
    api->driver = open_in(folder ? folder : "", name);
    if (api->driver == NULL)
        api->driver = open_in("", name);
    if (api->driver == NULL)
        return fault_set(fault, ST_DEVICE, "no NVIDIA driver here (libcuda.so.1); install it");
    const char *missing = first_missing(api, api->driver, driver_slots);
    if (missing)
        return fault_set(fault, ST_DEVICE, "the NVIDIA driver has no %s; update it", missing);
    return ST_OK;
}

/* How many of the libraries of this version could be opened. */
static size_t open_version(struct cuda_api *api, const char *folder, int major)
{
    for (size_t i = 0; i < LIBRARIES; i++) {
        void *handle = open_library(folder, libraries[i].name, major);
        if (handle == NULL)
            return i;
        memcpy((char *)api + libraries[i].handle, &handle, sizeof handle);
    }
    return LIBRARIES;
}

enum status cuda_api_open_libraries(struct cuda_api *api, const char *folder, struct fault *fault)
{
    size_t found = 0;
    for (size_t i = 0; found < LIBRARIES && i < sizeof majors / sizeof majors[0]; i++) {
        size_t count = open_version(api, folder, majors[i]);
        found = count > found ? count : found;
    }
    if (found < LIBRARIES)
        return fault_set(fault, ST_UNSUPPORTED,
                         "%s.%d or .%d does not load; install the CUDA runtime and cuBLAS, or name "
                         "their folder: --cuda-libraries DIR",
                         libraries[found].name, majors[0], majors[1]);
    for (size_t i = 0; i < LIBRARIES; i++) {
        void *handle;
        memcpy(&handle, (char *)api + libraries[i].handle, sizeof handle);
        const char *missing = first_missing(api, handle, libraries[i].slots);
        if (missing)
            return fault_set(fault, ST_UNSUPPORTED,
                             "%s has no %s; it is too old: CUDA 12 or newer is needed",
                             libraries[i].name, missing);
    }
    return ST_OK;
}

void *cuda_api_blas_symbol(const struct cuda_api *api, const char *name)
{
    return dlsym(api->blas, name);
}
