/* SPDX-License-Identifier: Apache-2.0
 *
 * Argument lists of the families of driver.def; the first version has no `found`.
 */
#ifndef TILEWISE_TRACER_DRIVER_CALLS_H
#define TILEWISE_TRACER_DRIVER_CALLS_H

#include <stdint.h>

#define DRIVER_ADDRESS_PARAMS                                                                      \
    const char *name, void **address, int version, uint64_t flags, void *found
#define DRIVER_ADDRESS_ARGS name, address, version, flags, found

#endif
