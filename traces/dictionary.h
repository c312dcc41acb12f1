/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader's dictionary. Ids in a file belong to one shard; here they are mapped to ids of this
 * reader, which are the same for the same content in every shard. What was defined in a lost frame
 * stays DICTIONARY_UNRESOLVED. Zero-initialise, then dictionary_init. One thread.
 */
#ifndef TILEWISE_TRACES_DICTIONARY_H
#define TILEWISE_TRACES_DICTIONARY_H

#include "traces/buffer.h"
#include "traces/intern.h"
#include "traces/signature.h"

#define DICTIONARY_UNRESOLVED UINT32_MAX

struct dictionary {
    struct intern strings, signatures;
    struct buffer string_ids, signature_ids; /* uint32_t: id in the shard -> id here */
    uint32_t signature_ids_equal;            /* up to here, every id in the shard is the id here */
};

enum status dictionary_init(struct dictionary *d);
void dictionary_free(struct dictionary *d);
/* Another shard follows: its ids have nothing to do with those before. */
void dictionary_begin_shard(struct dictionary *d);

/* Sections. FORMAT: malformed, or against an earlier definition. LIMIT, NOMEM. */
enum status dictionary_read_strings(struct dictionary *d, struct cursor *in);
enum status dictionary_read_signatures(struct dictionary *d, struct cursor *in);

/* DICTIONARY_UNRESOLVED for what is not known. */
uint32_t dictionary_string(const struct dictionary *d, uint64_t id_in_shard);
uint32_t dictionary_signature(const struct dictionary *d, uint64_t id_in_shard);
/* A string that can do without its definition: 0, the empty one, where that was lost. */
uint32_t dictionary_name(const struct dictionary *d, uint64_t id_in_shard);

#endif
