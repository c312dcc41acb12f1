/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of fields for traces/schema.h. They read into one draft, whose parts become the manifest's
 * as the items of the lists end.
 */
#include "replayer/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/candidate_name.h"
#include "replayer/manifest_parts.h"
#include "replayer/manifest_words.h"
#include "traces/scalar.h"
#include "traces/suggest.h"

enum { WHEN_MAX = 32 };

/* What is being read. */
static struct {
    struct manifest *manifest;
    uint64_t format;

    struct cubin_candidate candidate;
    uint64_t op, batch, alpha, beta;
    bool deterministic;
    struct expr when[WHEN_MAX];

    struct cubin_launch launch;
    size_t ngrid, nblock, ncluster;

    struct cubin_arg arg, args[CUBIN_ARGS_MAX];
    unsigned arg_kinds; /* how many types the argument was given */
    bool has_offset;
} draft;

static const uint8_t ops[] = { TILEWISE_OP_GEMM, TILEWISE_OP_GEMV, TILEWISE_OP_ADD };

/* ---- values ---- */

static enum status parse_when(void *value, const char *text, size_t *at, struct fault *fault)
{
    struct cubin_candidate *c = value;
    if (c->nwhen == WHEN_MAX)
        return fault_set(fault, ST_INVALID, "has more than %d conditions", WHEN_MAX);
    return manifest_parse_condition(&draft.when[c->nwhen++], text, at, fault);
}

static enum status parse_module(void *value, const char *text, size_t *at, struct fault *fault)
{
    const struct cubin_module **module = value;
    const char *near = NULL;
    (void)at;
    for (size_t i = 0; i < draft.manifest->nmodules; i++) {
        if (strcmp(draft.manifest->modules[i]->name, text) == 0)
            return *module = draft.manifest->modules[i], ST_OK;
        suggest_offer(text, draft.manifest->modules[i]->name, &near);
    }
    return manifest_no_such("the name of a module above", text, near, fault);
}

static enum status parse_axis(struct expr *axes, size_t *count, const char *text, size_t *at,
                              struct fault *fault)
{
    if (*count == CUBIN_AXES)
        return fault_set(fault, ST_INVALID, "has more than %d axes", CUBIN_AXES);
    return manifest_parse_expr(&axes[(*count)++], text, at, fault);
}

static enum status parse_grid(void *value, const char *text, size_t *at, struct fault *fault)
{
    return parse_axis(value, &draft.ngrid, text, at, fault);
}

static enum status parse_block(void *value, const char *text, size_t *at, struct fault *fault)
{
    return parse_axis(value, &draft.nblock, text, at, fault);
}

static enum status parse_cluster(void *value, const char *text, size_t *at, struct fault *fault)
{
    return parse_axis(value, &draft.ncluster, text, at, fault);
}

/* ---- arguments ---- */

static const enum cubin_type types[] = {
#define X(id, word, kind, bytes, least, most) CUBIN_##id,
    CUBIN_TYPE_LIST(X)
#undef X
};

static void note_type(const void *value)
{
    draft.arg.type = *(const enum cubin_type *)value;
    draft.arg_kinds++;
}

static enum status parse_integer(void *value, const char *text, size_t *at, struct fault *fault)
{
    note_type(value);
    draft.arg.source = CUBIN_FROM_EXPRESSION;
    return manifest_parse_expr(&draft.arg.value, text, at, fault);
}

static enum status parse_real(void *value, const char *text, size_t *at, struct fault *fault)
{
    note_type(value);
    (void)at;
    draft.arg.source = strcmp(text, "alpha") == 0  ? CUBIN_FROM_ALPHA
                       : strcmp(text, "beta") == 0 ? CUBIN_FROM_BETA
                                                   : CUBIN_FROM_NUMBER;
    if (draft.arg.source != CUBIN_FROM_NUMBER || scalar_real(text, &draft.arg.number))
        return ST_OK;
    return manifest_no_such("alpha, beta or a number", text, NULL, fault);
}

static enum status parse_pointer(void *value, const char *text, size_t *at, struct fault *fault)
{
    static const struct {
        const char *word;
        enum cubin_source source;
    } words[] = {
#define X(id, word) { word, CUBIN_FROM_##id },
        CUBIN_POINTER_LIST(X)
#undef X
    };
    note_type(value);
    (void)at;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i].word, text) == 0)
            return draft.arg.source = words[i].source, ST_OK;
    return manifest_no_such("a, b, c, scratch or null", text, NULL, fault);
}

static enum status parse_offset(void *value, const char *text, size_t *at, struct fault *fault)
{
    draft.has_offset = true;
    return manifest_parse_expr(value, text, at, fault);
}

static void begin_arg(void)
{
    draft.arg = (struct cubin_arg){ .value = expr_constant(0) };
    draft.arg_kinds = 0;
    draft.has_offset = false;
}

static enum status take_arg(void *context, struct fault *fault)
{
    struct cubin_launch *launch = context;
    if (draft.arg_kinds != 1)
        return fault_set(fault, ST_INVALID, "an argument has exactly one type, like { i32: m }");
    if (draft.has_offset && draft.arg.type != CUBIN_PTR)
        return fault_set(fault, ST_INVALID, "only a pointer has an offset");
    if (launch->nargs == CUBIN_ARGS_MAX)
        return fault_set(fault, ST_INVALID, "more than %d arguments", CUBIN_ARGS_MAX);
    draft.args[launch->nargs++] = draft.arg;
    begin_arg();
    return ST_OK;
}

/* ---- launches ---- */

static void begin_launch(void)
{
    draft.launch =
        (struct cubin_launch){ .shared = expr_constant(0), .clear_scratch = expr_constant(0) };
    for (int i = 0; i < CUBIN_AXES; i++)
        draft.launch.grid[i] = draft.launch.block[i] = draft.launch.cluster[i] = expr_constant(1);
    draft.ngrid = draft.nblock = draft.ncluster = 0;
    begin_arg();
}

static enum status take_launch(void *context, struct fault *fault)
{
    struct cubin_candidate *c = context;
    struct cubin_launch *launch = &draft.launch;
    if (c->nlaunches == CUBIN_LAUNCHES_MAX)
        return fault_set(fault, ST_INVALID, "more than %d launches", CUBIN_LAUNCHES_MAX);
    if (draft.ngrid == 0)
        return fault_set(fault, ST_INVALID, "its grid has no axis");
    launch->is_clustered = draft.ncluster > 0;
    launch->args = manifest_copy(draft.args, launch->nargs, sizeof *launch->args);
    if (launch->args == NULL)
        return manifest_no_memory(fault);
    c->launches[c->nlaunches++] = *launch;
    begin_launch();
    return ST_OK;
}

/* ---- candidates ---- */

static void begin_candidate(void)
{
    draft.candidate = (struct cubin_candidate){ .scratch = expr_constant(0) };
    draft.op = draft.batch = draft.alpha = draft.beta = 0;
    draft.deterministic = true;
    begin_launch();
}

static enum status check_name(const char *name, struct fault *fault)
{
    enum status st = candidate_name_check(name, fault);
    if (st != ST_OK)
        return st;
    for (size_t i = 0; i < draft.manifest->ncandidates; i++)
        if (strcmp(draft.manifest->candidates[i]->row.name, name) == 0)
            return fault_set(fault, ST_INVALID, "the name '%s' is taken above", name);
    return ST_OK;
}

static bool points_to(const struct cubin_candidate *c, enum cubin_source source)
{
    for (size_t i = 0; i < c->nlaunches; i++)
        for (size_t j = 0; j < c->launches[i].nargs; j++)
            if (c->launches[i].args[j].source == source)
                return true;
    return false;
}

/* What an op has and has not. */
static enum status check_op(struct cubin_candidate *c, struct fault *fault)
{
    bool is_add = c->op == TILEWISE_OP_ADD, is_gemv = c->op == TILEWISE_OP_GEMV;
    uint8_t letters = c->transposes >> 4, pairs = c->transposes & 15;
    if (is_add && (c->type_a || c->computes || c->transposes || draft.beta))
        return fault_set(fault, ST_INVALID,
                         "an add has no types a and compute, no trans and no beta");
    if (c->type_a == TILEWISE_TF32 || c->type_b == TILEWISE_TF32 || c->type_c == TILEWISE_TF32)
        return fault_set(fault, ST_INVALID, "tf32 is a type to compute in: operands are f32");
    if (is_add && (points_to(c, CUBIN_FROM_A) || points_to(c, CUBIN_FROM_BETA)))
        return fault_set(fault, ST_INVALID, "an add has no a and no beta: x is b and y is c");
    if (!is_add && (!c->type_a || !c->computes || !c->transposes))
        return fault_set(fault, ST_INVALID, "types a and compute, or trans, are missing");
    if (!is_add && (is_gemv ? pairs : letters))
        return fault_set(fault, ST_INVALID, "trans of a gemm has two letters, of a gemv one");
    c->transposes = is_gemv ? letters : pairs;
    return ST_OK;
}

static enum status check_candidate(struct cubin_candidate *c, struct fault *fault)
{
    enum status st = check_name(c->row.name, fault);
    c->op = ops[draft.op];
    st = st == ST_OK ? check_op(c, fault) : st;
    if (st == ST_OK && c->nlaunches == 0)
        st = fault_set(fault, ST_INVALID, "it has no launches");
    if (st == ST_OK && draft.manifest->ncandidates == MANIFEST_CANDIDATES_MAX)
        st = fault_set(fault, ST_INVALID, "more than %d candidates", MANIFEST_CANDIDATES_MAX);
    return st;
}

static void free_candidate(struct cubin_candidate *c)
{
    for (size_t i = 0; i < c->nlaunches; i++)
        free(c->launches[i].args);
    free(c->when);
    cubin_withdraw(c);
}

static enum status take_candidate(void *context, struct fault *fault)
{
    struct manifest *m = draft.manifest;
    struct cubin_candidate *c = &draft.candidate;
    (void)context;
    enum status st = check_candidate(c, fault);
    if (st != ST_OK)
        return st;
    c->takes_batches = draft.batch;
    c->alpha = (enum cubin_alpha)draft.alpha;
    c->beta = (enum cubin_beta)draft.beta;
    c->row.flags = draft.deterministic ? 0 : TILEWISE_CANDIDATE_VARIES;
    c->when = manifest_copy(draft.when, c->nwhen, sizeof *c->when);
    struct cubin_candidate *kept = c->when ? manifest_copy(c, 1, sizeof *c) : NULL;
    if (kept == NULL)
        return manifest_no_memory(fault); /* the draft is freed with what it holds */
    begin_candidate();
    m->candidates[m->ncandidates] = kept;
    m->rows[m->ncandidates++] = &kept->row;
    return cubin_offer(kept) ? ST_OK : manifest_no_memory(fault);
}

/* ---- tables ---- */

static const struct schema_field arg_fields[] = {
#define X(id, word, kind, bytes, least, most) OWN(word, (void *)&types[CUBIN_##id], parse_##kind),
    CUBIN_TYPE_LIST(X)
#undef X
        OWN("offset", &draft.arg.value, parse_offset),
    { 0 },
};

ELEMENT(grid_element, OWN("", draft.launch.grid, parse_grid));
ELEMENT(block_element, OWN("", draft.launch.block, parse_block));
ELEMENT(cluster_element, OWN("", draft.launch.cluster, parse_cluster));

static const struct schema_field launch_fields[] = {
    OWN("module", &draft.launch.module, parse_module, .required = true),
    TEXT("entry", &draft.launch.entry, .required = true),
    LIST("grid", grid_element, manifest_take_nothing, NULL, .required = true),
    LIST("block", block_element, manifest_take_nothing, NULL),
    LIST("cluster", cluster_element, manifest_take_nothing, NULL),
    OWN("shared", &draft.launch.shared, manifest_parse_expr),
    OWN("clear_scratch", &draft.launch.clear_scratch, manifest_parse_expr),
    LIST("args", arg_fields, take_arg, &draft.launch, .required = true),
    { 0 },
};

ELEMENT(compute_element, OWN("", &draft.candidate.computes, manifest_parse_compute));
ELEMENT(trans_element, OWN("", &draft.candidate.transposes, manifest_parse_transposes));
ELEMENT(when_element, OWN("", &draft.candidate, parse_when));

static const struct schema_field type_fields[] = {
    OWN("a", &draft.candidate.type_a, manifest_parse_type),
    OWN("b", &draft.candidate.type_b, manifest_parse_type, .required = true),
    OWN("c", &draft.candidate.type_c, manifest_parse_type, .required = true),
    LIST("compute", compute_element, manifest_take_nothing, NULL),
    { 0 },
};

static const struct schema_field candidate_fields[] = {
    TEXT("name", &draft.candidate.row.name, .required = true),
    TEXT("summary", &draft.candidate.row.summary, .required = true),
    WORD("op", &draft.op, "gemm|gemv|add", .required = true),
    { .name = "types", .type = SCHEMA_MAP, .fields = type_fields, .required = true },
    LIST("trans", trans_element, manifest_take_nothing, NULL),
    WORD("batch", &draft.batch, "one|strided"),
    WORD("alpha", &draft.alpha, "one|any"),
    WORD("beta", &draft.beta, "zero|one|zero-or-one|any"),
    LIST("when", when_element, manifest_take_nothing, NULL),
    { .name = "deterministic", .type = SCHEMA_FLAG, .value = &draft.deterministic },
    OWN("scratch", &draft.candidate.scratch, manifest_parse_expr),
    LIST("launches", launch_fields, take_launch, &draft.candidate, .required = true),
    { 0 },
};

static const struct schema_field manifest_fields[] = {
    { .name = "format",
      .type = SCHEMA_COUNT,
      .value = &draft.format,
      .min = 1,
      .max = 1,
      .required = true },
    LIST("modules", manifest_module_fields, manifest_take_module, NULL, .required = true),
    LIST("candidates", candidate_fields, take_candidate, NULL, .required = true),
    { 0 },
};

/* ---- the file ---- */

void manifest_free(struct manifest *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->ncandidates; i++) {
        free_candidate(m->candidates[i]);
        free(m->candidates[i]);
    }
    for (size_t i = 0; i < m->nmodules; i++)
        manifest_free_module(m->modules[i]);
    free(m->path);
    free(m);
}

/* What was being read when the file was refused. */
static void drop_draft(void)
{
    manifest_drop_module();
    free_candidate(&draft.candidate);
    manifest_free(draft.manifest);
}

static enum status begin(const char *path, struct fault *fault)
{
    memset(&draft, 0, sizeof draft);
    draft.manifest = calloc(1, sizeof *draft.manifest);
    if (draft.manifest == NULL || !(draft.manifest->path = strdup(path))) {
        free(draft.manifest);
        return manifest_no_memory(fault);
    }
    manifest_begin_modules(draft.manifest);
    begin_candidate();
    return ST_OK;
}

/* `st`: what reading came to. */
static enum status end(struct manifest **out, enum status st, struct fault *fault)
{
    if (st == ST_OK && draft.manifest->ncandidates == 0)
        st = fault_set(fault, ST_INVALID, "%s:1:1: it offers no candidates", draft.manifest->path);
    if (st == ST_OK)
        *out = draft.manifest;
    else
        drop_draft();
    return st;
}

enum status manifest_read(struct manifest **out, const char *path, struct fault *fault)
{
    enum status st = begin(path, fault);
    return st != ST_OK
               ? st
               : end(out, schema_read_file(manifest_fields, path, MANIFEST_BYTES_MAX, fault),
                     fault);
}

enum status manifest_read_text(struct manifest **out, const char *path, const char *text,
                               size_t bytes, struct fault *fault)
{
    enum status st = begin(path, fault);
    if (st != ST_OK)
        return st;
    st = schema_read_text(manifest_fields, path, text, bytes, MANIFEST_BYTES_MAX, fault);
    return end(out, st, fault);
}
