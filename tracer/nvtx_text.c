/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/nvtx_text.h"

#include <string.h>
#include <wchar.h>

enum { OPERANDS = 2, DIMENSIONS = 16, NAME_BYTES = 44 };

static const int64_t elements_max = (int64_t)1 << 40;

struct row {
    char name[NAME_BYTES]; /* in place: no relocation */
    uint8_t work;
};

static const struct row aten[] = {
#define ROW(name, work) { name, NVTX_WORK_##work },
#include "tracer/nvtx_aten.def"
#undef ROW
};

static enum nvtx_work work_of(const char *name, size_t bytes)
{
    static const char prefix[] = "aten::";
    if (bytes <= sizeof prefix - 1 || memcmp(name, prefix, sizeof prefix - 1) != 0)
        return NVTX_WORK_LEAF;
    name += sizeof prefix - 1;
    bytes -= sizeof prefix - 1;
    bytes -= bytes > 1 && name[bytes - 1] == '_';
    size_t low = 0, high = sizeof aten / sizeof *aten;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strncmp(name, aten[middle].name, bytes);
        if (order == 0 && aten[middle].name[bytes] == '\0')
            return aten[middle].work;
        if (order > 0)
            low = middle + 1;
        else
            high = middle; /* what is only longer sorts behind */
    }
    return NVTX_WORK_LEAF;
}

/* Behind `key` if it stands at `at`, else NULL. */
static const char *behind(const char *at, const char *end, const char *key)
{
    size_t bytes = strlen(key);
    return (size_t)(end - at) > bytes && memcmp(at, key, bytes) == 0 ? at + bytes : NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is this "NAMESPACE::NAME", with nothing in it that a person would write? */
static bool is_qualified(const char *name, size_t bytes)
{
    bool colons = false;
    for (size_t i = 0; i < bytes; i++) {
        char c = name[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (!letter && !is_digit(c) && c != '_' && c != ':' && c != '.')
            return false;
        colons |= c == ':' && i && i + 2 < bytes && name[i + 1] == ':';
    }
    return colons;
}

/* What PyTorch appends, from the first key on. */
struct suffix {
    const char *start, *sizes;
    bool has_sequence;
};

static struct suffix find_suffix(const char *message, const char *end)
{
    struct suffix s = { .start = end };
    const char *value;
    for (const char *at = message; (at = memchr(at, ',', (size_t)(end - at))) != NULL; at++) {
        bool is_key = false;
        if ((value = behind(at, end, ", seq = ")) != NULL && is_digit(*value))
            is_key = s.has_sequence = true;
        else if ((value = behind(at, end, ", op_id = ")) != NULL && is_digit(*value))
            is_key = true;
        else if ((value = behind(at, end, ", sizes = [")) != NULL) {
            is_key = true;
            s.sizes = value - 1;
        }
        if (is_key && s.start == end)
            s.start = at;
        if (s.sizes)
            break;
    }
    return s;
}

void nvtx_text_parse(const char *message, struct nvtx_text *text)
{
    const char *end = message + strnlen(message, NVTX_TEXT_BYTES);
    struct suffix s = find_suffix(message, end);
    size_t bytes = (size_t)(s.start - message);
    *text = (struct nvtx_text){ .name = message, .bytes = bytes, .sizes = s.sizes, .end = end };
    bool is_torch = s.start != end;
    if (behind(message, end, "autograd::"))
        text->work = NVTX_WORK_NONE;
    else if (s.has_sequence || behind(message, end, "aten::") ||
             (is_torch && is_qualified(message, bytes)))
        text->work = work_of(message, bytes);
}

/* The sizes of the operands. */
struct sizes {
    int64_t dimension[OPERANDS][DIMENSIONS];
    unsigned count[OPERANDS];  /* of dimensions */
    unsigned listed, operands; /* all; those that have dimensions */
    bool is_plain;             /* all of them have the sizes of the first one, two at most */
};

/* One "a, b, c]" into `value`; behind the bracket, NULL when it is malformed. */
static const char *read_operand(const char *at, const char *end, int64_t *value, unsigned *count)
{
    for (*count = 0; at < end && *at != ']';) {
        int64_t v = 0;
        const char *start = at;
        for (; at < end && is_digit(*at); at++)
            if ((v = v * 10 + (*at - '0')) > elements_max)
                return NULL;
        if (at == start || *count == DIMENSIONS)
            return NULL;
        value[(*count)++] = v;
        at = behind(at, end, ", ") ? at + 2 : at;
    }
    return at < end ? at + 1 : NULL;
}

static bool read_sizes(const struct nvtx_text *text, struct sizes *s)
{
    *s = (struct sizes){ .is_plain = true };
    const char *at = text->sizes ? text->sizes + 1 : NULL;
    while (at && at < text->end && *at == '[') {
        int64_t value[DIMENSIONS] = { 0 };
        unsigned count;
        at = read_operand(at + 1, text->end, value, &count);
        s->listed++;
        if (at && count) {
            unsigned own = s->operands < OPERANDS ? s->operands : OPERANDS - 1;
            if (s->operands < OPERANDS) {
                memcpy(s->dimension[own], value, sizeof value);
                s->count[own] = count;
            }
            s->operands++;
            s->is_plain &= count <= 2 && count == s->count[0] &&
                           memcmp(value, s->dimension[0], count * sizeof *value) == 0;
        }
        if (at && at + 2 < text->end && at[0] == ',')
            at += 2;
    }
    return at && at < text->end && *at == ']' && s->listed;
}

/* Product of `count` numbers, or 0 when it is absurd. */
static int64_t product(const int64_t *value, unsigned count)
{
    int64_t p = 1;
    for (unsigned i = 0; i < count; i++)
        if (__builtin_mul_overflow(p, value[i], &p) || p > elements_max)
            return 0;
    return p;
}

/* Elements of the result of an operator that broadcasts its first two operands. */
static int64_t broadcast(const struct sizes *s)
{
    unsigned most = s->count[0] > s->count[1] ? s->count[0] : s->count[1];
    int64_t value[DIMENSIONS];
    for (unsigned i = 0; i < most; i++) {
        int64_t a = i < s->count[0] ? s->dimension[0][s->count[0] - 1 - i] : 1;
        int64_t b = i < s->count[1] ? s->dimension[1][s->count[1] - 1 - i] : 1;
        value[i] = a == 1 ? b : a;
    }
    return product(value, most);
}

static uint16_t hash_sizes(const struct nvtx_text *text)
{
    uint32_t hash = 0x811c9dc5u; /* FNV-1a, up to the bracket that closes the first one */
    int depth = 0;
    for (const char *c = text->sizes; c < text->end; c++) {
        hash = (hash ^ (unsigned char)*c) * 0x01000193u;
        depth += (*c == '[') - (*c == ']');
        if (depth == 0)
            break;
    }
    return (uint16_t)((hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24) & 0xff);
}

void nvtx_text_signature(const struct nvtx_text *text, struct tilewise_signature *key)
{
    struct sizes s;
    bool add = text->work == NVTX_WORK_ADD;
    *key = (struct tilewise_signature){
        .op = add ? TILEWISE_OP_ADD : TILEWISE_OP_OTHER,
        .layout = TILEWISE_ROW_MAJOR,
        .dtype_a = TILEWISE_UNKNOWN,
        .dtype_b = add ? TILEWISE_UNKNOWN : TILEWISE_NONE,
        .dtype_c = TILEWISE_UNKNOWN,
        .dtype_d = TILEWISE_UNKNOWN,
        .compute = TILEWISE_UNKNOWN,
        .alpha = TILEWISE_SCALAR_UNREAD,
        .beta = add ? TILEWISE_SCALAR_ONE : TILEWISE_SCALAR_ZERO,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .k = add,
        .batch = 1,
    };
    if (text->sizes)
        key->flags |= (uint16_t)(hash_sizes(text) << TILEWISE_OTHER_SHIFT);
    if (!read_sizes(text, &s))
        return;
    if (s.is_plain)
        key->flags = TILEWISE_NOT_REPLAYABLE; /* m and n say all */
    unsigned count = s.count[0];
    bool matrix = add ? s.is_plain && count == 2 : count > 1;
    key->n = matrix ? s.dimension[0][count - 1] : 1;
    key->m = matrix ? product(s.dimension[0], count - 1)
             : add  ? broadcast(&s)
                    : product(s.dimension[0], count);
}

size_t nvtx_text_phase(const struct nvtx_text *text, char name[NVTX_TEXT_BYTES + 2])
{
    size_t bytes = text->bytes;
    while (bytes && is_digit(text->name[bytes - 1]))
        bytes--;
    memcpy(name, text->name, bytes);
    if (bytes < text->bytes && (bytes == 0 || name[bytes - 1] != '#'))
        name[bytes++] = '#';
    return bytes;
}

/* Bytes of one character in UTF-8. */
static unsigned encode(uint32_t c, unsigned char out[4])
{
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        c = 0xfffd;
    unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = { 0, 0xc0, 0xe0, 0xf0 };
    out[0] = (unsigned char)(lead[more] | c >> 6 * more);
    for (unsigned i = 1; i <= more; i++)
        out[i] = (unsigned char)(0x80 | (c >> 6 * (more - i) & 0x3f));
    return more + 1;
}

void nvtx_text_narrow(const void *wide, char text[NVTX_TEXT_BYTES + 1])
{
    size_t bytes = 0;
    for (const wchar_t *c = wide; *c; c++) {
        unsigned char one[4];
        unsigned n = encode((uint32_t)*c, one);
        if (bytes + n > NVTX_TEXT_BYTES)
            break;
        memcpy(text + bytes, one, n);
        bytes += n;
    }
    text[bytes] = '\0';
}
