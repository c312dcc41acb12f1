/* SPDX-License-Identifier: Apache-2.0
 *
 * The name of the machine's GPU, from what the kernel module says of it in files. The driver itself
 * is not asked: on the writer thread its descriptors are closed, and asked for a name it fails.
 */
#ifndef TILEWISE_TRACER_CARDS_H
#define TILEWISE_TRACER_CARDS_H

#include <stdbool.h>
#include <stddef.h>

#define CARDS_FOLDER "/proc/driver/nvidia/gpus"

/* The model of the cards in `folder`, "NVIDIA H200". False when there is none, or when they differ.
 * The writer thread. */
bool cards_model(const char *folder, char *model, size_t bytes);

#endif
