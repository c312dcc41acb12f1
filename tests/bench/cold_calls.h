/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that bench_shim_cold.c measures, as a library: opened twice, once bound past a preload.
 */
#ifndef TILEWISE_TESTS_COLD_CALLS_H
#define TILEWISE_TESTS_COLD_CALLS_H

enum { COLD_CALLS = 7 };

struct cold_calls {
    void (*prepare)(void);
    struct {
        const char *name;
        void (*run)(int i);
    } call[COLD_CALLS];
};

#endif
