/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/match.h"

#include <stdlib.h>
#include <string.h>

/* Results are found by signature and name of the entry point. */
struct indexed {
    struct tilewise_signature signature; /* entry 0 */
    const char *entry;
    const struct result_case *row;
};

static int by_signature(const void *a, const void *b)
{
    const struct indexed *x = a, *y = b;
    int order = memcmp(&x->signature, &y->signature, sizeof x->signature);
    return order ? order : strcmp(x->entry, y->entry);
}

static int by_signature_then_place(const void *a, const void *b)
{
    const struct indexed *x = a, *y = b;
    int order = by_signature(a, b);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Sorted, each case once: of several measurements of one shape the last one counts. */
static struct indexed *index_results(const struct result_set *set, size_t *count)
{
    struct indexed *index = calloc(set->ncases + 1, sizeof *index);
    *count = 0;
    if (!index)
        return NULL;
    for (size_t i = 0; i < set->ncases; i++) {
        const struct result_case *row = &set->cases[i];
        index[i] = (struct indexed){ row->signature, row->entry ? row->entry : "", row };
        index[i].signature.entry = 0;
    }
    qsort(index, set->ncases, sizeof *index, by_signature_then_place);
    for (size_t i = 0; i < set->ncases; i++)
        if (i + 1 == set->ncases || by_signature(&index[i], &index[i + 1]) != 0)
            index[(*count)++] = index[i];
    return index;
}

const char *match_entry(const struct summary *s, const struct tilewise_signature *signature)
{
    return signature->entry < s->nstrings ? s->strings[signature->entry] : "";
}

bool match_is_on_gpu(const struct summary *s, const struct tilewise_signature *signature)
{
    static const char *const families[] = { "cublas", "cudnn", "nccl" };
    const char *entry = match_entry(s, signature);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strncmp(entry, families[i], strlen(families[i])) == 0)
            return true;
    return false;
}

bool match_has_gpu(const struct result_set *results)
{
    for (size_t i = 0; i < results->nruns; i++)
        if (results->runs[i].backend && strcmp(results->runs[i].backend, "cuda") == 0)
            return true;
    return false;
}

enum status match_results(const struct result_case ***out, size_t *elsewhere,
                          const struct summary *s, const struct result_set *results)
{
    bool on_processors = results->nruns && !match_has_gpu(results);
    size_t cases;
    *elsewhere = 0;
    struct indexed *index = index_results(results, &cases);
    const struct result_case **rows = *out = calloc(s->nsignatures + 1, sizeof *rows);
    for (size_t i = 0; i < s->nsignatures && index && rows; i++) {
        struct indexed wanted = { .signature = s->signatures[i].signature };
        wanted.entry = match_entry(s, &wanted.signature);
        wanted.signature.entry = 0;
        const struct indexed *found = bsearch(&wanted, index, cases, sizeof *index, by_signature);
        bool is_elsewhere =
            found && on_processors && match_is_on_gpu(s, &s->signatures[i].signature);
        *elsewhere += is_elsewhere;
        rows[i] = found && !is_elsewhere ? found->row : NULL;
    }
    bool good = index && rows;
    free(index);
    return good ? ST_OK : ST_NOMEM;
}
