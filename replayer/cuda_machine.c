/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cuda_machine.h"

#include <stdbool.h>

enum { CAPABILITY_MIN = 80 };

static int attribute(const struct cuda_api *api, int number)
{
    int value = 0;
    return api->cuDeviceGetAttribute(&value, number, 0) == 0 ? value : 0;
}

enum status cuda_machine_gpu(const struct cuda_api *api, struct cuda_machine *out,
                             struct fault *fault)
{
    size_t bytes = 0;
    int error = api->cuInit(0);
    api->cuDriverGetVersion(&out->driver_version);
    if (error == 0)
        error = api->cuDeviceGetCount(&out->gpu_count);
    if (error || out->gpu_count == 0)
        return fault_set(
            fault, ST_DEVICE,
            "the NVIDIA driver finds no GPU (error %d); check nvidia-smi, and that this "
            "process may see a device",
            error);
    api->cuDeviceGetName(out->gpu_name, sizeof out->gpu_name, 0);
    if (api->cuDeviceTotalMem_v2(&bytes, 0) == 0)
        out->memory_bytes = bytes;
    out->sm_count = attribute(api, CUDA_ATTRIBUTE_SM_COUNT);
    out->capability =
        10 * attribute(api, CUDA_ATTRIBUTE_MAJOR) + attribute(api, CUDA_ATTRIBUTE_MINOR);
    if (out->capability < CAPABILITY_MIN)
        return fault_set(fault, ST_UNSUPPORTED,
                         "this GPU has compute capability %d.%d, %d.%d or newer is needed",
                         out->capability / 10, out->capability % 10, CAPABILITY_MIN / 10,
                         CAPABILITY_MIN % 10);
    return ST_OK;
}

enum status cuda_machine_versions(const struct cuda_api *api, struct cuda_machine *out,
                                  struct fault *fault)
{
    int driver = 0, runtime = 0;
    api->cuDriverGetVersion(&driver);
    api->cudaRuntimeGetVersion(&runtime);
    out->driver_version = driver;
    out->runtime_version = runtime;
    out->blas_version = api->cublasLtGetVersion();
    if (driver / 1000 < runtime / 1000)
        return fault_set(fault, ST_DEVICE,
                         "the driver is for CUDA %d.%d, the libraries are of CUDA %d.%d; update "
                         "the driver, or name older libraries: --cuda-libraries DIR",
                         driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return ST_OK;
}

void cuda_machine_look(void *folder, void *message)
{
    struct cuda_machine *out = message;
    struct cuda_api api = { .driver = NULL };
    out->driver.status = cuda_api_open_driver(&api, folder, &out->driver);
    bool has_driver = out->driver.status == ST_OK;
    if (has_driver)
        out->gpu.status = cuda_machine_gpu(&api, out, &out->gpu);
    else
        fault_set(&out->gpu, ST_DEVICE, "none is visible without a driver");
    out->libraries.status = cuda_api_open_libraries(&api, folder, &out->libraries);
    if (has_driver && out->libraries.status == ST_OK)
        out->driver.status = cuda_machine_versions(&api, out, &out->driver);
}
