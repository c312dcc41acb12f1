/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types of cuDNN that we know: X(number of cudnnDataType_t, our name, its name behind
 * CUDNN_DATA_).
 */
#ifndef TILEWISE_TRACER_CUDNN_DTYPE_H
#define TILEWISE_TRACER_CUDNN_DTYPE_H

#define CUDNN_DTYPE_LIST(X)                                                                        \
    X(0, F32, "FLOAT")                                                                             \
    X(1, F64, "DOUBLE")                                                                            \
    X(2, F16, "HALF")                                                                              \
    X(3, I8, "INT8")                                                                               \
    X(4, I32, "INT32")                                                                             \
    X(6, U8, "UINT8")                                                                              \
    X(9, BF16, "BFLOAT16")                                                                         \
    X(10, I64, "INT64")                                                                            \
    X(12, E4M3, "FP8_E4M3")                                                                        \
    X(13, E5M2, "FP8_E5M2")                                                                        \
    X(15, UE8M0, "FP8_E8M0")                                                                       \
    X(16, E2M1, "FP4_E2M1")                                                                        \
    X(17, I4, "INT4")                                                                              \
    X(18, U4, "UINT4")

#endif
