/* SPDX-License-Identifier: Apache-2.0
 *
 * A Python-extension-like object: linked to one copy of a BLAS, loaded with RTLD_LOCAL.
 */
#include "rows.h"

void cblas_sgemm(CBLAS_GEMM_PARAMS(int, s));
void plugin_run(int calls);

void plugin_run(int calls)
{
    for (int i = 0; i < calls; i++)
        CBLAS_GEMM_CALL(cblas_sgemm, int, s);
}
