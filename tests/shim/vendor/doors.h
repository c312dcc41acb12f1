/* SPDX-License-Identifier: Apache-2.0
 *
 * Plugins that are linked to one copy of the fake cuBLAS each, for host_doors.
 */
#ifndef TILEWISE_TESTS_DOORS_H
#define TILEWISE_TESTS_DOORS_H

/* Make `times` calls of cublasSgemm_v2 through the PLT. */
void plugin_run(int times);

#endif
