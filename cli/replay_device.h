/* SPDX-License-Identifier: Apache-2.0
 *
 * Where to replay: the device that was asked for, or the one that the trace is about.
 */
#ifndef TILEWISE_CLI_REPLAY_DEVICE_H
#define TILEWISE_CLI_REPLAY_DEVICE_H

#include "replayer/cuda_machine.h"
#include "replayer/measure.h"
#include "traces/summary.h"

struct replay_device {
    const struct backend *backend;
    uint64_t memory_bytes; /* of the device; 0: host memory, or nobody looked */
};

/* Can this backend be used here? DEVICE or UNSUPPORTED with the remedy. Asks in a child: this
 * process must never start a driver, or the threads of a library. */
enum status replay_device_probe(const struct backend *backend,
                                const struct backend_options *options, struct backend_info *info,
                                struct fault *fault);

/* What there is of CUDA here, asked in a child, too; if that ends badly, all faults say so.
 * `libraries`: where to look first; may be NULL. */
void replay_device_look(struct cuda_machine *out, const char *libraries);

/* `wanted`: "cpu", "cuda" or "auto": cuda for a trace of cuBLAS calls on a machine that can replay
 * them, else cpu, with a line on stderr that says why. A device that was asked for by name and
 * cannot be used: DEVICE or UNSUPPORTED with the remedy, unless `only_list`. */
enum status replay_device_choose(struct replay_device *out, const char *wanted, bool only_list,
                                 const struct backend_options *options,
                                 const struct summary *summary, struct fault *fault);

#endif
