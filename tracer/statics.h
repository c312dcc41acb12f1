/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds objects that cuBLAS was linked into statically: their calls go past the hooks, and unlike
 * those of RTLD_DEEPBIND leave nothing in memory to know them by. They are known by their files:
 * GPU code, no cuBLAS that they need, and a text that only cuBLASLt has. The writer thread only;
 * files are read a little at a time, outside of the loader's lock, each once; none in a process
 * without a CUDA driver.
 */
#ifndef TILEWISE_TRACER_STATICS_H
#define TILEWISE_TRACER_STATICS_H

#include <stdbool.h>

/* Look on, for some milliseconds at most, then call visit(name of the object, context) for each
 * that was found so far. `last`: look longer, and at what was loaded since. */
void statics_each(bool last, void (*visit)(const char *object, void *context), void *context);

#endif
