/* SPDX-License-Identifier: Apache-2.0
 *
 * The fake cuDNN's backend, as the real one was seen to behave (9.19): typed attributes, which may
 * be set before finalize and read after it; a graph that does not give its operations away; a plan
 * that tells everything as JSON. Descriptors' addresses are used again at once.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cudnn.h"

enum { NOT_INITIALIZED = 1001, BAD_PARAM = 2000, TOO_SMALL = 2006, NOT_SUPPORTED = 3000 };
enum { ATTRIBUTES = 12, ELEMENTS = 64, POOL = 1 << 16, TEXT = 1 << 17 };

struct attribute {
    int name, type;
    int64_t count;
    char *value;
};

struct descriptor {
    int type;
    bool is_final;
    struct attribute attribute[ATTRIBUTES];
    struct descriptor *next; /* free one */
};

static const size_t element_bytes[] = {
    [FAKE_DATA_TYPE] = 4,      [FAKE_BOOLEAN] = 1,        [FAKE_INT64] = 8, [FAKE_FLOAT] = 4,
    [FAKE_POINTWISE_MODE] = 4, [FAKE_DESCRIPTOR_PTR] = 8, [FAKE_CHAR] = 1,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct descriptor *free_ones;

static struct descriptor *allocate(void)
{
    pthread_mutex_lock(&lock);
    struct descriptor *d = free_ones;
    if (d)
        free_ones = d->next;
    pthread_mutex_unlock(&lock);
    return d ? d : malloc(sizeof *d);
}

int fake_cudnn_create(int type, void **out)
{
    struct descriptor *d = *out = allocate();
    *d = (struct descriptor){ .type = type };
    return 0;
}

int fake_cudnn_destroy(void *descriptor)
{
    struct descriptor *d = descriptor;
    for (int i = 0; i < ATTRIBUTES; i++)
        free(d->attribute[i].value);
    pthread_mutex_lock(&lock);
    d->next = free_ones;
    free_ones = d;
    pthread_mutex_unlock(&lock);
    return 0;
}

static const struct attribute *find(const struct descriptor *d, int name)
{
    for (int i = 0; i < ATTRIBUTES; i++)
        if (d->attribute[i].value && d->attribute[i].name == name)
            return &d->attribute[i];
    return NULL;
}

static struct descriptor *other(const struct descriptor *d, int name)
{
    const struct attribute *a = find(d, name);
    return a ? *(struct descriptor **)(void *)a->value : NULL;
}

int cudnnBackendSetAttribute(void *descriptor, int name, int type, int64_t count, const void *value)
{
    struct descriptor *d = descriptor;
    struct attribute *a = (struct attribute *)find(d, name);
    for (int i = 0; i < ATTRIBUTES && !a; i++)
        a = d->attribute[i].value ? NULL : &d->attribute[i];
    if (d->is_final || !a)
        return NOT_INITIALIZED;
    if (type == FAKE_DESCRIPTOR_PTR)
        for (int64_t i = 0; i < count; i++)
            if (!((struct descriptor *const *)value)[i]->is_final)
                return BAD_PARAM;
    size_t bytes = (size_t)count * element_bytes[type];
    free(a->value);
    *a = (struct attribute){ name, type, count, malloc(bytes + 1) };
    memcpy(a->value, value, bytes);
    return 0;
}

/* What a descriptor cannot be final without. */
int fake_cudnn_finalize(void *descriptor)
{
    static const int needs[][3] = {
        { FAKE_TENSOR, FAKE_TENSOR_DIMS, FAKE_TENSOR_STRIDES },
        { FAKE_GRAPH, FAKE_GRAPH_OPS, FAKE_GRAPH_OPS },
        { FAKE_ENGINE, FAKE_ENGINE_GRAPH, FAKE_ENGINE_GRAPH },
        { FAKE_CONFIG, FAKE_CONFIG_ENGINE, FAKE_CONFIG_ENGINE },
    };
    struct descriptor *d = descriptor;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i][0] == d->type && (!find(d, needs[i][1]) || !find(d, needs[i][2])))
            return BAD_PARAM;
    if (d->type == FAKE_PLAN && !find(d, FAKE_PLAN_CONFIG) && !find(d, FAKE_PLAN_JSON))
        return BAD_PARAM;
    d->is_final = true;
    return 0;
}

bool fake_cudnn_is_plan(const void *descriptor)
{
    const struct descriptor *d = descriptor;
    return d && d->type == FAKE_PLAN && d->is_final;
}

static const char *type_name(int type)
{
    static const char *const name[] = { "FLOAT", "DOUBLE", "HALF", "INT8", "INT32" };
    return type >= 0 && type < 5 ? name[type] : type == 9 ? "BFLOAT16" : "OF_THE_FUTURE";
}

static void print_list(FILE *out, const char *name, const struct attribute *a)
{
    fprintf(out, ",\"%s\":[", name);
    for (int64_t i = 0; a && i < a->count; i++)
        fprintf(out, "%s%lld", i ? "," : "", ((const long long *)(const void *)a->value)[i]);
    fprintf(out, "]");
}

static void print_type(FILE *out, const char *name, const struct attribute *a)
{
    if (a)
        fprintf(out, ",\"%s\":\"CUDNN_DATA_%s\"", name,
                type_name(*(const int *)(const void *)a->value));
}

static int64_t uid(const struct descriptor *tensor)
{
    const struct attribute *a = find(tensor, FAKE_TENSOR_UID);
    return a ? *(const int64_t *)(const void *)a->value : 0;
}

static void print_tensor(FILE *out, const struct descriptor *t)
{
    const struct attribute *is_virtual = find(t, FAKE_TENSOR_VIRTUAL);
    const struct attribute *vector = find(t, FAKE_TENSOR_VECTOR);
    fprintf(out, "{\"name\":\"%lld\"", (long long)uid(t));
    print_type(out, "dataType", find(t, FAKE_TENSOR_TYPE));
    print_list(out, "dim", find(t, FAKE_TENSOR_DIMS));
    print_list(out, "stride", find(t, FAKE_TENSOR_STRIDES));
    fprintf(out,
            ",\"isVirtual\":%s,\"isByValue\":false,\"vectCount\":%lld,\"vectDim\":-1,"
            "\"ptrAlignment\":16,\"reordering\":\"CUDNN_TENSOR_REORDERING_NONE\"}",
            is_virtual && *is_virtual->value ? "true" : "false",
            vector ? (long long)*(const int64_t *)(const void *)vector->value : 1);
}

static const char *pointwise_name(int mode)
{
    return mode == FAKE_ADD   ? "ADD"
           : mode == FAKE_EXP ? "EXP"
           : mode == FAKE_SUB ? "SUB"
           : mode == FAKE_DIV ? "DIV"
                              : "RELU_FWD";
}

/* What an operation takes from the descriptor of its manner. */
static void print_manner(FILE *out, const struct descriptor *manner)
{
    const struct attribute *mode = find(manner, FAKE_POINTWISE_HOW);
    if (mode)
        fprintf(out, ",\"pointwiseMode\":\"CUDNN_POINTWISE_%s\"",
                pointwise_name(*(const int *)(const void *)mode->value));
    if (manner->type == FAKE_CONVOLUTION) {
        print_list(out, "pad", find(manner, FAKE_CONV_PAD));
        print_list(out, "stride", find(manner, FAKE_CONV_STRIDE));
        print_list(out, "dilation", find(manner, FAKE_CONV_DILATION));
    }
    for (int i = 0; i < ATTRIBUTES; i++)
        if (manner->attribute[i].value && manner->attribute[i].type == FAKE_DATA_TYPE)
            print_type(out, "mathPrec", &manner->attribute[i]);
}

static const struct {
    int operation;
    const char *name;
} operations[] = {
#define X(id, number, name) { number, name },
    FAKE_OPERATION_LIST(X)
#undef X
};

static const struct {
    int attribute;
    const char *name;
} ports[] = {
#define X(id, number, name) { number, name },
    FAKE_PORT_LIST(X)
#undef X
};

static void print_operation(FILE *out, const struct descriptor *op)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (operations[i].operation == op->type)
            fprintf(out, "{\"operation\":\"CUDNN_BACKEND_OPERATION_%s_DESCRIPTOR\"",
                    operations[i].name);
    for (int i = 0; i < ATTRIBUTES; i++) {
        const struct attribute *a = &op->attribute[i];
        for (size_t p = 0; p < sizeof ports / sizeof *ports && a->value; p++) {
            const struct descriptor *d = other(op, a->name);
            if (ports[p].attribute != a->name)
                continue;
            if (d->type == FAKE_TENSOR)
                fprintf(out, ",\"%s\":\"%lld\"", ports[p].name, (long long)uid(d));
            else
                print_manner(out, d);
        }
    }
    fprintf(out, "}");
}

static void print_tensors(FILE *out, struct descriptor *const *op, int64_t ops)
{
    const struct descriptor *seen[ELEMENTS];
    int count = 0;
    for (int64_t o = 0; o < ops; o++)
        for (int i = 0; i < ATTRIBUTES; i++) {
            const struct descriptor *t =
                op[o]->attribute[i].value ? other(op[o], op[o]->attribute[i].name) : NULL;
            bool is_new = t && t->type == FAKE_TENSOR;
            for (int s = 0; s < count && is_new; s++)
                is_new = uid(seen[s]) != uid(t);
            if (!is_new || count == ELEMENTS)
                continue;
            fprintf(out, "%s", count ? "," : "");
            print_tensor(out, t);
            seen[count++] = t;
        }
}

static void print_plan(FILE *out, const struct descriptor *plan)
{
    const struct descriptor *graph =
        other(other(other(plan, FAKE_PLAN_CONFIG), FAKE_CONFIG_ENGINE), FAKE_ENGINE_GRAPH);
    const struct attribute *ops = find(graph, FAKE_GRAPH_OPS);
    struct descriptor *const *op = (struct descriptor *const *)(void *)ops->value;
    fprintf(out,
            "{\"cudnnVersion\":91900,\"schemaVersion\":4,\"operationGraph\":{\"finalizeMode\":"
            "\"ANY\"%s,\"tensors\":[",
            find(graph, FAKE_GRAPH_DYNAMIC) ? ",\"isDynamicShapeEnabled\":true" : "");
    print_tensors(out, op, ops->count);
    fprintf(out, "],\"nodes\":[");
    for (int64_t i = 0; i < ops->count; i++) {
        fprintf(out, "%s", i ? "," : "");
        print_operation(out, op[i]);
    }
    fprintf(out, "]},\"engine\":{\"engineId\":8,\"payload\":{\"cubin\":\"f0VM]}{\\\"\"}}}");
}

static int get_text(const struct descriptor *plan, int64_t most, int64_t *count, char *value)
{
    const struct attribute *own = find(plan, FAKE_PLAN_JSON);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (own)
        fwrite(own->value, 1, (size_t)own->count - 1, out);
    else
        print_plan(out, plan);
    fclose(out);
    *count = (int64_t)bytes + 1;
    bool fits = most >= *count;
    if (fits)
        memcpy(value, text, bytes + 1);
    free(text);
    return fits || most == 0 ? 0 : TOO_SMALL;
}

_Atomic int fake_cudnn_reads;

int cudnnBackendGetAttribute(const void *descriptor, int name, int type, int64_t most,
                             int64_t *count, void *value)
{
    const struct descriptor *d = descriptor;
    const struct attribute *a = find(d, name);
    fake_cudnn_reads += d->type != FAKE_PLAN;
    if (!d->is_final)
        return NOT_INITIALIZED;
    if (d->type == FAKE_PLAN && name == FAKE_PLAN_JSON && type == FAKE_CHAR)
        return get_text(d, most, count, value);
    if (!a || d->type == FAKE_GRAPH)
        return NOT_SUPPORTED;
    if (a->type != type || type == FAKE_DESCRIPTOR_PTR)
        return BAD_PARAM;
    *count = a->count;
    memcpy(value, a->value, (size_t)(most < a->count ? most : a->count) * element_bytes[a->type]);
    return 0;
}
