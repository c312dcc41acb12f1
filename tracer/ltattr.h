/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the descriptors of cublasLtMatmul. They are opaque, are made anew for every call by many
 * hosts, and a getter call per attribute would cost more than all else that a hook does. So once
 * per library we learn from its own setters where each attribute lies, and prove it; then reading
 * is loads. Bytes that belong to no attribute we know must have the value that they have in a fresh
 * descriptor: otherwise something was set that we do not know. Where the proof fails, and for
 * descriptors of an older layout (they begin with another mark), the getters are asked.
 */
#ifndef TILEWISE_TRACER_LTATTR_H
#define TILEWISE_TRACER_LTATTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ltattr_kind { LTATTR_DESC, LTATTR_LAYOUT, LTATTR_KINDS };

/* One numbering for all: LTATTR_DESC_EPILOGUE, LTATTR_LAYOUT_ROWS, ... */
enum ltattr {
#define LTATTR(kind, name, number, bytes, without) LTATTR_##kind##_##name,
#include "tracer/ltattr.def"
#undef LTATTR
    LTATTR_COUNT
};

enum { LTATTR_BYTES = 512, LTATTR_NUMBERS = 64, LTATTR_STRANGERS = 8, LTATTR_CONTENT = 768 };

typedef int ltattr_get(const void *object, int number, void *value, size_t bytes, size_t *written);

/* An attribute that the library has and we do not know. */
struct ltattr_stranger {
    uint8_t number, bytes;
    uint64_t fresh;
};

struct ltattr_object {
    ltattr_get *get;
    bool is_learned;
    uint32_t bytes;                     /* of an object, as far as a fresh one is written */
    uint8_t fresh[LTATTR_BYTES];        /* a fresh object */
    uint8_t no_attribute[LTATTR_BYTES]; /* 0xff: a byte of `fresh` that no attribute explains */
    uint8_t matters[LTATTR_BYTES];      /* 0xff: a byte of which the value matters */
    uint32_t nstrangers;
    struct ltattr_stranger stranger[LTATTR_STRANGERS];
};

/* What was learned of one loaded cuBLASLt. */
struct ltattr_library {
    struct ltattr_object object[LTATTR_KINDS];
    uint16_t offset[LTATTR_COUNT]; /* in the object, where its kind is learned */
    bool exists[LTATTR_COUNT];
    bool is_open; /* both kinds are learned, and fit into a struct ltattr_content */
};

/* The descriptors of one call. */
struct ltattr_objects {
    const void *desc, *layout[4];
};

/* What they say, as bytes: where it is the same, ltattr_read's values are the same, but for
 * pointers, of which it matters whether they are set. */
struct ltattr_content {
    const struct ltattr_library *library; /* NULL: nothing is kept */
    uint64_t pointers;
    _Alignas(16) uint8_t byte[LTATTR_CONTENT];
};

/* Learn the library that the function at `real` lives in. Calls its functions on objects of ours.
 */
void ltattr_learn(struct ltattr_library *library, const void *real);

/* Values of all attributes of `kind` of an object, into value[enum ltattr]. False: something is set
 * that we do not know. */
bool ltattr_read(const struct ltattr_library *library, enum ltattr_kind kind, const void *object,
                 int64_t value[LTATTR_COUNT]);

/* May they be read as bytes? Only then for the next three. */
bool ltattr_are_open(const struct ltattr_library *library, const struct ltattr_objects *objects);
/* Of some values that calls differ in. */
uint64_t ltattr_hash(const struct ltattr_library *library, const struct ltattr_objects *objects);
void ltattr_keep(const struct ltattr_library *library, const struct ltattr_objects *objects,
                 struct ltattr_content *out);
bool ltattr_is_kept(const struct ltattr_library *library, const struct ltattr_objects *objects,
                    const struct ltattr_content *content);

#endif
