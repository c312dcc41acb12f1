/* SPDX-License-Identifier: Apache-2.0
 *
 * What of CUDA a machine has, and whether it is enough: asked part by part, so that a person reads
 * everything that is missing at once. Starts the driver: in child processes only.
 */
#ifndef TILEWISE_REPLAYER_CUDA_MACHINE_H
#define TILEWISE_REPLAYER_CUDA_MACHINE_H

#include "replayer/cuda_api.h"

/* Versions as CUDA numbers them: 13010 is 13.1; cuBLAS: 130102 is 13.1.2. 0: not known. */
struct cuda_machine {
    struct fault driver, gpu, libraries; /* ST_OK: there, and enough */
    int driver_version, runtime_version;
    size_t blas_version;
    int gpu_count, sm_count, capability; /* 90 = 9.0; of the first GPU */
    uint64_t memory_bytes;
    char gpu_name[100];
};

/* The first GPU, asked of the driver alone: DEVICE when there is none, UNSUPPORTED when it is too
 * old. Fills the fields about the GPU and the driver's version. */
enum status cuda_machine_gpu(const struct cuda_api *api, struct cuda_machine *out,
                             struct fault *fault);

/* Does this driver serve these libraries? DEVICE. Fills the versions. */
enum status cuda_machine_versions(const struct cuda_api *api, struct cuda_machine *out,
                                  struct fault *fault);

/* All of it, whatever is missing; a job for isolate_run. `folder`: where the vendor's libraries are
 * looked for first (const char *, may be NULL); `message`: a struct cuda_machine. */
void cuda_machine_look(void *folder, void *message);

#endif
