/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLASLt: the recorded descriptors rebuilt, and for any gemm the list of algorithms that the
 * library's heuristic proposes.
 */
#include <stdio.h>

#include "replayer/cuda_session.h"

enum { BIAS_TYPE_SHIFT = 11 }; /* in signature.epilogue: cublasLt's bits below, our type above */

/* A matrix as it is stored. */
struct stored {
    uint8_t dtype;
    int64_t rows, cols, ld, stride;
};

static bool is_flipped(uint8_t trans)
{
    return trans == TILEWISE_T || trans == TILEWISE_C;
}

/* gemv as a product with one column; false where its vectors are no matrices. */
static bool describe(const struct tilewise_signature *s, struct stored out[4])
{
    bool fa = is_flipped(s->trans_a), fb = is_flipped(s->trans_b);
    if (s->op == TILEWISE_OP_GEMV) {
        int64_t outputs = fa ? s->n : s->m, inputs = fa ? s->m : s->n;
        out[0] = (struct stored){ s->dtype_a, s->m, s->n, s->lda, s->stride_a };
        out[1] = (struct stored){ s->dtype_b, inputs, 1, inputs, s->stride_b };
        out[2] = out[3] = (struct stored){ s->dtype_c, outputs, 1, outputs, s->stride_c };
        return s->ldb == 1 && s->ldc == 1;
    }
    out[0] = (struct stored){ s->dtype_a, fa ? s->k : s->m, fa ? s->m : s->k, s->lda, s->stride_a };
    out[1] = (struct stored){ s->dtype_b, fb ? s->n : s->k, fb ? s->k : s->n, s->ldb, s->stride_b };
    out[2] = (struct stored){ s->dtype_c, s->m, s->n, s->ldc, s->stride_c };
    out[3] = s->ldd ? (struct stored){ s->dtype_d, s->m, s->n, s->ldd, s->stride_d } : out[2];
    return s->op == TILEWISE_OP_GEMM;
}

static bool set_desc(struct backend_session *session, int attribute, const void *value,
                     size_t bytes)
{
    return session->api.cublasLtMatmulDescSetAttribute(session->problem.desc, attribute, value,
                                                       bytes) == 0;
}

static bool make_desc(struct backend_session *session)
{
    const struct tilewise_signature *s = &session->signature;
    int ta = s->trans_a, tb = s->op == TILEWISE_OP_GEMV ? TILEWISE_N : s->trans_b;
    int epilogue = s->epilogue & ((1 << BIAS_TYPE_SHIFT) - 1);
    int bias_type = cuda_entry_data_type((uint8_t)(s->epilogue >> BIAS_TYPE_SHIFT));
    int8_t fast = (s->flags & TILEWISE_FAST_ACCUM) != 0;
    const uint8_t modes[] = { s->scale_a, s->scale_b, s->scale_c, s->scale_d };
    bool good =
        session->api.cublasLtMatmulDescCreate(&session->problem.desc, cuda_entry_compute_type(s),
                                              cuda_entry_data_type(s->scale)) == 0 &&
        set_desc(session, CUBLASLT_DESC_TRANS_A, &ta, sizeof ta) &&
        set_desc(session, CUBLASLT_DESC_TRANS_B, &tb, sizeof tb);
    if (epilogue)
        good = good && set_desc(session, CUBLASLT_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    if (session->bias)
        good = good &&
               set_desc(session, CUBLASLT_DESC_BIAS_POINTER, &session->bias, sizeof session->bias);
    if (session->bias && bias_type >= 0)
        good = good && set_desc(session, CUBLASLT_DESC_BIAS_TYPE, &bias_type, sizeof bias_type);
    if (fast)
        good = good && set_desc(session, CUBLASLT_DESC_FAST_ACCUM, &fast, sizeof fast);
    for (int i = 0; good && i < 4; i++) {
        int mode = modes[i] - 1;
        if (session->scale[i])
            good = set_desc(session, CUBLASLT_DESC_A_SCALE_POINTER + i, &session->scale[i],
                            sizeof(void *)) &&
                   (mode == 0 ||
                    set_desc(session, CUBLASLT_DESC_A_SCALE_MODE + i, &mode, sizeof mode));
    }
    return good;
}

static bool make_layout(struct backend_session *session, int i, const struct stored *m)
{
    const struct cuda_api *api = &session->api;
    const struct tilewise_signature *s = &session->signature;
    int order = s->layout, batch = (int)s->batch;
    void **layout = &session->problem.layout[i];
    bool good = api->cublasLtMatrixLayoutCreate(layout, cuda_entry_data_type(m->dtype),
                                                (uint64_t)m->rows, (uint64_t)m->cols, m->ld) == 0;
    if (good && order)
        good = api->cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_LAYOUT_ORDER, &order,
                                                     sizeof order) == 0;
    if (good && s->batch_kind == TILEWISE_BATCH_STRIDED)
        good = api->cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_LAYOUT_BATCH, &batch,
                                                     sizeof batch) == 0 &&
               api->cublasLtMatrixLayoutSetAttribute(*layout, CUBLASLT_LAYOUT_STRIDE, &m->stride,
                                                     sizeof m->stride) == 0;
    return good;
}

enum status cuda_lt_prepare(struct backend_session *session)
{
    struct stored matrix[4];
    cuda_lt_release(session);
    if (session->signature.batch_kind > TILEWISE_BATCH_STRIDED ||
        !describe(&session->signature, matrix))
        return ST_UNSUPPORTED;
    bool good = make_desc(session);
    for (int i = 0; good && i < 4; i++)
        good = make_layout(session, i, &matrix[i]);
    if (good)
        return ST_OK;
    cuda_lt_release(session);
    return ST_UNSUPPORTED;
}

void cuda_lt_release(struct backend_session *session)
{
    struct cuda_lt_problem *p = &session->problem;
    for (int i = 0; i < 4; i++)
        if (p->layout[i])
            session->api.cublasLtMatrixLayoutDestroy(p->layout[i]);
    if (p->desc)
        session->api.cublasLtMatmulDescDestroy(p->desc);
    *p = (struct cuda_lt_problem){ .desc = NULL };
}

static int run_lt(struct backend_session *session, const struct cuda_routine *r,
                  const struct tilewise_args *x)
{
    const struct cuda_lt_problem *p = &session->problem;
    return session->api.cublasLtMatmul(session->lt, p->desc, x->alpha, x->a, p->layout[0], x->b,
                                       p->layout[1], x->beta, x->c, p->layout[2], x->c,
                                       p->layout[3], r->found.algorithm, session->workspace,
                                       r->found.workspace_bytes, session->stream);
}

static bool set_preference(struct backend_session *session, void *preference,
                           uint64_t workspace_bytes)
{
    const struct tilewise_signature *s = &session->signature;
    const uint8_t classes[] = { s->align_a, s->align_b, s->align_c,
                                s->ldd ? s->align_d : s->align_c };
    bool good = session->api.cublasLtMatmulPreferenceSetAttribute(
                    preference, CUBLASLT_PREFERENCE_WORKSPACE, &workspace_bytes,
                    sizeof workspace_bytes) == 0;
    for (int i = 0; good && i < 4; i++) {
        uint32_t bytes = 1u << (classes[i] < 4 ? classes[i] : 4);
        good = session->api.cublasLtMatmulPreferenceSetAttribute(
                   preference, CUBLASLT_PREFERENCE_ALIGN_A + i, &bytes, sizeof bytes) == 0;
    }
    return good;
}

void cuda_lt_append(struct backend_session *session, size_t wanted, size_t workspace_bytes)
{
    const struct cuda_lt_problem *p = &session->problem;
    struct cuda_lt_found found[CUDA_LT_FOUND_MAX];
    void *preference = NULL;
    int count = 0;
    if (p->desc == NULL || session->api.cublasLtMatmulPreferenceCreate(&preference) != 0)
        return;
    wanted = wanted < CUDA_LT_FOUND_MAX ? wanted : CUDA_LT_FOUND_MAX;
    bool good = set_preference(session, preference, workspace_bytes) &&
                session->api.cublasLtMatmulAlgoGetHeuristic(
                    session->lt, p->desc, p->layout[0], p->layout[1], p->layout[2], p->layout[3],
                    preference, (int)wanted, found, &count) == 0;
    session->api.cublasLtMatmulPreferenceDestroy(preference);
    for (int i = 0; good && i < count && session->nroutines < BACKEND_ROUTINES_MAX; i++) {
        struct cuda_routine r = { .run = run_lt, .family = CUDA_FAMILY_LT, .found = found[i] };
        if (found[i].status != 0)
            continue;
        snprintf(r.name, sizeof r.name, "%s%.0d", wanted == 1 ? "LtMatmul" : "lt#",
                 wanted == 1 ? 0 : i + 1);
        session->routines[session->nroutines++] = r;
    }
}
