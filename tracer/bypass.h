/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds libraries whose calls go past the hooks: those loaded with RTLD_DEEPBIND, which prefer
 * their own dependencies. Their linkage tables hold the real functions where everybody else's hold
 * ours. Tables that are not filled yet (lazy binding) tell nothing until they are. The writer
 * thread only.
 */
#ifndef TILEWISE_TRACER_BYPASS_H
#define TILEWISE_TRACER_BYPASS_H

/* Call visit(name of the library, context) for each that was found, again and again. Looks at the
 * loaded objects if there are others than the last time, or `again`. */
void bypass_each(_Bool again, void (*visit)(const char *library, void *context), void *context);

#endif
