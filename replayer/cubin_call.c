/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cubin_call.h"

static const int64_t scratch_bytes_max = (int64_t)1 << 40;
enum { GRID_X_MAX = INT32_MAX, GRID_MAX = 65535, BLOCK_MAX = 1024, CLUSTER_MAX = 16 };
enum { SHARED_BYTES_MAX = 1 << 20 };

/* ---- the signature ---- */

static bool is_transposed(uint8_t trans)
{
    return trans == TILEWISE_T || trans == TILEWISE_C;
}

static int64_t align_bytes(uint8_t align)
{
    return align < 4 ? 1 << align : 16;
}

static bool is_plain(const struct tilewise_signature *s)
{
    bool batch = s->batch_kind == TILEWISE_BATCH_NONE || s->batch_kind == TILEWISE_BATCH_STRIDED;
    bool scaled = s->scale_a || s->scale_b || s->scale_c || s->scale_d;
    return batch && !scaled && s->epilogue == 0 && s->uplo == TILEWISE_FULL &&
           (s->flags & TILEWISE_NOT_REPLAYABLE) == 0;
}

/* What is written lies where C is, or C is not read: then D is all that there is. */
static bool read_result(const struct tilewise_signature *s, struct cubin_call *out)
{
    bool batched = s->batch_kind != TILEWISE_BATCH_NONE, has_d = s->ldd != 0;
    if (has_d && s->op == TILEWISE_OP_GEMM && s->beta == TILEWISE_SCALAR_ZERO) {
        out->type_c = s->dtype_d;
        out->names[EXPR_LDC] = s->ldd;
        out->names[EXPR_STRIDE_C] = batched ? s->stride_d : 0;
        out->names[EXPR_ALIGN_C] = align_bytes(s->align_d);
        return true;
    }
    out->type_c = s->dtype_c;
    out->names[EXPR_LDC] = s->ldc;
    out->names[EXPR_STRIDE_C] = batched ? s->stride_c : 0;
    out->names[EXPR_ALIGN_C] = align_bytes(s->align_c);
    bool together = s->ldd == s->ldc && (!batched || s->stride_d == s->stride_c);
    return (!has_d || together) && (s->dtype_d == s->dtype_c || s->dtype_d == TILEWISE_NONE);
}

static void swap_names(struct cubin_call *call, enum expr_name x, enum expr_name y)
{
    int64_t kept = call->names[x];
    call->names[x] = call->names[y];
    call->names[y] = kept;
}

/* C in rows is its transpose in columns: B^T A^T. */
static void swap_operands(struct cubin_call *call)
{
    uint8_t type = call->type_a;
    bool transposed = call->transposed_a;
    call->type_a = call->type_b;
    call->type_b = type;
    call->transposed_a = call->transposed_b;
    call->transposed_b = transposed;
    call->is_swapped = true;
    swap_names(call, EXPR_LDA, EXPR_LDB);
    swap_names(call, EXPR_STRIDE_A, EXPR_STRIDE_B);
    swap_names(call, EXPR_ALIGN_A, EXPR_ALIGN_B);
}

static void turn_rows(const struct tilewise_signature *s, struct cubin_call *call)
{
    bool is_vector = s->op == TILEWISE_OP_ADD && s->n == 1;
    if (s->layout != TILEWISE_ROW_MAJOR || is_vector)
        return;
    swap_names(call, EXPR_M, EXPR_N);
    if (s->op == TILEWISE_OP_GEMM)
        swap_operands(call);
    else if (s->op == TILEWISE_OP_GEMV)
        call->transposed_a = !call->transposed_a;
}

bool cubin_call_read(const struct tilewise_signature *s, struct cubin_call *out)
{
    bool batched = s->batch_kind != TILEWISE_BATCH_NONE;
    *out = (struct cubin_call){
        .names = {
            [EXPR_M] = s->m,
            [EXPR_N] = s->n,
            [EXPR_K] = s->k,
            [EXPR_BATCH] = batched ? s->batch : 1,
            [EXPR_LDA] = s->lda,
            [EXPR_LDB] = s->ldb,
            [EXPR_STRIDE_A] = batched ? s->stride_a : 0,
            [EXPR_STRIDE_B] = batched ? s->stride_b : 0,
            [EXPR_ALIGN_A] = align_bytes(s->align_a),
            [EXPR_ALIGN_B] = align_bytes(s->align_b),
        },
        .type_a = s->dtype_a,
        .type_b = s->dtype_b,
        .transposed_a = is_transposed(s->trans_a),
        .transposed_b = is_transposed(s->trans_b),
    };
    if (!is_plain(s) || !read_result(s, out))
        return false;
    turn_rows(s, out);
    return true;
}

/* ---- the candidate ---- */

static bool takes_types(const struct cubin_candidate *c, const struct tilewise_signature *s,
                        const struct cubin_call *call)
{
    if (c->op != s->op || c->type_b != call->type_b || c->type_c != call->type_c)
        return false;
    if (c->op == TILEWISE_OP_ADD)
        return true;
    unsigned trans = 2u * call->transposed_a + (c->op == TILEWISE_OP_GEMM && call->transposed_b);
    bool computes = s->compute < TILEWISE_DTYPE_COUNT && (c->computes >> s->compute & 1);
    return c->type_a == call->type_a && computes && (c->transposes >> trans & 1);
}

static bool takes_scalars(const struct cubin_candidate *c, const struct tilewise_signature *s)
{
    bool zero = s->beta == TILEWISE_SCALAR_ZERO, one = s->beta == TILEWISE_SCALAR_ONE;
    bool read_beta = s->beta <= TILEWISE_SCALAR_OTHER,
         read_alpha = s->alpha <= TILEWISE_SCALAR_OTHER;
    if (c->alpha == CUBIN_ALPHA_ONE ? s->alpha != TILEWISE_SCALAR_ONE : !read_alpha)
        return false;
    if (c->op == TILEWISE_OP_ADD)
        return true;
    switch (c->beta) {
    case CUBIN_BETA_ZERO:
        return zero;
    case CUBIN_BETA_ONE:
        return one;
    case CUBIN_BETA_ZERO_OR_ONE:
        return zero || one;
    default:
        return read_beta;
    }
}

bool cubin_call_fits(const struct cubin_candidate *c, const struct tilewise_signature *s,
                     const struct cubin_call *call)
{
    if (!takes_types(c, s, call) || !takes_scalars(c, s) ||
        (!c->takes_batches && call->names[EXPR_BATCH] != 1))
        return false;
    for (size_t i = 0; i < c->nwhen; i++) {
        int64_t holds;
        if (!expr_evaluate(&c->when[i], call->names, &holds) || !holds)
            return false;
    }
    return true;
}

/* ---- numbers ---- */

/* A value within its range; the least where the device decides and is not known yet. */
static bool evaluate(const struct expr *e, const struct cubin_call *call, int64_t least,
                     int64_t most, int64_t *out)
{
    if (!call->knows_device && expr_needs(e, EXPR_OF_LAUNCH & ~EXPR_OF_CALL)) {
        *out = least;
        return true;
    }
    return expr_evaluate(e, call->names, out) && *out >= least && *out <= most;
}

bool cubin_call_scratch(const struct cubin_candidate *c, const struct cubin_call *call,
                        uint64_t *bytes)
{
    int64_t value;
    if (!evaluate(&c->scratch, call, 0, scratch_bytes_max, &value))
        return false;
    *bytes = (uint64_t)value;
    return true;
}

static bool evaluate_axes(const struct expr *axes, const struct cubin_call *call,
                          const int64_t *most, uint32_t *out)
{
    for (int i = 0; i < CUBIN_AXES; i++) {
        int64_t value;
        if (!evaluate(&axes[i], call, 1, most[i], &value))
            return false;
        out[i] = (uint32_t)value;
    }
    return true;
}

static bool evaluate_args(const struct cubin_launch *launch, const struct cubin_call *call,
                          int64_t *out)
{
    static const struct {
        int64_t least, most;
    } ranges[] = {
#define X(id, word, kind, bytes, least, most) { least, most },
        CUBIN_TYPE_LIST(X)
#undef X
    };
    for (size_t i = 0; i < launch->nargs; i++) {
        const struct cubin_arg *arg = &launch->args[i];
        if (!evaluate(&arg->value, call, ranges[arg->type].least, ranges[arg->type].most, &out[i]))
            return false;
    }
    return true;
}

const char *cubin_call_launch(const struct cubin_launch *launch, const struct cubin_call *call,
                              struct cubin_launch_numbers *out)
{
    static const int64_t grid_most[] = { GRID_X_MAX, GRID_MAX, GRID_MAX };
    static const int64_t block_most[] = { BLOCK_MAX, BLOCK_MAX, 64 };
    static const int64_t cluster_most[] = { CLUSTER_MAX, CLUSTER_MAX, CLUSTER_MAX };
    int64_t shared, clear;
    if (!evaluate_axes(launch->grid, call, grid_most, out->grid))
        return "its grid is out of range";
    if (!evaluate_axes(launch->block, call, block_most, out->block) ||
        out->block[0] * out->block[1] * out->block[2] > BLOCK_MAX)
        return "its block is out of range";
    if (!evaluate_axes(launch->cluster, call, cluster_most, out->cluster))
        return "its cluster is out of range";
    if (!evaluate(&launch->shared, call, 0, SHARED_BYTES_MAX, &shared))
        return "its shared memory is out of range";
    if (!evaluate(&launch->clear_scratch, call, 0, scratch_bytes_max, &clear))
        return "what it clears is out of range";
    if (!evaluate_args(launch, call, out->value))
        return "an argument does not fit its type";
    out->shared_bytes = (uint32_t)shared;
    out->clear_bytes = (uint64_t)clear;
    return NULL;
}
