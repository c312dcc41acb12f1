/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/offers.h"
#include "cli/options.h"
#include "cli/replay_device.h"

static const char *path, *cuda_libraries;

static const struct option_row rows[] = {
    { OFFERS_OPTION, 0, OPTION_TEXT, "PATH", OFFERS_OPTION_DOC, &path, NULL },
    { "cuda-libraries", 0, OPTION_TEXT, "DIR", "look for the CUDA driver there first",
      &cuda_libraries, NULL },
    { 0 },
};

static const struct usage usage = {
    .command = "kernels",
    .doc = "List the candidates: where each runs, and what it computes.",
    .options = rows,
};

/* One line that grows. */
struct line {
    size_t used;
    char text[240];
};

static void add(struct line *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct line *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(l->text + l->used, sizeof l->text - l->used, format, args);
    va_end(args);
    l->used += bytes > 0 ? (size_t)bytes : 0;
    l->used = l->used < sizeof l->text ? l->used : sizeof l->text - 1;
}

/* ---- candidates that say only yes or no ---- */

/* Types that they are asked about; what is multiplied, and what it is summed in. */
static const struct {
    uint8_t dtype, compute;
} asked[] = {
    { TILEWISE_F64, TILEWISE_F64 },  { TILEWISE_F32, TILEWISE_F32 },
    { TILEWISE_F32, TILEWISE_TF32 }, { TILEWISE_BF16, TILEWISE_F32 },
    { TILEWISE_F16, TILEWISE_F32 },
};
static const uint8_t asked_ops[] = { TILEWISE_OP_GEMM, TILEWISE_OP_GEMV, TILEWISE_OP_ADD };

static struct tilewise_signature signature_of(uint8_t op, uint8_t dtype, uint8_t compute)
{
    const int64_t size = 64;
    struct tilewise_signature s = signature_gemm(TILEWISE_COL_MAJOR, dtype, size, size, size);
    s.op = op;
    s.compute = compute;
    s.scale = dtype == TILEWISE_F64 ? TILEWISE_F64 : TILEWISE_F32;
    s.align_a = s.align_b = s.align_c = s.align_d = 4;
    if (op != TILEWISE_OP_GEMM)
        s.k = s.ldb = s.ldc = s.ldd = 1;
    if (op == TILEWISE_OP_ADD) {
        s.dtype_a = TILEWISE_NONE;
        s.beta = TILEWISE_SCALAR_ONE;
        s.n = 1;
        s.lda = 0;
    }
    return s;
}

/* "gemm f32 tf32, add f32", or why nothing. */
static void describe_answers(const struct tilewise_candidate *c, struct line *l)
{
    for (size_t o = 0; o < sizeof asked_ops; o++) {
        bool named = false;
        for (size_t t = 0; t < sizeof asked / sizeof asked[0]; t++) {
            uint8_t compute = asked[t].compute, dtype = asked[t].dtype;
            struct tilewise_signature s = signature_of(asked_ops[o], dtype, compute);
            bool multiplies = asked_ops[o] != TILEWISE_OP_ADD || compute != TILEWISE_TF32;
            if (!multiplies || !c->supports(c, &s))
                continue;
            if (!named)
                add(l, "%s%s", l->used ? ", " : "", tilewise_op_name(asked_ops[o]));
            add(l, " %s", tilewise_dtype_name(compute == TILEWISE_TF32 ? compute : dtype));
            named = true;
        }
    }
    if (l->used == 0)
        add(l, "no: not this processor, or none of the common shapes");
}

/* ---- candidates of cubins ---- */

static void describe_types(const struct cubin_candidate *c, struct line *l)
{
    bool is_add = c->op == TILEWISE_OP_ADD;
    uint8_t a = is_add ? c->type_b : c->type_a;
    add(l, "%s %s", tilewise_op_name(c->op), tilewise_dtype_name(a));
    if (c->type_b != a)
        add(l, " x %s", tilewise_dtype_name(c->type_b));
    if (c->type_c != c->type_b)
        add(l, " to %s", tilewise_dtype_name(c->type_c));
    for (unsigned type = 0; !is_add && type < TILEWISE_DTYPE_COUNT; type++)
        if (type != a && (c->computes >> type & 1))
            add(l, " in %s", tilewise_dtype_name(type));
}

static void describe_transposes(const struct cubin_candidate *c, struct line *l)
{
    for (unsigned i = 0; i < 4; i++)
        if (c->transposes >> i & 1)
            add(l, c->op == TILEWISE_OP_GEMV ? " %c" : " %c%c", "NT"[i >> 1], "NT"[i & 1]);
}

/* Architectures for which all of its modules have a file. */
static void describe_architectures(const struct cubin_candidate *c, unsigned here, struct line *l)
{
    const struct cubin_module *first = c->launches[0].module;
    const char *before = "; ";
    bool runs = true;
    for (size_t i = 0; i < first->nbinaries; i++) {
        const struct cubin_binary *b = &first->binaries[i];
        bool everywhere = true;
        for (size_t j = 1; j < c->nlaunches; j++)
            everywhere = everywhere && cubin_choose(c->launches[j].module, b->arch);
        if (!everywhere)
            continue;
        add(l, "%ssm_%u%s", before, b->arch, b->only_there ? "a" : "");
        before = " ";
    }
    for (size_t j = 0; here && j < c->nlaunches; j++)
        runs = runs && cubin_choose(c->launches[j].module, here);
    if (!runs)
        add(l, ", not sm_%u", here);
}

static void describe_cubins(const struct cubin_candidate *c, unsigned here, struct line *l)
{
    describe_types(c, l);
    describe_transposes(c, l);
    add(l, "%s", c->takes_batches ? ", batches" : "");
    describe_architectures(c, here, l);
}

/* ---- the list ---- */

static void print_row(const struct candidates *all, size_t i, unsigned capability)
{
    const struct tilewise_candidate *c = all->row[i];
    const struct cubin_candidate *cubins = cubin_of(c);
    struct line l = { .text = "" };
    if (cubins)
        describe_cubins(cubins, capability, &l);
    else
        describe_answers(c, &l);
    printf("%-32s %-6s %-42s %s", c->name, c->target, l.text, c->summary);
    if (strcmp(all->origin[i], CANDIDATES_BUILT_IN) != 0)
        printf("; from %s", all->origin[i]);
    if (cubins && cubins->launches[0].module->compilers[0])
        printf(" (%s)", cubins->launches[0].module->compilers);
    putchar('\n');
}

static bool has_target(const struct candidates *all, const char *target)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->row[i]->target, target) == 0)
            return true;
    return false;
}

/* What the rows for a GPU would run on; 0 and a line why not. */
static unsigned look_for_gpu(struct line *l)
{
    struct cuda_machine machine;
    replay_device_look(&machine, cuda_libraries);
    const struct fault *wrong = machine.driver.status != ST_OK ? &machine.driver : &machine.gpu;
    if (wrong->status == ST_OK) {
        add(l, "%s, sm_%d", machine.gpu_name, machine.capability);
        return (unsigned)machine.capability;
    }
    add(l, "not on this machine: %s", wrong->text);
    return 0;
}

static void print_all(const struct candidates *all)
{
    struct line gpu = { .text = "" };
    bool has_cuda = has_target(all, backend_cuda.name);
    unsigned capability = has_cuda ? look_for_gpu(&gpu) : 0;
    printf("%-32s %-6s %-42s %s\n", "candidate", "target", "computes", "what it is");
    for (size_t i = 0; i < all->count; i++)
        print_row(all, i, capability);
    if (has_cuda)
        printf("\ncuda: %s\n", gpu.text);
}

int cmd_kernels(int argc, char **argv)
{
    struct candidates all = { 0 };
    struct fault fault = { .text = "" };
    struct offers_paths paths = offers_find(argc, argv);
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    enum status st = offers_load(&all, &paths, path, &fault);
    if (st == ST_OK)
        print_all(&all);
    candidates_close(&all);
    return st == ST_OK ? EXIT_FINE : command_fault("kernels", &fault);
}
