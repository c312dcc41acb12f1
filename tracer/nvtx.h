/* SPDX-License-Identifier: Apache-2.0
 *
 * The door that NVTX opens for one tool: InitializeInjectionNvtx2, exported, called by every copy
 * of NVTX in the process at its first use, any number of times, on any thread. Unless phases are
 * wanted (TILEWISE_NVTX=1) it refuses, and that copy does nothing from then on.
 */
#ifndef TILEWISE_TRACER_NVTX_H
#define TILEWISE_TRACER_NVTX_H

/* For the trace: "on" or why not; "" while nobody knows. Any thread. */
const char *nvtx_state(void);

#endif
