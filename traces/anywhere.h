/* SPDX-License-Identifier: Apache-2.0
 *
 * For inline functions that CUDA kernels may call, too: one rule, whoever computes by it.
 */
#ifndef TILEWISE_TRACES_ANYWHERE_H
#define TILEWISE_TRACES_ANYWHERE_H

#ifdef __CUDACC__
#define TILEWISE_ANYWHERE static inline __host__ __device__
#else
#define TILEWISE_ANYWHERE static inline
#endif

#endif
