/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/manifest_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "traces/suggest.h"

/* "did you mean" for a word that no row has. */
enum status manifest_no_such(const char *what, const char *text, const char *near,
                             struct fault *fault)
{
    return fault_set(fault, ST_INVALID, "expects %s, not '%.60s'%s%s%s", what, text,
                     near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static enum status parse_with(struct expr *e, const char *text, unsigned names, size_t *at,
                              struct fault *fault)
{
    struct fault inner;
    enum status st = expr_parse(e, text, names, at, &inner);
    return st == ST_OK ? st : fault_set(fault, st, "is not an expression: %s", inner.text);
}

enum status manifest_parse_expr(void *value, const char *text, size_t *at, struct fault *fault)
{
    return parse_with(value, text, EXPR_OF_LAUNCH, at, fault);
}

enum status manifest_parse_condition(void *value, const char *text, size_t *at, struct fault *fault)
{
    return parse_with(value, text, EXPR_OF_CALL, at, fault);
}

/* Types that a manifest has words for: real numbers and integers of whole bytes. */
enum status manifest_parse_type(void *value, const char *text, size_t *at, struct fault *fault)
{
    uint8_t *type = value;
    const char *near = NULL;
    (void)at;
    for (unsigned i = TILEWISE_F64; i < TILEWISE_UNKNOWN; i++)
        suggest_offer(text, tilewise_dtype_name(i), &near);
    *type = (uint8_t)tilewise_dtype_find(text);
    enum tilewise_dtype_kind kind = tilewise_dtype_kind(*type);
    if (kind == TILEWISE_KIND_NONE)
        return manifest_no_such("an element type like f16", text, near, fault);
    if (kind == TILEWISE_KIND_COMPLEX || tilewise_dtype_bits(*type) < 8)
        return fault_set(fault, ST_INVALID, "expects a real type of whole bytes, not '%s'", text);
    return ST_OK;
}

enum status manifest_parse_compute(void *value, const char *text, size_t *at, struct fault *fault)
{
    uint32_t *set = value;
    uint8_t type;
    enum status st = manifest_parse_type(&type, text, at, fault);
    *set |= st == ST_OK ? UINT32_C(1) << type : 0;
    return st;
}

/* Letters for one or two operands; take_candidate() knows how many the op has. */
enum status manifest_parse_transposes(void *value, const char *text, size_t *at,
                                      struct fault *fault)
{
    static const char *const words[] = { "NN", "NT", "TN", "TT" }, *const letters[] = { "N", "T" };
    uint8_t *set = value;
    (void)at;
    for (unsigned i = 0; i < 4; i++)
        if (strcmp(words[i], text) == 0)
            return *set |= (uint8_t)(1u << i), ST_OK;
    for (unsigned i = 0; i < 2; i++) /* kept apart in the upper half */
        if (strcmp(letters[i], text) == 0)
            return *set |= (uint8_t)(16u << (2 * i)), ST_OK;
    return manifest_no_such("NN, NT, TN or TT (gemv: N or T)", text, NULL, fault);
}

/* sm_90, sm_90a, sm_100f */
enum status manifest_parse_arch(void *value, const char *text, size_t *at, struct fault *fault)
{
    struct cubin_binary *b = value;
    char *end = NULL;
    bool named = strncmp(text, "sm_", 3) == 0 && isdigit((unsigned char)text[3]);
    unsigned long arch = named ? strtoul(text + 3, &end, 10) : 0;
    (void)at;
    if (arch < 10 || arch > 9999 || (*end && strcmp(end, "a") != 0 && strcmp(end, "f") != 0))
        return manifest_no_such("an architecture like sm_90", text, NULL, fault);
    b->arch = (unsigned)arch;
    b->only_there = *end == 'a';
    return ST_OK;
}

enum status manifest_parse_sha256(void *value, const char *text, size_t *at, struct fault *fault)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t *digest = value;
    *at = strspn(text, digits);
    if (*at != 2 * SHA256_BYTES || text[*at])
        return fault_set(fault, ST_INVALID, "expects %d small hexadecimal digits",
                         2 * SHA256_BYTES);
    for (size_t i = 0; i < SHA256_BYTES; i++)
        digest[i] = (uint8_t)((strchr(digits, text[2 * i]) - digits) << 4 |
                              (strchr(digits, text[2 * i + 1]) - digits));
    return ST_OK;
}
