/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/ltattr.h"

#include <string.h>

#include "tracer/elf.h"

/* cublasComputeType_t, cudaDataType: of the fresh objects. */
enum { COMPUTE_32F = 68, REAL_32F = 0, ROOM = 1024, MARK_BYTES = 4 };

typedef int set_attribute(void *object, int number, const void *value, size_t bytes);
typedef int init_desc(void *object, size_t bytes, int compute, int scale);
typedef int init_layout(void *object, size_t bytes, int type, uint64_t rows, uint64_t cols,
                        int64_t ld);

struct attribute {
    uint8_t kind, number, bytes;
    int8_t without;
};

static const struct attribute attribute[LTATTR_COUNT] = {
#define LTATTR(kind, name, number, bytes, without) { LTATTR_##kind, number, bytes, without },
#include "tracer/ltattr.def"
#undef LTATTR
};

/* Of these it matters only whether they are set. */
static const uint8_t pointer[] = {
    LTATTR_DESC_BIAS_POINTER,      LTATTR_DESC_AUX_POINTER,       LTATTR_DESC_A_SCALE_POINTER,
    LTATTR_DESC_B_SCALE_POINTER,   LTATTR_DESC_C_SCALE_POINTER,   LTATTR_DESC_D_SCALE_POINTER,
    LTATTR_DESC_AMAX_POINTER,      LTATTR_DESC_AUX_SCALE_POINTER, LTATTR_DESC_AUX_AMAX_POINTER,
    LTATTR_DESC_OUT_SCALE_POINTER,
};
enum { POINTERS = sizeof pointer, LAYOUTS = 4 };

/* The functions of one library that work on one kind of object. */
struct functions {
    set_attribute *set;
    init_desc *init_desc;
    init_layout *init_layout;
};

static bool make_fresh(const struct functions *f, enum ltattr_kind kind, void *object, int filling)
{
    memset(object, filling, ROOM);
    if (kind == LTATTR_DESC)
        return f->init_desc && f->init_desc(object, ROOM, COMPUTE_32F, REAL_32F) == 0;
    return f->init_layout && f->init_layout(object, ROOM, REAL_32F, 1, 1, 1) == 0;
}

/* Sign-extended where the attribute is a type (its "none" is -1). */
static int64_t load(const struct attribute *a, const void *from)
{
    int64_t wide;
    int32_t narrow;
    switch (a->bytes) {
    case sizeof wide:
        memcpy(&wide, from, sizeof wide);
        return wide;
    case sizeof narrow:
        memcpy(&narrow, from, sizeof narrow);
        return narrow;
    default:
        return *(const uint8_t *)from;
    }
}

/* Which bytes a fresh object has, by filling the memory with two patterns before. */
static bool learn_size(struct ltattr_object *o, const struct functions *f, enum ltattr_kind kind)
{
    _Alignas(16) uint8_t a[ROOM], b[ROOM];
    if (!make_fresh(f, kind, a, 0x5a) || !make_fresh(f, kind, b, 0xa5))
        return false;
    for (uint32_t i = 0; i < ROOM; i++) {
        bool is_written = a[i] == b[i];
        if (is_written && i >= LTATTR_BYTES)
            return false;
        if (!is_written)
            continue;
        o->bytes = i + 1;
        o->fresh[i] = a[i];
        o->no_attribute[i] = 0xff;
    }
    o->bytes = (o->bytes + 7) / 8 * 8; /* compared in words; the padding is masked out */
    return o->bytes >= MARK_BYTES;
}

/* Set it to `value` in a fresh object: where does the value appear, and nothing else? */
static bool find_place(const struct ltattr_object *o, const struct functions *f,
                       const struct attribute *a, uint64_t value, uint32_t *offset)
{
    _Alignas(16) uint8_t object[ROOM];
    uint32_t first = 0, last = 0;
    if (!make_fresh(f, a->kind, object, 0) || f->set(object, a->number, &value, a->bytes) != 0)
        return false;
    while (first < o->bytes && (object[first] == o->fresh[first] || !o->no_attribute[first]))
        first++;
    for (uint32_t i = first; i < o->bytes; i++)
        if (object[i] != o->fresh[i] && o->no_attribute[i])
            last = i;
    *offset = first;
    return first + a->bytes <= o->bytes && last < first + a->bytes &&
           memcmp(object + first, &value, a->bytes) == 0;
}

/* Twice, with values whose lowest byte differs from the fresh one and from each other. */
static bool learn_place(const struct ltattr_object *o, const struct functions *f,
                        const struct attribute *a, uint64_t fresh, uint32_t *offset)
{
    uint32_t again = 0;
    uint64_t low = fresh & 0xff, first = low == 1 ? 2 : 1, second = low == 3 ? 2 : 3;
    return find_place(o, f, a, first, offset) && find_place(o, f, a, second, &again) &&
           again == *offset;
}

static bool get(const struct ltattr_object *o, const void *object, int number, size_t bytes,
                uint64_t *value)
{
    size_t written = 0;
    *value = 0;
    return o->get(object, number, value, bytes, &written) == 0;
}

static bool is_known(enum ltattr_kind kind, int number)
{
    for (int i = 0; i < LTATTR_COUNT; i++)
        if (attribute[i].kind == kind && attribute[i].number == number)
            return true;
    return false;
}

/* False when there are more than we can keep. */
static bool find_strangers(struct ltattr_object *o, enum ltattr_kind kind, const void *fresh)
{
    for (uint8_t number = 0; number < LTATTR_NUMBERS; number++)
        for (uint8_t bytes = 1; bytes <= 8 && !is_known(kind, number); bytes *= 2) {
            uint64_t value;
            if (!get(o, fresh, number, bytes, &value))
                continue;
            if (o->nstrangers == LTATTR_STRANGERS)
                return false;
            o->stranger[o->nstrangers++] = (struct ltattr_stranger){ number, bytes, value };
            break;
        }
    return true;
}

static void learn(struct ltattr_library *library, enum ltattr_kind kind, const struct functions *f)
{
    struct ltattr_object *o = &library->object[kind];
    _Alignas(16) uint8_t fresh[ROOM];
    if (!o->get || !f->set || !make_fresh(f, kind, fresh, 0))
        return;
    bool good = learn_size(o, f, kind) && find_strangers(o, kind, fresh);
    for (int i = 0; i < LTATTR_COUNT; i++) {
        const struct attribute *a = &attribute[i];
        uint64_t value;
        uint32_t offset = 0;
        if (a->kind != kind)
            continue;
        library->exists[i] = get(o, fresh, a->number, a->bytes, &value);
        if (!library->exists[i] || !good)
            continue;
        good = learn_place(o, f, a, value, &offset);
        library->offset[i] = (uint16_t)offset;
    }
    memcpy(o->matters, o->no_attribute, sizeof o->matters);
    for (int i = 0; i < LTATTR_COUNT && good; i++)
        if (attribute[i].kind == kind && library->exists[i])
            memset(o->no_attribute + library->offset[i], 0, attribute[i].bytes);
    for (int i = 0; i < POINTERS && good; i++)
        if (attribute[pointer[i]].kind == kind && library->exists[pointer[i]])
            memset(o->matters + library->offset[pointer[i]], 0, sizeof(void *));
    o->is_learned = good;
}

void ltattr_learn(struct ltattr_library *library, const void *real)
{
    struct elf_object object;
    memset(library, 0, sizeof *library);
    if (!elf_at(real, &object))
        return;
    library->object[LTATTR_DESC].get = elf_symbol(&object, "cublasLtMatmulDescGetAttribute");
    library->object[LTATTR_LAYOUT].get = elf_symbol(&object, "cublasLtMatrixLayoutGetAttribute");
    learn(
        library, LTATTR_DESC,
        &(struct functions){ .set = elf_symbol(&object, "cublasLtMatmulDescSetAttribute"),
                             .init_desc = elf_symbol(&object, "cublasLtMatmulDescInit_internal") });
    learn(library, LTATTR_LAYOUT,
          &(struct functions){ .set = elf_symbol(&object, "cublasLtMatrixLayoutSetAttribute"),
                               .init_layout =
                                   elf_symbol(&object, "cublasLtMatrixLayoutInit_internal") });
    const struct ltattr_object *desc = &library->object[LTATTR_DESC],
                               *layout = &library->object[LTATTR_LAYOUT];
    library->is_open = desc->is_learned && layout->is_learned &&
                       desc->bytes + LAYOUTS * layout->bytes <= LTATTR_CONTENT;
}

static bool ask(const struct ltattr_library *library, enum ltattr_kind kind, const void *object,
                int64_t value[LTATTR_COUNT])
{
    const struct ltattr_object *o = &library->object[kind];
    bool understood = o->get != NULL;
    for (int i = 0; i < LTATTR_COUNT; i++) {
        const struct attribute *a = &attribute[i];
        uint64_t got;
        if (a->kind != kind)
            continue;
        bool exists = o->get && get(o, object, a->number, a->bytes, &got);
        value[i] = exists ? load(a, &got) : a->without;
    }
    for (uint32_t i = 0; i < o->nstrangers; i++) {
        const struct ltattr_stranger *s = &o->stranger[i];
        uint64_t got;
        /* An older object may not have it. */
        if (get(o, object, s->number, s->bytes, &got) && got != s->fresh)
            understood = false;
    }
    return understood;
}

/* Are the bytes the same where the mask is set? `bytes` is a multiple of 8. */
static inline bool is_same(const uint8_t *a, const uint8_t *b, const uint8_t *mask, uint32_t bytes)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    words differ = { 0 };
    uint32_t at = 0;
    for (; at + sizeof(words) <= bytes; at += sizeof(words)) {
        words x, y, m;
        memcpy(&x, a + at, sizeof x);
        memcpy(&y, b + at, sizeof y);
        memcpy(&m, mask + at, sizeof m);
        differ |= (x ^ y) & m;
    }
    uint64_t x = 0, y = 0, m = 0;
    if (at < bytes) {
        memcpy(&x, a + at, sizeof x);
        memcpy(&y, b + at, sizeof y);
        memcpy(&m, mask + at, sizeof m);
    }
    return (differ[0] | differ[1] | ((x ^ y) & m)) == 0;
}

/* Does the object begin as a fresh one of this library? Nothing behind may be read before. */
static inline bool has_our_layout(const struct ltattr_object *o, const void *object)
{
    uint32_t is, fresh, mask;
    memcpy(&is, object, MARK_BYTES);
    memcpy(&fresh, o->fresh, MARK_BYTES);
    memcpy(&mask, o->no_attribute, MARK_BYTES);
    return ((is ^ fresh) & mask) == 0;
}

bool ltattr_read(const struct ltattr_library *library, enum ltattr_kind kind, const void *object,
                 int64_t value[LTATTR_COUNT])
{
    const struct ltattr_object *o = &library->object[kind];
    if (!o->is_learned || !has_our_layout(o, object))
        return ask(library, kind, object, value);
    const uint8_t *bytes = object;
#define LTATTR(of, name, number, size, missing)                                                    \
    if (LTATTR_##of == kind)                                                                       \
        value[LTATTR_##of##_##name] = library->exists[LTATTR_##of##_##name]                        \
                                          ? load(&attribute[LTATTR_##of##_##name],                 \
                                                 bytes + library->offset[LTATTR_##of##_##name])    \
                                          : missing;
#include "tracer/ltattr.def"
#undef LTATTR
    return is_same(bytes, o->fresh, o->no_attribute, o->bytes);
}

bool ltattr_are_open(const struct ltattr_library *library, const struct ltattr_objects *objects)
{
    const struct ltattr_object *layout = &library->object[LTATTR_LAYOUT];
    bool is_open = library->is_open && has_our_layout(&library->object[LTATTR_DESC], objects->desc);
    for (int i = 0; i < LAYOUTS; i++)
        is_open = is_open && has_our_layout(layout, objects->layout[i]);
    return is_open;
}

static uint64_t value_of(const struct ltattr_library *library, enum ltattr which,
                         const void *object)
{
    return (uint64_t)load(&attribute[which], (const char *)object + library->offset[which]);
}

uint64_t ltattr_hash(const struct ltattr_library *library, const struct ltattr_objects *objects)
{
    static const struct {
        uint8_t which, layout;
    } part[] = {
        { LTATTR_LAYOUT_ROWS, 3 }, { LTATTR_LAYOUT_COLS, 3 }, { LTATTR_LAYOUT_TYPE, 3 },
        { LTATTR_LAYOUT_TYPE, 0 }, { LTATTR_LAYOUT_LD, 0 },   { LTATTR_LAYOUT_LD, 1 },
    };
    uint64_t hash = value_of(library, LTATTR_DESC_EPILOGUE, objects->desc);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        hash = (hash ^ value_of(library, part[i].which, objects->layout[part[i].layout])) *
               0x9e3779b97f4a7c15u;
    return hash;
}

static inline uint64_t pointer_at(const void *desc, uint16_t offset)
{
    uint64_t address;
    memcpy(&address, (const char *)desc + offset, sizeof address);
    return address;
}

static uint64_t pointers_set(const struct ltattr_library *library, const void *desc)
{
    uint64_t bits = 0;
    for (int i = 0; i < POINTERS; i++)
        if (library->exists[pointer[i]])
            bits |= (uint64_t)(pointer_at(desc, library->offset[pointer[i]]) != 0) << i;
    return bits;
}

void ltattr_keep(const struct ltattr_library *library, const struct ltattr_objects *objects,
                 struct ltattr_content *out)
{
    uint32_t at = library->object[LTATTR_DESC].bytes, bytes = library->object[LTATTR_LAYOUT].bytes;
    out->library = library;
    out->pointers = pointers_set(library, objects->desc);
    memcpy(out->byte, objects->desc, at);
    for (int i = 0; i < LAYOUTS; i++, at += bytes)
        memcpy(out->byte + at, objects->layout[i], bytes);
}

bool ltattr_is_kept(const struct ltattr_library *library, const struct ltattr_objects *objects,
                    const struct ltattr_content *content)
{
    const struct ltattr_object *desc = &library->object[LTATTR_DESC],
                               *layout = &library->object[LTATTR_LAYOUT];
    const uint8_t *from = content->byte + desc->bytes;
    if (content->library != library ||
        !is_same(objects->desc, content->byte, desc->matters, desc->bytes))
        return false;
    for (int i = 0; i < LAYOUTS; i++, from += layout->bytes)
        if (!is_same(objects->layout[i], from, layout->matters, layout->bytes))
            return false;
    return pointers_set(library, objects->desc) == content->pointers;
}
