/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/cudnn_graph.h"

#include <string.h>

#include "tracer/cudnn_dtype.h"

/* What an operation is to a graph. CONTEXT: at the edge of a product, seen in the hash only. */
enum part { CONTEXT, CONV, MATMUL, SDPA, PARTS };

enum { PORTS = 4, MATMULS = 5 }; /* attention has two products, its gradient five */

/* In place: no relocation. */
struct cudnn_operation {
    char name[28];
    uint8_t part;
    char port[PORTS][8];
};

static const struct cudnn_operation operations[] = {
#define ROW(name, part, ...) { #name, part, { __VA_ARGS__ } },
#include "tracer/cudnn_ops.def"
#undef ROW
};

const struct tilewise_signature cudnn_graph_shapeless = {
    .op = TILEWISE_OP_OTHER,
    .flags = TILEWISE_NOT_REPLAYABLE,
    .batch = 1,
};

static const char prefix[] = "CUDNN_BACKEND_OPERATION_", suffix[] = "_DESCRIPTOR";
static const char dtype_prefix[] = "CUDNN_DATA_";

static uint32_t mix(uint32_t hash, uint32_t value)
{
    return (hash ^ value) * 0x01000193u;
}

static uint32_t mix_text(uint32_t hash, struct json text)
{
    for (const char *at = text.at; at < text.end; at++)
        hash = mix(hash, (unsigned char)*at);
    return mix(hash, 0x100);
}

/* Without what stands before it; empty where something else does. */
static struct json behind(struct json text, const char *start)
{
    size_t bytes = strlen(start);
    bool starts = (size_t)(text.end - text.at) >= bytes && memcmp(text.at, start, bytes) == 0;
    return (struct json){ starts ? text.at + bytes : text.end, text.end };
}

static uint8_t dtype_of(struct json text)
{
    struct json name = behind(text, dtype_prefix);
#define X(number, id, word)                                                                        \
    if (json_is(name, word))                                                                       \
        return TILEWISE_##id;
    CUDNN_DTYPE_LIST(X)
#undef X
    return TILEWISE_UNKNOWN;
}

static const struct cudnn_operation *operation_of(struct json text)
{
    struct json name = behind(text, prefix);
    size_t tail = sizeof suffix - 1, bytes = (size_t)(name.end - name.at);
    if (bytes <= tail || memcmp(name.end - tail, suffix, tail) != 0)
        return NULL;
    name.end -= tail;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (json_is(name, operations[i].name))
            return &operations[i];
    return NULL;
}

static bool read_tensor(struct json text, struct cudnn_tensor *t)
{
    struct json_walk w = json_open(text);
    struct json name, value;
    int strides = -1;
    *t = (struct cudnn_tensor){ .rank = -1, .is_plain = true };
    while (json_member(&w, &name, &value)) {
        if (json_is(name, "name")) {
            t->name = value;
            continue;
        }
        t->hash = mix_text(mix_text(t->hash, name), value);
        if (json_is(name, "dataType"))
            t->dtype = dtype_of(value);
        else if (json_is(name, "dim"))
            t->rank = json_integers(value, t->size, CUDNN_GRAPH_RANK);
        else if (json_is(name, "stride"))
            strides = json_integers(value, t->stride, CUDNN_GRAPH_RANK);
        else if (json_is(name, "isVirtual"))
            t->is_virtual = json_is(value, "true");
        else if (json_is(name, "vectCount"))
            t->is_plain = json_is(value, "1");
    }
    for (int i = 0; i < t->rank; i++)
        t->is_plain = t->is_plain && t->size[i] > 0 && t->size[i] <= INT32_MAX;
    return t->name.at && strides == t->rank;
}

static bool read_tensors(struct cudnn_graph *g, struct json array)
{
    struct json_walk w = json_open(array);
    struct json text;
    for (; json_element(&w, &text); g->tensors++)
        if (g->tensors == CUDNN_GRAPH_TENSORS || !read_tensor(text, &g->tensor[g->tensors]))
            return false;
    return g->tensors > 0 && w.at == w.end;
}

static bool read_nodes(struct cudnn_graph *g, struct json array)
{
    struct json_walk w = json_open(array);
    struct json text, name;
    for (; json_element(&w, &text); g->nodes++) {
        if (g->nodes == CUDNN_GRAPH_NODES || !json_find(text, "operation", &name))
            return false;
        g->node[g->nodes] = (struct cudnn_node){ text, operation_of(name) };
    }
    return g->nodes > 0 && w.at == w.end;
}

static bool read_graph(struct cudnn_graph *g, struct json plan)
{
    struct json graph, tensors, nodes, dynamic;
    g->tensors = g->nodes = g->numbers = 0;
    if (!json_find(plan, "operationGraph", &graph) || !json_find(graph, "tensors", &tensors) ||
        !json_find(graph, "nodes", &nodes))
        return false;
    g->is_dynamic =
        json_find(graph, "isDynamicShapeEnabled", &dynamic) && !json_is(dynamic, "false");
    return read_tensors(g, tensors) && read_nodes(g, nodes);
}

static struct cudnn_tensor *find_tensor(struct cudnn_graph *g, struct json name)
{
    for (int i = 0; i < g->tensors; i++)
        if (json_same(g->tensor[i].name, name))
            return &g->tensor[i];
    return NULL;
}

static uint32_t hash_node(struct cudnn_graph *g, const struct cudnn_node *node, uint32_t hash)
{
    struct json_walk w = json_open(node->text);
    struct json name, value;
    while (json_member(&w, &name, &value)) {
        struct cudnn_tensor *t = find_tensor(g, value);
        if (t && !t->number)
            t->number = ++g->numbers;
        hash = mix_text(hash, name);
        hash = t ? mix(mix(hash, t->hash), t->number) : mix_text(hash, value);
    }
    return hash;
}

/* The tensor at a port that the table names, with `rank` or more dimensions; NULL else. */
static const struct cudnn_tensor *port(struct cudnn_graph *g, const struct cudnn_node *node,
                                       int number, int rank)
{
    struct json name;
    if (!json_find(node->text, node->operation->port[number], &name))
        return NULL;
    const struct cudnn_tensor *t = find_tensor(g, name);
    return t && t->is_plain && t->rank >= rank ? t : NULL;
}

/* 0 where it cannot be said. */
static int64_t product(const struct cudnn_tensor *t, int from, int to)
{
    int64_t result = 1;
    for (int i = from; i < to; i++)
        result = t->size[i] > 0 && result <= INT64_MAX / t->size[i] ? result * t->size[i] : 0;
    return result;
}

/* Size number `back` from the last. */
static int64_t last(const struct cudnn_tensor *t, int back)
{
    return t->size[t->rank - 1 - back];
}

static void set_batch(struct tilewise_signature *key, int64_t batch)
{
    key->batch = batch;
    key->batch_kind = batch == 1 ? TILEWISE_BATCH_NONE : TILEWISE_BATCH_STRIDED;
}

static uint8_t compute_of(const struct cudnn_node *node)
{
    struct json precision;
    return json_find(node->text, "mathPrec", &precision) ? dtype_of(precision) : TILEWISE_NONE;
}

/* What leaves the graph, where `t` is only a step on the way. */
static uint8_t stored_as(const struct cudnn_graph *g, const struct cudnn_tensor *t)
{
    struct json name;
    if (t->is_virtual && json_find(g->node[g->nodes - 1].text, "Y", &name))
        for (int i = 0; i < g->tensors; i++)
            if (json_same(g->tensor[i].name, name))
                return g->tensor[i].dtype;
    return t->dtype;
}

static bool set_conv(struct cudnn_graph *g, const struct cudnn_node *node,
                     struct tilewise_signature *key)
{
    const struct cudnn_tensor *image = port(g, node, 0, 3), *filter = port(g, node, 1, 3),
                              *result = port(g, node, 2, 3);
    if (!image || !filter || !result || filter->size[1] <= 0)
        return false;
    int64_t groups = image->size[1] / filter->size[1];
    if (groups < 1 || image->size[1] % filter->size[1] || filter->size[0] % groups)
        return false;
    key->op = TILEWISE_OP_CONV;
    key->m = filter->size[0] / groups;
    key->n = product(result, 2, result->rank);
    key->k = product(filter, 1, filter->rank);
    set_batch(key, result->size[0] * groups);
    key->dtype_a = filter->dtype;
    key->dtype_b = image->dtype;
    key->dtype_c = key->dtype_d = stored_as(g, result);
    key->compute = compute_of(node);
    return true;
}

/* Whether rows or columns lie together; false for neither. */
static bool lies(const struct cudnn_tensor *t, uint8_t *trans, int64_t *ld)
{
    const int64_t *row = &t->stride[t->rank - 2], *column = &t->stride[t->rank - 1];
    *trans = *column == 1 ? TILEWISE_N : TILEWISE_T;
    *ld = *column == 1 ? *row : *column;
    return *column == 1 || *row == 1;
}

static bool set_gemm(struct cudnn_graph *g, const struct cudnn_node *node,
                     struct tilewise_signature *key)
{
    const struct cudnn_tensor *a = port(g, node, 0, 2), *b = port(g, node, 1, 2),
                              *c = port(g, node, 2, 2);
    uint8_t turned;
    if (!a || !b || !c || !lies(a, &key->trans_a, &key->lda) ||
        !lies(b, &key->trans_b, &key->ldb) || !lies(c, &turned, &key->ldc) || turned)
        return false;
    key->op = TILEWISE_OP_GEMM;
    key->layout = TILEWISE_ROW_MAJOR;
    key->ldd = key->ldc;
    key->m = last(c, 1);
    key->n = last(c, 0);
    key->k = last(a, 0);
    set_batch(key, product(c, 0, c->rank - 2));
    if (key->batch_kind == TILEWISE_BATCH_STRIDED) {
        key->stride_a = a->rank > 2 ? a->stride[a->rank - 3] : 0;
        key->stride_b = b->rank > 2 ? b->stride[b->rank - 3] : 0;
        key->stride_c = key->stride_d = c->stride[c->rank - 3];
    }
    key->alpha = TILEWISE_SCALAR_ONE;
    key->dtype_a = a->dtype;
    key->dtype_b = b->dtype;
    key->dtype_c = key->dtype_d = stored_as(g, c);
    key->compute = compute_of(node);
    return true;
}

struct attention {
    const struct cudnn_tensor *q, *k, *v, *o;
    int64_t keys;
};

static bool set_attention(struct tilewise_signature *key, const struct attention *a)
{
    key->op = TILEWISE_OP_ATTENTION;
    key->m = last(a->q, 1);
    key->n = a->keys;
    key->k = last(a->q, 0);
    set_batch(key, product(a->q, 0, a->q->rank - 2));
    key->dtype_a = a->q->dtype;
    key->dtype_b = a->k->dtype;
    key->dtype_c = a->v->dtype;
    key->dtype_d = a->o->dtype;
    return true;
}

/* One operation. Keys in pages lie in a container whose sizes say nothing. */
static bool set_sdpa(struct cudnn_graph *g, const struct cudnn_node *node,
                     struct tilewise_signature *key)
{
    struct json pages;
    struct attention a = { port(g, node, 0, 3), port(g, node, 1, 3), port(g, node, 2, 3),
                           port(g, node, 3, 3), 0 };
    if (!a.q || !a.k || !a.v || !a.o || a.q->size[0] != a.k->size[0] ||
        json_find(node->text, "pageTableK", &pages))
        return false;
    a.keys = last(a.k, 1);
    return set_attention(key, &a);
}

static bool same_sizes(const struct cudnn_tensor *a, const struct cudnn_tensor *b)
{
    return a->rank == b->rank && memcmp(a->size, b->size, (size_t)a->rank * sizeof *a->size) == 0;
}

static bool has_exponential(const struct cudnn_graph *g)
{
    struct json mode;
    for (int i = 0; i < g->nodes; i++)
        if (json_find(g->node[i].text, "pointwiseMode", &mode) &&
            json_is(mode, "CUDNN_POINTWISE_EXP"))
            return true;
    return false;
}

/* Products with a softmax between them: forward, scores = Q K and then scores V; the gradient
 * makes the scores again, and their gradient, which is of the same size. */
static bool set_products(struct cudnn_graph *g, const struct cudnn_node **matmul, int count,
                         struct tilewise_signature *key)
{
    bool is_gradient = count == MATMULS, fits = false;
    const struct cudnn_tensor *q = port(g, matmul[0], 0, 3), *k = port(g, matmul[0], 1, 3),
                              *scores = port(g, matmul[0], 2, 3);
    if (!q || !k || !scores || !scores->is_virtual || !has_exponential(g))
        return false;
    for (int i = 1; i < count; i++) {
        const struct cudnn_tensor *left = port(g, matmul[i], 0, 3),
                                  *t = is_gradient ? port(g, matmul[i], 2, 3) : left;
        bool is_like = left && t && same_sizes(t, scores);
        /* Either may come first: where heads of keys and values differ in width, which is which? */
        if (is_like && is_gradient && last(left, 0) != last(q, 0))
            return false;
        fits = fits || is_like;
    }
    struct attention a = { q, k, q, q, last(k, 0) };
    if (!is_gradient) {
        a.v = port(g, matmul[1], 1, 3);
        a.o = port(g, matmul[1], 2, 3);
    }
    key->compute = compute_of(matmul[0]);
    return fits && a.v && a.o && set_attention(key, &a);
}

static bool set_shape(struct cudnn_graph *g, struct tilewise_signature *key)
{
    const struct cudnn_node *matmul[MATMULS] = { NULL }, *main = NULL;
    int of[PARTS] = { 0 };
    for (int i = 0; i < g->nodes; i++) {
        const struct cudnn_node *n = &g->node[i];
        if (!n->operation)
            return false;
        uint8_t part = n->operation->part;
        if (part != CONTEXT)
            main = n;
        if (part == MATMUL && of[MATMUL] < MATMULS)
            matmul[of[MATMUL]] = n;
        of[part]++;
    }
    int mains = of[CONV] + of[SDPA] + of[MATMUL];
    if (mains == 1)
        return of[CONV]   ? set_conv(g, main, key)
               : of[SDPA] ? set_sdpa(g, main, key)
                          : set_gemm(g, main, key);
    bool is_attention = mains == of[MATMUL] && (mains == 2 || mains == MATMULS);
    return is_attention && set_products(g, matmul, mains, key);
}

void cudnn_graph_read(struct cudnn_graph *g, struct json plan, struct tilewise_signature *key)
{
    struct tilewise_signature shaped = cudnn_graph_shapeless;
    *key = cudnn_graph_shapeless;
    if (!read_graph(g, plan))
        return;
    uint32_t hash = 0x811c9dc5u;
    for (int i = 0; i < g->nodes; i++)
        hash = hash_node(g, &g->node[i], hash);
    if (!g->is_dynamic && set_shape(g, &shaped))
        *key = shaped;
    key->flags |= (uint16_t)((hash >> 13 & 0xff) << TILEWISE_OTHER_SHIFT);
}
