/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/causal_file.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/causal_streams.h"
#include "analysis/shape.h"
#include "traces/frame.h"

void causal_file_begin(struct causal_file *f, const char *path)
{
    f->path = path;
    f->pairs.size = 0;
}

void causal_file_free(struct causal_file *f)
{
    buffer_free(&f->pairs);
}

enum status causal_file_no_memory(const struct causal_file *f)
{
    return fault_set(f->fault, ST_NOMEM, "out of memory for the timeline");
}

static int by_id(const void *id, const void *shard)
{
    return frame_compare_shards(id, &((const struct summary_shard *)shard)->shard.id);
}

const struct summary_shard *causal_file_shard(const struct causal_file *f, const struct reader *r,
                                              uint32_t index)
{
    size_t count;
    const struct shard_id *id = &reader_shards(r, &count)[index].id;
    const struct summary_shard *found =
        bsearch(id, f->summary->shards, f->summary->nshards, sizeof *found, by_id);
    return found && strcmp(found->path, f->path) == 0 ? found : NULL;
}

static struct causal_pair groups_of(const struct causal_file *f, const struct tilewise_signature *s)
{
    struct causal_pair pair = { { CAUSAL_NO_GROUP, CAUSAL_NO_GROUP } };
    uint8_t dtype = shape_dtype(s);
    const char *shape_class = shape_class_name(s);
    for (uint32_t i = 0; i < f->ngroups; i++) {
        const struct causal_group *g = &f->groups[i];
        if (g->op != s->op || g->dtype != dtype)
            continue;
        if (!g->shape_class)
            pair.group[0] = i;
        else if (strcmp(g->shape_class, shape_class) == 0)
            pair.group[1] = i;
    }
    return pair;
}

enum status causal_file_enter(struct causal_file *f, const struct reader *r)
{
    size_t count, known = f->pairs.size / sizeof(struct causal_pair);
    const struct tilewise_signature *signatures = reader_signatures(r, &count);
    if (count > known && !buffer_reserve(&f->pairs, (count - known) * sizeof(struct causal_pair)))
        return causal_file_no_memory(f);
    for (; known < count; known++) {
        const struct causal_pair pair = groups_of(f, &signatures[known]);
        buffer_put(&f->pairs, &pair, sizeof pair);
    }
    return ST_OK;
}

const struct causal_pair *causal_file_pair(const struct causal_file *f, uint32_t signature)
{
    return (const struct causal_pair *)f->pairs.bytes + signature;
}
