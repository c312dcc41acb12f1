/* SPDX-License-Identifier: Apache-2.0
 *
 * A fake cuBLASLt: descriptors with the attributes of ltattr.def and one that the shim does not
 * know.
 */
#ifndef TILEWISE_TESTS_FAKE_CUBLASLT_H
#define TILEWISE_TESTS_FAKE_CUBLASLT_H

#include "fake.h"
#include "tracer/cublaslt.h"

enum { FAKE_LT_UNKNOWN_ATTRIBUTE = 16, FAKE_LT_OLD_BYTES = 320, FAKE_LT_BYTES = 400 };

cublasStatus_t cublasLtMatmul(CUBLASLT_MATMUL_PARAMS);
int cublasLtMatmulDescInit_internal(void *object, size_t bytes, int compute, int scale);
int cublasLtMatmulDescSetAttribute(void *object, int number, const void *value, size_t bytes);
int cublasLtMatmulDescGetAttribute(const void *object, int number, void *value, size_t bytes,
                                   size_t *written);
int cublasLtMatrixLayoutInit_internal(void *object, size_t bytes, int type, uint64_t rows,
                                      uint64_t cols, int64_t ld);
int cublasLtMatrixLayoutSetAttribute(void *object, int number, const void *value, size_t bytes);
int cublasLtMatrixLayoutGetAttribute(const void *object, int number, void *value, size_t bytes,
                                     size_t *written);
extern fake_rows fake_cublaslt_rows;
extern uint64_t fake_cublaslt_asked; /* calls of the getters */

#endif
