/* SPDX-License-Identifier: Apache-2.0
 *
 * What call_cost.c measures. As a library of its own it can be bound past a preload.
 */
#ifndef TILEWISE_TESTS_CALL_ROUTINES_H
#define TILEWISE_TESTS_CALL_ROUTINES_H

#include <cublasLt.h>
#include <cublas_v2.h>

enum { CALL_SIZE = 16, CALL_ROUTINES = 5, CALL_PRODUCT = CALL_ROUTINES - 1 };

struct problem {
    cublasHandle_t blas;
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t how;
    cublasLtMatrixLayout_t layout;
    cublasLtMatrixLayout_t no_rows;
    cublasLtMatmulAlgo_t algo;
    void *a, *b, *c;
};

/* m: rows of the result. */
typedef cublasStatus_t call_routine(struct problem *p, int m);

struct call_named {
    const char *name;
    call_routine *run;
};
/* The last one is a product as PyTorch asks for it: between its setters. */
extern const struct call_named call_routines[CALL_ROUTINES];

#endif
