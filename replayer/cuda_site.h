/* SPDX-License-Identifier: Apache-2.0
 *
 * The site on the device (replayer/site.h), for any backend whose memory the kernels of
 * cuda_device.h reach. Its reference must be one for operands in device memory.
 */
#ifndef TILEWISE_REPLAYER_CUDA_SITE_H
#define TILEWISE_REPLAYER_CUDA_SITE_H

#include "replayer/site.h"

extern const struct site_ops cuda_site;

#endif
