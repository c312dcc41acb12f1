/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "kernels/builtin.h"
#include "replayer/backend.h"
#include "replayer/candidates.h"

static const char *plugin;

static const struct option_row rows[] = {
    { "candidate", 0, OPTION_TEXT, "PATH", "plug-in with more candidates", &plugin, NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "kernels",
    .doc = "List the candidates and what each one can do on this machine.",
    .options = rows,
};

/* Shapes that a candidate of any kind should know: one per operation and element type. */
static const struct probe {
    const char *name;
    uint8_t op, dtype;
} probes[] = {
    { "gemm f32", TILEWISE_OP_GEMM, TILEWISE_F32 }, { "gemm f64", TILEWISE_OP_GEMM, TILEWISE_F64 },
    { "gemv f32", TILEWISE_OP_GEMV, TILEWISE_F32 }, { "gemv f64", TILEWISE_OP_GEMV, TILEWISE_F64 },
    { "add f32", TILEWISE_OP_ADD, TILEWISE_F32 },   { "add f64", TILEWISE_OP_ADD, TILEWISE_F64 },
};

static struct tilewise_signature signature_of(const struct probe *p)
{
    const int64_t size = 64;
    bool is_gemm = p->op == TILEWISE_OP_GEMM, is_add = p->op == TILEWISE_OP_ADD;
    return (struct tilewise_signature){
        .op = p->op,
        .dtype_a = is_add ? TILEWISE_NONE : p->dtype,
        .dtype_b = p->dtype,
        .dtype_c = p->dtype,
        .dtype_d = p->dtype,
        .compute = p->dtype,
        .scale = p->dtype,
        .alpha = TILEWISE_SCALAR_ONE,
        .beta = is_add ? TILEWISE_SCALAR_ONE : TILEWISE_SCALAR_ZERO,
        .align_a = 6,
        .align_b = 6,
        .align_c = 6,
        .m = size,
        .n = is_add ? 1 : size,
        .k = is_gemm ? size : 1,
        .batch = 1,
        .lda = is_add ? 0 : size,
        .ldb = is_gemm ? size : 1,
        .ldc = is_gemm ? size : 1,
    };
}

/* "gemm f32, add f32", or why nothing. */
static void describe_support(const struct tilewise_candidate *c, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    if (strcmp(c->target, backend_cpu.name) != 0) {
        snprintf(text, bytes, "no: this build has no %s backend", c->target);
        return;
    }
    for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
        struct tilewise_signature s = signature_of(&probes[i]);
        if (c->supports(c, &s) && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? ", " : "",
                                     probes[i].name);
    }
    if (used == 0)
        snprintf(text, bytes, "no: not this processor, or none of the common shapes");
}

int cmd_kernels(int argc, char **argv)
{
    struct candidates all = { 0 };
    struct fault fault = { .text = "" };
    char support[160];
    size_t count;
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    const struct tilewise_candidate *const *table = builtin_candidates(&count);
    enum status st = candidates_add(&all, table, count, "built in", &fault);
    if (st == ST_OK && plugin)
        st = candidates_load(&all, plugin, &fault);
    printf("%-28s %-6s %-44s %s\n", "candidate", "target", "here", "what it is");
    for (size_t i = 0; st == ST_OK && i < all.count; i++) {
        describe_support(all.row[i], support, sizeof support);
        printf("%-28s %-6s %-44s %s%s%s\n", all.row[i]->name, all.row[i]->target, support,
               all.row[i]->summary, all.origin[i][0] == '/' ? "; from " : "",
               all.origin[i][0] == '/' ? all.origin[i] : "");
    }
    candidates_close(&all);
    return st == ST_OK ? EXIT_FINE : command_fault("kernels", &fault);
}
