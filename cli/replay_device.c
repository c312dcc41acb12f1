/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_device.h"

#include <stdio.h>
#include <string.h>

#include "replayer/isolate.h"

static const double look_s_max = 60; /* a driver that nobody used since the start takes seconds */

static bool has_gpu_calls(const struct summary *summary)
{
    for (size_t i = 0; i < summary->nsignatures; i++) {
        uint32_t entry = summary->signatures[i].signature.entry;
        if (entry < summary->nstrings && backend_cuda.entry(summary->strings[entry]))
            return true;
    }
    return false;
}

enum status replay_device_probe(const struct backend *backend,
                                const struct backend_options *options, struct backend_info *info,
                                struct fault *fault)
{
    struct measure_setup setup = { .backend = backend, .open = *options };
    struct measure_probe answer;
    struct isolate_limits limits = { .seconds = look_s_max };
    struct isolate_end end;
    isolate_run(measure_probe, &setup, &answer, sizeof answer, &limits, &end);
    if (end.status != RESULT_PASSED)
        return fault_set(fault, ST_DEVICE, "opening the %s backend failed: %s", backend->name,
                         end.reason);
    if (answer.status != ST_OK)
        *fault = answer.fault;
    *info = answer.info;
    return answer.status;
}

void replay_device_look(struct cuda_machine *out, const char *libraries)
{
    struct isolate_limits limits = { .seconds = look_s_max };
    struct isolate_end end;
    isolate_run(cuda_machine_look, (void *)libraries, out, sizeof *out, &limits, &end);
    if (end.status == RESULT_PASSED)
        return;
    fault_set(&out->driver, ST_DEVICE, "asking the driver failed: %s; check nvidia-smi",
              end.reason);
    out->gpu = out->libraries = out->driver;
}

enum status replay_device_choose(struct replay_device *out, const char *wanted, bool only_list,
                                 const struct backend_options *options,
                                 const struct summary *summary, struct fault *fault)
{
    bool named = strcmp(wanted, "cuda") == 0;
    *out = (struct replay_device){ .backend = &backend_cpu };
    if (strcmp(wanted, "cpu") == 0 || (!named && !has_gpu_calls(summary)))
        return ST_OK;
    struct backend_info info = { .memory_bytes = 0 };
    enum status st = replay_device_probe(&backend_cuda, options, &info, fault);
    out->memory_bytes = info.memory_bytes;
    if (st == ST_OK || (named && only_list)) {
        out->backend = &backend_cuda;
        return ST_OK;
    }
    if (!named) {
        fprintf(stderr, "tilewise replay: no GPU is used: %s; replaying on the CPU what it can\n",
                fault->text);
        return ST_OK;
    }
    struct fault cause = *fault;
    return fault_set(fault, st, "%.400s; or replay what a CPU can: --device cpu", cause.text);
}
