/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a plan, whole, cut short and damaged: as cuDNN 9.19 wrote it, but for what stands
 * behind the graph.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/cudnn_graph.h"
#include "tracer/cudnn_plans.h"

#define TENSOR(name, size, stride, is_virtual)                                                     \
    "{\"name\":\"" name "\",\"dataType\":\"CUDNN_DATA_HALF\",\"dim\":" size ",\"stride\":" stride  \
    ",\"isVirtual\":" is_virtual ",\"isByValue\":false,\"vectCount\":1,\"vectDim\":-1,"            \
    "\"ptrAlignment\":16,\"reordering\":\"CUDNN_TENSOR_REORDERING_NONE\"}"
#define PLAN(tensors, nodes)                                                                       \
    "{\"cudnnVersion\":91900,\"schemaVersion\":4,\"operationGraph\":{\"finalizeMode\":"            \
    "\"CONV_FORWARD\",\"tensors\":[" tensors "],\"nodes\":[" nodes "]},\"GPUProfile\":{"           \
    "\"maxGridSize\":[2147483647,65535,65535]},\"engine\":{\"engineId\":62}}"
#define CONV(pad)                                                                                  \
    PLAN(TENSOR("119", "[128,64,3,3]", "[576,9,3,1]", "false") "," TENSOR(                         \
             "120", "[8,64,56,56]", "[200704,3136,56,1]",                                          \
             "false") "," TENSOR("121", "[8,128,56,56]", "[401408,3136,56,1]", "false"),           \
         "{\"operation\":\"CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR\",\"mode\":"     \
         "\"CUDNN_CROSS_CORRELATION\",\"mathPrec\":\"CUDNN_DATA_FLOAT\",\"alpha\":1.0,\"beta\":"   \
         "0.0,\"pad\":" pad                                                                        \
         ",\"stride\":[1,1],\"dilation\":[1,1],\"X\":\"120\",\"W\":\"119\",\"Y\":\"121\"}")

/* A copy that ends where the text ends, so that reading on is seen by a sanitizer. */
static struct tilewise_signature read_bytes(const char *text, size_t bytes)
{
    struct cudnn_graph *graph = malloc(sizeof *graph);
    char *copy = malloc(bytes ? bytes : 1);
    struct tilewise_signature key;
    memcpy(copy, text, bytes);
    cudnn_graph_read(graph, (struct json){ copy, copy + bytes }, &key);
    free(copy);
    free(graph);
    return key;
}

static struct tilewise_signature read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

Test(cudnn_graph, a_convolution)
{
    struct tilewise_signature s = read_text(CONV("[1,1]")), other = read_text(CONV("[0,0]"));
    cr_assert_eq(s.op, TILEWISE_OP_CONV);
    cr_assert(s.m == 128 && s.n == 3136 && s.k == 576 && s.batch == 8);
    cr_assert(s.flags & TILEWISE_NOT_REPLAYABLE);
    cr_assert_neq(s.flags, other.flags, "another padding is another row");
}

Test(cudnn_graph, text_that_ends_early_has_no_shape)
{
    const char *text = CONV("[1,1]");
    size_t graph_ends = (size_t)(strstr(text, "]},\"GPU") - text) + 2;
    for (size_t i = 0; i < strlen(text); i++)
        cr_assert_eq(read_bytes(text, i).op == TILEWISE_OP_CONV, i > graph_ends, "%zu", i);
}

Test(cudnn_graph, damaged_text_is_read_to_its_end_and_no_further)
{
    const char *text = CONV("[1,1]"), damage[] = "{}[]\",:\\0-x";
    size_t bytes = strlen(text);
    char *copy = strdup(text);
    for (size_t i = 0; i < bytes; i++)
        for (const char *d = damage; *d; d++) {
            copy[i] = *d;
            struct tilewise_signature s = read_bytes(copy, bytes);
            cr_assert(s.m >= 0 && s.n >= 0 && s.k >= 0);
            copy[i] = text[i];
        }
    free(copy);
}

Test(cudnn_graph, sizes_that_are_none)
{
    const char *const size[] = { "[8,64,56]",    "[8,64,56,56,1,1,1,1,1]",
                                 "[8,63,56,56]", "[8,64,56,99999999999999999999]",
                                 "[]",           "64" };
    const char *text = CONV("[1,1]"), *at = strstr(text, "[8,64,56,56]");
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        char changed[4096];
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, size[i],
                 at + strlen("[8,64,56,56]"));
        cr_assert_eq(read_text(changed).op, TILEWISE_OP_OTHER, "%s", size[i]);
    }
}

static char many[CUDNN_GRAPH_NODES * 512];

Test(cudnn_graph, too_many_tensors)
{
    char *at = many + sprintf(many, "{\"operationGraph\":{\"tensors\":[");
    for (int i = 0; i <= CUDNN_GRAPH_TENSORS; i++)
        at += sprintf(at, "%s{\"name\":\"%d\",\"dim\":[1],\"stride\":[1]}", i ? "," : "", i);
    sprintf(at, "],\"nodes\":[{\"operation\":\"X\"}]}}");
    cr_assert_eq(read_text(many).op, TILEWISE_OP_OTHER);
}

Test(cudnn_plans, a_full_place_refuses_and_forgets)
{
    enum { PLANS = 20000 };
    struct tilewise_signature key = { .op = TILEWISE_OP_CONV }, found;
    int kept = 0, wrong = 0;
    for (uintptr_t i = 1; i <= PLANS; i++) {
        key.m = (int64_t)i;
        cudnn_plans_put((void *)(i * 64), &key);
    }
    for (uintptr_t i = 1; i <= PLANS; i++)
        if (cudnn_plans_get((void *)(i * 64), &found)) {
            kept++;
            wrong += found.m != (int64_t)i;
            cudnn_plans_forget((void *)(i * 64));
            wrong += cudnn_plans_get((void *)(i * 64), &found);
        }
    cr_assert(kept > 4096 && kept <= 8192, "%d", kept);
    cr_assert_eq(wrong, 0);
    cr_assert_not(cudnn_plans_get(NULL, &found));
}

static uint64_t number_of(const void *plan)
{
    struct tilewise_signature key;
    return cudnn_plans_get(plan, &key);
}

Test(cudnn_plans, a_number_is_of_one_plan_as_it_is_known_once)
{
    struct tilewise_signature key = { .op = TILEWISE_OP_CONV };
    char plans[64];
    void *plan = plans, *other = plans + 32;
    cr_assert_not(cudnn_plans_may_know(plan));
    cudnn_plans_put(plan, &key);
    cudnn_plans_put(other, &key);
    uint64_t first = number_of(plan), others = number_of(other);
    cr_assert(first && others && first != others && cudnn_plans_may_know(plan));
    cudnn_plans_put(plan, &key);
    uint64_t second = number_of(plan);
    cr_assert(second && second != first && second != others);
    cudnn_plans_forget(plan);
    cr_assert_eq(number_of(plan), 0);
    cudnn_plans_put(plan, &key);
    cr_assert(number_of(plan) > second);
    cr_assert_eq(number_of(other), others);
}

/* Where a plan lay that was destroyed, hosts make descriptors for each execution. */
Test(cudnn_plans, what_is_known_of_an_address_ends_with_the_plan)
{
    enum { PLANS = 20000 };
    struct tilewise_signature key = { .op = TILEWISE_OP_CONV };
    for (uintptr_t i = 1; i <= PLANS; i++) {
        void *plan = (void *)(i * 48);
        cudnn_plans_put(plan, &key); /* created, then finalized */
        cudnn_plans_put(plan, &key);
        cr_assert(cudnn_plans_may_know(plan), "%zu", (size_t)i);
        cudnn_plans_forget(plan);
        cudnn_plans_forget(plan); /* as a host may, whose plan found no place */
        cr_assert_not(cudnn_plans_may_know(plan), "%zu", (size_t)i);
    }
    char plans[2];
    void *plan = plans;
    atomic_store(&cudnn_plans_known[cudnn_plans_hash(plan, PASS_PLAN_KNOWN_BITS)], UINT8_MAX - 1);
    cudnn_plans_put(plan, &key);
    cudnn_plans_forget(plan);
    cr_assert(cudnn_plans_may_know(plan), "so many that they are no longer counted");
}

/* Its number, as pass_entry.S reads it; 0: both places are other plans'. */
static uint64_t near_number_of(const void *plan)
{
    for (int other = 0; other < 2; other++) {
        const struct cudnn_plans_place *p = cudnn_plans_near_of(plan, other);
        if (p->name == (uintptr_t)plan)
            return p->number;
    }
    return 0;
}

/* Plans of every address: each number at a glance is its plan's, and a place that was left is free.
 */
Test(cudnn_plans, the_first_ones_are_found_at_a_glance)
{
    enum { PLANS = 300, PLACES = 1 << PASS_PLAN_BITS };
    struct tilewise_signature key = { .op = TILEWISE_OP_CONV };
    for (int again = 0; again < 3; again++) {
        int near = 0;
        for (uintptr_t i = 1; i <= PLANS; i++) {
            cudnn_plans_put((void *)(i * 208), &key); /* created, then finalized */
            cudnn_plans_put((void *)(i * 208), &key);
        }
        for (uintptr_t i = 1; i <= PLANS; i++) {
            const void *plan = (void *)(i * 208);
            uint64_t number = near_number_of(plan);
            near += number != 0;
            cr_assert(number == 0 || number == number_of(plan), "plan %zu", (size_t)i);
        }
        cr_assert(near > PLACES * 3 / 4 && near <= PLACES, "%d", near);
        for (uintptr_t i = 1; i <= PLANS; i++) {
            cudnn_plans_forget((void *)(i * 208));
            cr_assert_eq(near_number_of((void *)(i * 208)), 0);
            const void *plan =
                (void *)((i + 1) * 208); /* in its own place, though one is free now */
            cudnn_plans_put(plan, &key);
            cr_assert(near_number_of(plan) == 0 || near_number_of(plan) == number_of(plan));
        }
        cudnn_plans_forget((void *)((PLANS + 1) * 208));
    }
}

/* The writer asks for a plan that was destroyed meanwhile. */
Test(cudnn_plans, what_a_number_was_of)
{
    struct tilewise_signature key = { .m = 7 }, other = { .m = 8 }, got;
    int plan = 0;
    cudnn_plans_put(&plan, &key);
    uint64_t number = number_of(&plan);
    cudnn_plans_forget(&plan);
    cudnn_plans_put(&plan, &other);
    cr_assert(cudnn_plans_key(number, &got));
    cr_assert_eq(got.m, 7);
    cr_assert(cudnn_plans_key(number_of(&plan), &got));
    cr_assert_eq(got.m, 8);
    cr_assert(!cudnn_plans_key(0, &got));
    cr_assert(!cudnn_plans_key(number + CUDNN_PLANS_NUMBERS, &got));
    for (int i = 0; i < CUDNN_PLANS_NUMBERS; i++)
        cudnn_plans_put(&plan, &other);
    cr_assert(!cudnn_plans_key(number, &got), "too many came since");
}
