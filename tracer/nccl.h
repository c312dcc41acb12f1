/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL as the table nccl.def names it: types, argument lists by family, and what of a call is
 * recorded: NCCL_*_REDUCTION, the number of the reduction + 1, or 0.
 */
#ifndef TILEWISE_TRACER_NCCL_H
#define TILEWISE_TRACER_NCCL_H

#include <stddef.h>

#if TILEWISE_NCCL_HEADERS
#include <nccl.h>
#else
typedef unsigned ncclResult_t, ncclDataType_t, ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct CUstream_st *cudaStream_t;
#endif

/* Numbers of ncclDataType_t that we know. */
#define NCCL_DTYPE_LIST(X)                                                                         \
    X(0, I8)                                                                                       \
    X(1, U8)                                                                                       \
    X(2, I32)                                                                                      \
    X(4, I64)                                                                                      \
    X(6, F16)                                                                                      \
    X(7, F32)                                                                                      \
    X(8, F64)                                                                                      \
    X(9, BF16)                                                                                     \
    X(10, E4M3)                                                                                    \
    X(11, E5M2)

#define NCCL_REDUCED_PARAMS                                                                        \
    const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t reduction,          \
        ncclComm_t comm, cudaStream_t stream
#define NCCL_REDUCED_ARGS      from, to, count, type, reduction, comm, stream
#define NCCL_REDUCED_REDUCTION ((int)reduction + 1)

#define NCCL_REDUCED_ROOT_PARAMS                                                                   \
    const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t reduction,          \
        int root, ncclComm_t comm, cudaStream_t stream
#define NCCL_REDUCED_ROOT_ARGS      from, to, count, type, reduction, root, comm, stream
#define NCCL_REDUCED_ROOT_REDUCTION ((int)reduction + 1)

#define NCCL_MOVED_PARAMS                                                                          \
    const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,                \
        cudaStream_t stream
#define NCCL_MOVED_ARGS      from, to, count, type, comm, stream
#define NCCL_MOVED_REDUCTION 0

#define NCCL_MOVED_ROOT_PARAMS                                                                     \
    const void *from, void *to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,      \
        cudaStream_t stream
#define NCCL_MOVED_ROOT_ARGS      from, to, count, type, root, comm, stream
#define NCCL_MOVED_ROOT_REDUCTION 0

#define NCCL_IN_PLACE_PARAMS                                                                       \
    void *data, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream
#define NCCL_IN_PLACE_ARGS      data, count, type, root, comm, stream
#define NCCL_IN_PLACE_REDUCTION 0

#define NCCL_RECEIVED_PARAMS                                                                       \
    void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream
#define NCCL_RECEIVED_ARGS      data, count, type, peer, comm, stream
#define NCCL_RECEIVED_REDUCTION 0

#define NCCL_SENT_PARAMS                                                                           \
    const void *data, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,                \
        cudaStream_t stream
#define NCCL_SENT_ARGS      data, count, type, peer, comm, stream
#define NCCL_SENT_REDUCTION 0

#endif
