/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of kernels for people. Those of C++ come as the linker has them, with all their template
 * arguments; of these the nested name is enough to recognise them.
 */
#ifndef TILEWISE_ANALYSIS_KERNEL_NAME_H
#define TILEWISE_ANALYSIS_KERNEL_NAME_H

#include <stddef.h>

enum { KERNEL_NAME_BYTES = 256 };

/* "_ZN2at6native13reduce_kernelILi512EE..." gives "at::native::reduce_kernel", in `text`; any other
 * name comes back as it is. As hostile as it was: to be escaped. */
const char *kernel_name(const char *name, char text[KERNEL_NAME_BYTES]);

#endif
