/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's functions, from the library that belongs to the CUDA of this process.
 */
#ifndef TILEWISE_TRACER_CUPTI_FIND_H
#define TILEWISE_TRACER_CUPTI_FIND_H

#include <stdbool.h>

#include "tracer/cupti_abi.h"

struct cupti_functions {
#define ROW(name, parameters) int(*name) parameters;
#include "tracer/cupti.def"
#undef ROW
};

/* A loaded libcupti if there is one; else the one beside libcudart or libcublas, else by name where
 * the driver is loaded. False: none, or one that lacks a function. It stays loaded. */
bool cupti_find(struct cupti_functions *out);

#endif
