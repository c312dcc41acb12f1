/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cubin_driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static const char library[] = "libcuda.so.1";

/* The backend may have loaded it from a folder of its own: by its name, that one is found. */
static void *find_library(void)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    return handle ? handle : dlopen(library, RTLD_NOW);
}

static enum status find_functions(struct cubin_driver *driver, void *handle, struct fault *fault)
{
    static const struct {
        const char *name;
        size_t offset;
        bool is_needed;
    } slots[] = {
#define X(name, result, parameters) { #name, offsetof(struct cubin_driver, name), true },
        CUBIN_DRIVER_LIST(X)
#undef X
#define X(name, result, parameters) { #name, offsetof(struct cubin_driver, name), false },
            CUBIN_DRIVER_LATER_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        void *symbol = dlsym(handle, slots[i].name);
        if (symbol == NULL && slots[i].is_needed)
            return fault_set(fault, ST_DEVICE, "the NVIDIA driver has no %s; update it",
                             slots[i].name);
        memcpy((char *)driver + slots[i].offset, &symbol, sizeof symbol);
    }
    return ST_OK;
}

static enum status ask_device(struct cubin_driver *driver, struct fault *fault)
{
    int device = 0, major = 0, minor = 0, count = 0;
    int error = driver->cuCtxGetDevice(&device);
    if (error)
        return cubin_driver_refused(driver, error, "cuCtxGetDevice", fault);
    error = driver->cuDeviceGetAttribute(&major, CUBIN_DEVICE_MAJOR, device);
    error = error ? error : driver->cuDeviceGetAttribute(&minor, CUBIN_DEVICE_MINOR, device);
    error = error ? error : driver->cuDeviceGetAttribute(&count, CUBIN_DEVICE_SM_COUNT, device);
    if (error)
        return cubin_driver_refused(driver, error, "cuDeviceGetAttribute", fault);
    driver->arch = (unsigned)(10 * major + minor);
    driver->sm_count = (unsigned)count;
    return ST_OK;
}

enum status cubin_driver_open(struct cubin_driver *driver, struct fault *fault)
{
    void *handle = find_library();
    *driver = (struct cubin_driver){ .arch = 0 };
    if (handle == NULL)
        return fault_set(fault, ST_DEVICE, "no NVIDIA driver here (%s)", library);
    enum status st = find_functions(driver, handle, fault);
    return st == ST_OK ? ask_device(driver, fault) : st;
}

enum status cubin_driver_refused(const struct cubin_driver *driver, int error, const char *what,
                                 struct fault *fault)
{
    const char *name = NULL, *text = NULL;
    driver->cuGetErrorName(error, &name);
    driver->cuGetErrorString(error, &text);
    return fault_set(fault, ST_DEVICE, "%s: %s (%d): %s", what, name ? name : "unknown error",
                     error, text ? text : "the driver has no text for it");
}
