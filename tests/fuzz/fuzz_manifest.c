/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes whatever as a manifest: candidates that can be asked about any call, or one line that
 * names the place; nothing else. And as an expression: a value, none, or a place in the text.
 */
#include "fuzz.h"

#include "replayer/cubin_call.h"
#include "replayer/manifest.h"

/* Numbers that formulas trip over. */
static const int64_t numbers[] = { 0, 1, -1, 64, 4096, INT32_MAX, INT64_MAX, INT64_MIN };
enum { NUMBERS = sizeof numbers / sizeof numbers[0] };

static void read_expression(const char *bytes, size_t count)
{
    struct expr e;
    struct fault fault = { .text = "" };
    int64_t names[EXPR_NAMES], value;
    char text[EXPR_TEXT_MAX + 2];
    size_t at = SIZE_MAX, length = count < sizeof text - 1 ? count : sizeof text - 1;
    memcpy(text, bytes, length);
    text[length] = '\0';
    enum status st = expr_parse(&e, text, EXPR_OF_LAUNCH, &at, &fault);
    require(st == ST_OK || st == ST_INVALID, "an error that an expression cannot have");
    require(at <= strlen(text), "a place outside of the text");
    require(st == ST_OK || fault.text[0], "an error without a word");
    for (size_t i = 0; st == ST_OK && i < NUMBERS; i++) {
        for (int n = 0; n < EXPR_NAMES; n++)
            names[n] = numbers[(i + (size_t)n) % NUMBERS];
        expr_evaluate(&e, names, &value);
    }
}

static void ask(const struct cubin_candidate *c)
{
    for (size_t i = 0; i < 2 * NUMBERS; i++) {
        struct tilewise_signature s = {
            .op = c->op,
            .layout = i / NUMBERS,
            .dtype_a = c->type_a,
            .dtype_b = c->type_b,
            .dtype_c = c->type_c,
            .compute = TILEWISE_F32,
            .scale = TILEWISE_F32,
            .alpha = TILEWISE_SCALAR_ONE,
            .m = numbers[i % NUMBERS],
            .n = numbers[(i + 1) % NUMBERS],
            .k = numbers[(i + 2) % NUMBERS],
            .lda = numbers[(i + 3) % NUMBERS],
            .ldb = numbers[(i + 4) % NUMBERS],
            .ldc = numbers[(i + 5) % NUMBERS],
        };
        require(strlen(c->row.name) > 0, "a candidate without a name");
        c->row.supports(&c->row, &s);
        require(c->row.scratch_bytes(&c->row, &s, 1) <= (size_t)1 << 40, "scratch without bounds");
    }
}

static void read_manifest(const char *text, size_t count)
{
    struct manifest *m = NULL;
    struct fault fault = { .text = "" };
    enum status st = manifest_read_text(&m, "f.yaml", text, count, &fault);
    if (st == ST_OK) {
        require(m->ncandidates > 0 && m->nmodules > 0, "a manifest of nothing");
        for (size_t i = 0; i < m->ncandidates; i++)
            ask(m->candidates[i]);
        manifest_free(m);
        return;
    }
    require(m == NULL, "a manifest and an error");
    require(st == ST_INVALID || st == ST_LIMIT, "an error that text cannot have");
    require(strncmp(fault.text, "f.yaml:", 7) == 0, "an error without a place");
    for (const char *c = fault.text; *c; c++)
        require((unsigned char)*c >= ' ' && *c != 127, "an error that is not one line");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    read_expression((const char *)bytes, count);
    read_manifest((const char *)bytes, count);
    return 0;
}
