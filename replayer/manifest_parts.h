/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readers of a manifest share: rows for the tables of traces/schema.h, and the list of
 * modules.
 */
#ifndef TILEWISE_REPLAYER_MANIFEST_PARTS_H
#define TILEWISE_REPLAYER_MANIFEST_PARTS_H

#include "replayer/manifest.h"
#include "traces/schema.h"

/* clang-format off */
#define OWN(key, place, function, ...)                                                             \
    { .name = key, .type = SCHEMA_OWN, .value = place, .parse = function, __VA_ARGS__ }
#define TEXT(key, place, ...)                                                                      \
    { .name = key, .type = SCHEMA_TEXT, .value = place, __VA_ARGS__ }
#define WORD(key, place, words, ...)                                                               \
    { .name = key, .type = SCHEMA_WORD, .value = place, .choices = words, __VA_ARGS__ }
#define LIST(key, table, function, data, ...)                                                      \
    { .name = key, .type = SCHEMA_LIST, .fields = table, .take = function, .context = data,        \
      __VA_ARGS__ }
#define ELEMENT(id, ...) static const struct schema_field id[] = { __VA_ARGS__, { 0 } }
/* clang-format on */

/* A copy with room for a byte more; NULL: no memory. */
void *manifest_copy(const void *data, size_t count, size_t bytes);
enum status manifest_no_memory(struct fault *fault);

/* Behind an element that its parser keeps. */
schema_take manifest_take_nothing;

/* The list of modules: read into `m`, which draws on one draft. */
extern const struct schema_field manifest_module_fields[];
schema_take manifest_take_module;
void manifest_begin_modules(struct manifest *m);
void manifest_drop_module(void); /* what was being read when the file was refused */
void manifest_free_module(struct cubin_module *module);

#endif
