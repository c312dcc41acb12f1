/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the library that is preloaded into recorded programs lies.
 */
#ifndef TILEWISE_CLI_SHIM_H
#define TILEWISE_CLI_SHIM_H

#include <stddef.h>

#include "traces/status.h"

/* Absolute path of libtilewise-tracer.so: $TILEWISE_SHIM if set, else beside this program as a
 * build tree or an installation lays it out. IO when there is none (the fault says where it was
 * looked for), LIMIT when the path does not fit. */
enum status shim_find(char *path, size_t path_bytes, struct fault *fault);

#endif
