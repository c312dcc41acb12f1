/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of NVIDIA's driver that loads and launches kernels, looked for by name: the one that the
 * backend has loaded, in its context. Handles are pointers, enumerations ints.
 */
#ifndef TILEWISE_REPLAYER_CUBIN_DRIVER_H
#define TILEWISE_REPLAYER_CUBIN_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "traces/status.h"

/* Numbers of the vendor that we name. */
enum {
    CUBIN_DEVICE_SM_COUNT = 16,
    CUBIN_DEVICE_MAJOR = 75,
    CUBIN_DEVICE_MINOR = 76,
    CUBIN_FUNCTION_SHARED_BYTES = 8,
    CUBIN_FUNCTION_LARGE_CLUSTERS = 14,
    CUBIN_LAUNCH_CLUSTER = 4,
};

/* CUlaunchAttribute and CUlaunchConfig, as the driver has them. */
struct cubin_launch_attribute {
    int id;
    char pad[4];
    union {
        uint32_t axes[3];
        uint64_t pad[8];
    } value;
};
struct cubin_launch_config {
    uint32_t grid[3], block[3], shared_bytes;
    void *stream;
    const struct cubin_launch_attribute *attributes;
    unsigned nattributes;
};

/* clang-format off */
/* X(name, return type, parameters) */
#define CUBIN_DRIVER_LIST(X)                                                                       \
    X(cuGetErrorName,       int, (int error, const char **text))                                   \
    X(cuGetErrorString,     int, (int error, const char **text))                                   \
    X(cuCtxGetDevice,       int, (int *device))                                                    \
    X(cuDeviceGetAttribute, int, (int *value, int attribute, int device))                          \
    X(cuModuleLoadData,     int, (void **module, const void *image))                               \
    X(cuModuleGetFunction,  int, (void **function, void *module, const char *name))                \
    X(cuFuncSetAttribute,   int, (void *function, int attribute, int value))                       \
    X(cuLaunchKernelEx,     int, (const struct cubin_launch_config *config, void *function, void **parameters, void **extra)) \
    X(cuMemsetD8Async,      int, (uint64_t memory, unsigned char value, size_t bytes, void *stream))
/* From CUDA 12.4 on; NULL in an older driver. */
#define CUBIN_DRIVER_LATER_LIST(X)                                                                 \
    X(cuFuncGetParamInfo,   int, (void *function, size_t index, size_t *offset, size_t *bytes))
/* clang-format on */

struct cubin_driver {
    unsigned arch; /* of the current context's device: 90 */
    unsigned sm_count;
#define X(name, result, parameters) result(*name) parameters;
    CUBIN_DRIVER_LIST(X)
    CUBIN_DRIVER_LATER_LIST(X)
#undef X
};

/* Find the driver and ask for the device of this thread's context. DEVICE, with the driver's own
 * words. The library stays loaded. */
enum status cubin_driver_open(struct cubin_driver *driver, struct fault *fault);

/* "cuModuleLoadData: CUDA_ERROR_X: what that means". */
enum status cubin_driver_refused(const struct cubin_driver *driver, int error, const char *what,
                                 struct fault *fault);

#endif
