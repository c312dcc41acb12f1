/* SPDX-License-Identifier: Apache-2.0
 *
 * What the environment asks for, copied when the library is loaded (hosts write over their
 * environment later). Not wanted means nothing is touched: kill switch first, then privilege, then
 * the directory, then the lists of programs.
 */
#ifndef TILEWISE_TRACER_CONFIG_H
#define TILEWISE_TRACER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum config_gpu { CONFIG_GPU_OFF, CONFIG_GPU_WINDOWS, CONFIG_GPU_FULL };

struct config {
    char out[4096];           /* TILEWISE_OUT */
    bool events;              /* TILEWISE_EVENTS=on|off */
    bool cmdline;             /* TILEWISE_WITH_CMDLINE=1 */
    enum config_gpu gpu_time; /* TILEWISE_GPU_TIME=off|windows|full */
    bool gpu_taken;           /* another tool that uses CUPTI is announced */
    bool nvtx;                /* TILEWISE_NVTX=1 */
    bool nvtx_taken;          /* another tool's injection is announced to NVTX */
    uint64_t size_cap_bytes;
};

extern struct config config;

/* Read TILEWISE_* from `environment`; true when this process (argv0) is to be recorded. No system
 * call, no allocation. */
bool config_load(char **environment, const char *argv0);

/* Is `program` ("bash", also "-bash" and "/bin/bash") wanted? allow: comma list or NULL. */
bool config_allows(const char *program, const char *allow);

/* "512M", "2G", "1000" to bytes; false when it is not a size. */
bool config_bytes(const char *text, uint64_t *bytes);

#endif
