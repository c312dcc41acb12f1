/* SPDX-License-Identifier: Apache-2.0
 *
 * The hooks of pass_entry.S beside a recorder that is all in this file, and journals.
 */
#include <criterion/criterion.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/cublas.h"
#include "tracer/cudnn.h"
#include "tracer/cudnn_plans.h"
#include "tracer/gpu.h"
#include "tracer/handle.h"
#include "tracer/journal.h"
#include "tracer/slot.h"
#include "tracer/tap.h"

/* What the hooks look at. */
__thread struct tap_self tap_self __attribute__((tls_model("initial-exec")));
HOT_DATA _Atomic int tap_state = TAP_RECORDING;
HOT_DATA _Atomic uint32_t tap_epoch = 1, graph_captures;
HOT_DATA int64_t tap_self_offset;
HOT_DATA _Atomic bool cupti_is_due;
HOT_DATA struct handle_entry handle_near[1 << HANDLE_NEAR_BITS];
HOT_DATA struct cudnn_plans_place cudnn_plans_near[1 << PASS_PLAN_BITS];
HOT_DATA _Atomic uint8_t cudnn_plans_known[1 << PASS_PLAN_KNOWN_BITS];
HOT_DATA struct slot_caller slot_first[SLOT_COUNT];

enum { WORDS = 23, REFUSED = 13, HOOKED = 77 };

typedef int any(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

/* What was called, and with what. */
static int hooked, failed, launched, plans_launched, called, answer;
static const void *failed_caller;
static const struct journal_call *launched_call;
static uint64_t got[WORDS];
static uint8_t phase_inside;
static bool launches, forks, walks, is_aligned, is_walked;

#define ROW(family, symbol, I, E)                                                                  \
    cublasStatus_t symbol(family##_PARAMS(I, E));                                                  \
    cublasStatus_t hook_##symbol(family##_PARAMS(I, E));                                           \
    cublasStatus_t hook_##symbol(family##_PARAMS(I, E))                                            \
    {                                                                                              \
        hooked++;                                                                                  \
        return (cublasStatus_t)HOOKED;                                                             \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "tracer/cublas.def"
#undef ROW
#define ROW(family, symbol)                                                                        \
    unsigned symbol(family##_PARAMS);                                                              \
    unsigned hook_##symbol(family##_PARAMS);                                                       \
    unsigned hook_##symbol(family##_PARAMS)                                                        \
    {                                                                                              \
        hooked++;                                                                                  \
        return HOOKED;                                                                             \
    }
#include "tracer/cublas_state.def"
#include "tracer/cudnn_plan.def"
#include "tracer/cudnn_state.def"
#pragma GCC diagnostic pop
#undef ROW

void cublas_launched(const struct journal_call *call)
{
    launched++;
    launched_call = call;
    tap_self.phase = TAP_OUTSIDE;
}

void cudnn_plan_launched(const struct journal_call *call)
{
    plans_launched++;
    launched_call = call;
    tap_self.phase = TAP_OUTSIDE;
}

void tap_fail(const void *caller)
{
    failed++;
    failed_caller = caller;
    tap_self.phase = TAP_OUTSIDE;
}

static __attribute__((noinline)) int call_first(void);

/* Does the way back through the hook lead to who called it? */
static bool walk(void)
{
    enum { CALL_BYTES = 512 };
    void *frame[16];
    bool found = false;
    for (int i = backtrace(frame, 16) - 1; i >= 0; i--)
        found |= (uintptr_t)frame[i] - (uintptr_t)call_first < CALL_BYTES;
    return found;
}

static int real(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l, uint64_t m, uint64_t n,
                uint64_t o, uint64_t p, uint64_t q, uint64_t r, uint64_t s, uint64_t t, uint64_t u,
                uint64_t v, uint64_t w)
{
    const uint64_t words[WORDS] = { a, b, c, d, e, f, g, h, i, j, k, l,
                                    m, n, o, p, q, r, s, t, u, v, w };
    memcpy(got, words, sizeof got);
    called++;
    phase_inside = tap_self.phase;
    /* The frame's address is two words below the arguments on the stack. */
    is_aligned = (uintptr_t)__builtin_frame_address(0) % 16 == 0;
    tap_self.gpu_call = launches ? 5 : tap_self.gpu_call;
    if (walks)
        is_walked = walk();
    if (forks) { /* as attach() leaves it in a child */
        tap_self.journal_room = 0;
        tap_self.journal_next = NULL;
    }
    return answer;
}

struct hot_row {
    const char *name;
    any *hook;
    enum slot_id slot;
    int words;
};

#define ROW(...)
#define HOT_ROW(family, symbol, I, E)                                                              \
    { #symbol, (any *)(void (*)(void))symbol, SLOT_##symbol, 6 + family##_STACK },
static const struct hot_row hot_rows[] = {
#include "tracer/cublas.def"
};
#undef ROW
#undef HOT_ROW
enum { HOT_ROWS = sizeof hot_rows / sizeof *hot_rows };

static struct journal *journal;
static const uint64_t handle = 0x7f0012345670, math_mode = 3, stream = 0x5500;
static const uint64_t plan = 0x7f00abcdef80, plan_number = 0x123456789;

static void setup(void)
{
    static struct thread thread;
    tap_self_offset = (const char *)&tap_self - (const char *)__builtin_thread_pointer();
    journal = journal_make();
    tap_self = (struct tap_self){ .thread = &thread, .epoch = 1, .journal_number = 1 };
    tap_self.journal_room = journal_room(journal, 1, &tap_self.journal_next);
    struct handle_entry *e = handle_near_of((const void *)handle, false);
    e->name = handle;
    e->version = 8;
    e->stream_number = 9;
    e->stream = (void *)(uintptr_t)stream;
    e->modes = math_mode | handle_owner((const void *)handle);
    *cudnn_plans_near_of((const void *)plan, false) =
        (struct cudnn_plans_place){ .name = plan, .number = plan_number };
    for (int i = 0; i < SLOT_COUNT; i++) {
        slot_first[i].bytes = UINTPTR_MAX;
        slot_first[i].real = (void *)(uintptr_t)real;
    }
}

/* Each word is another one, in all of its bits. */
static uint64_t word(int i)
{
    return i == 0 ? handle : 0x0123456789abcdefu * (uint64_t)(2 * i + 1);
}

static __attribute__((noinline)) int call(const struct hot_row *row)
{
    return row->hook(word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7),
                     word(8), word(9), word(10), word(11), word(12), word(13), word(14), word(15),
                     word(16), word(17), word(18), word(19), word(20), word(21), word(22));
}

static int call_first(void)
{
    int got_back = call(&hot_rows[0]);
    cr_assert(got_back == 0 || got_back == HOOKED); /* no tail call */
    return got_back;
}

TestSuite(pass, .init = setup);

Test(pass, a_debugger_finds_the_way_through)
{
    walks = true;
    cr_assert_eq(call_first(), 0);
    cr_assert_eq(called, 1);
    cr_assert(is_walked);
}

Test(pass, a_call_goes_on_as_it_is_and_into_the_journal)
{
    for (int r = 0; r < HOT_ROWS; r++) {
        const struct hot_row *row = &hot_rows[r];
        cr_assert_eq(call(row), 0, "%s", row->name);
        cr_assert_eq(called, r + 1);
        cr_assert(is_aligned, "%s", row->name);
        cr_assert_eq(phase_inside, TAP_IN_CALL);
        cr_assert_eq(tap_self.phase, TAP_OUTSIDE);
        cr_assert_eq(journal_waiting(journal), (uint64_t)r + 1);
        cr_assert_eq(journal_seen(journal), (uint64_t)r + 1);
        const struct journal_call *c = journal_peek(journal, r);
        for (int i = 0; i < row->words; i++) {
            cr_assert_eq(got[i], word(i), "%s: argument %d arrives", row->name, i);
            cr_assert_eq(c->word[i], word(i), "%s: argument %d is kept", row->name, i);
        }
        cr_assert_eq(c->slot, row->slot);
        cr_assert(c->start_ticks > 0 && c->end_ticks > c->start_ticks);
        struct handle_state state;
        cr_assert(handle_read((const void *)handle, c->handle, &state));
        cr_assert_eq(state.stream_number, 9);
        cr_assert_eq(state.math_mode, math_mode);
        cr_assert_eq(state.pointer_mode, 0);
    }
    cr_assert_eq(hooked + failed + launched, 0);
}

static int execute(uint64_t what)
{
    return (int)cudnnBackendExecute((cudnnHandle_t)handle, (void *)what, (void *)word(2));
}

Test(pass, an_execution_is_kept_by_the_number_of_its_plan)
{
    cr_assert_eq(execute(plan), 0);
    cr_assert_eq(called, 1);
    cr_assert(is_aligned);
    cr_assert_eq(phase_inside, TAP_IN_CALL);
    cr_assert_eq(tap_self.phase, TAP_OUTSIDE);
    const uint64_t given[] = { handle, plan, word(2) };
    const struct journal_call *c = journal_peek(journal, 0);
    cr_assert_eq(journal_waiting(journal), 1);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(got[i], given[i], "argument %d arrives", i);
        cr_assert_eq(c->word[i], given[i], "argument %d is kept", i);
    }
    cr_assert_eq(c->slot, SLOT_cudnnBackendExecute);
    cr_assert_eq(c->word[PASS_PLAN_WORD], plan_number);
    launches = true;
    cr_assert_eq(execute(plan), 0);
    cr_assert_eq(plans_launched, 1);
    cr_assert_eq(launched_call->word[PASS_PLAN_WORD], plan_number);
    cr_assert_eq(journal_waiting(journal), 1);
    cr_assert_eq(hooked + failed + launched, 0);
    cr_assert_eq(execute(plan + 64), HOOKED, "a plan that is not known");
}

/* The line where a handle or a plan may be has two places. */
static void move(void *places, size_t bytes, size_t from)
{
    char *line = places, kept[sizeof(struct handle_entry)];
    memcpy(kept, line + from, bytes);
    memset(line + from, 0, bytes);
    memcpy(line + (from ^ bytes), kept, bytes);
}

Test(pass, what_lies_in_the_other_place_is_found_too)
{
    size_t at = (size_t)(handle_near_of((const void *)handle, false) - handle_near);
    move(handle_near, sizeof *handle_near, at * sizeof *handle_near);
    cr_assert_eq(call(&hot_rows[0]), 0);
    cr_assert_eq(journal_waiting(journal), 1);
    cr_assert_eq(cublasSetStream_v2((cublasHandle_t)handle, (void *)stream), 0);
    cr_assert_eq(execute(plan), 0);
    at = (size_t)(cudnn_plans_near_of((const void *)plan, false) - cudnn_plans_near);
    move(cudnn_plans_near, sizeof *cudnn_plans_near, at * sizeof *cudnn_plans_near);
    cr_assert_eq(execute(plan), 0);
    cr_assert_eq(journal_waiting(journal), 3);
    cr_assert_eq(journal_peek(journal, 2)->word[PASS_PLAN_WORD], plan_number);
    cr_assert_eq(called, 4);
    cr_assert_eq(hooked, 0);
}

Test(pass, a_refused_call_is_told_and_not_kept)
{
    answer = REFUSED;
    cr_assert_eq(call(&hot_rows[0]), REFUSED);
    cr_assert_eq(failed, 1);
    cr_assert(failed_caller > (const void *)(uintptr_t)call, "where the hook returns to");
    cr_assert_eq(journal_waiting(journal), 0);
    cr_assert_eq(tap_self.phase, TAP_OUTSIDE);
}

Test(pass, a_call_with_a_number_is_recorded_at_once)
{
    launches = true;
    cr_assert_eq(call(&hot_rows[0]), 0);
    cr_assert_eq(launched, 1);
    cr_assert_eq(launched_call->word[1], word(1));
    cr_assert(launched_call->end_ticks > launched_call->start_ticks);
    cr_assert_eq(journal_waiting(journal), 0);
    launches = false;
    call(&hot_rows[0]);
    cr_assert_eq(launched, 1, "the number of the call before is not its own");
}

Test(pass, a_call_that_forks_leaves_the_journal_of_its_parent_alone)
{
    forks = true;
    cr_assert_eq(call(&hot_rows[0]), 0);
    cr_assert_eq(called, 1);
    cr_assert_eq(journal_waiting(journal), 0);
    cr_assert_eq(journal_peek(journal, 0)->end_ticks, 0);
    cr_assert_eq(tap_self.journal_room, 0);
    cr_assert_eq(tap_self.phase, TAP_OUTSIDE);
}

/* Where anything is to be asked, the other hook does it. */
static void goes_the_other_way(const char *why)
{
    hooked = called = 0;
    cr_assert_eq(call(&hot_rows[0]), HOOKED, "%s", why);
    cr_assert_eq(hooked, 1, "%s", why);
    cr_assert_eq(called, 0, "%s", why);
    cr_assert_eq(journal_waiting(journal), 0, "%s", why);
}

Test(pass, others_are_left_to_the_hook)
{
    tap_self.epoch = 2;
    goes_the_other_way("a thread without a record");
    tap_self.epoch = 1;
    tap_self.phase = TAP_IN_CALL;
    goes_the_other_way("inside another call");
    cr_assert_eq(tap_self.phase, TAP_IN_CALL);
    tap_self.phase = TAP_OUTSIDE;
    tap_self.nvtx_phase = 4;
    goes_the_other_way("in a phase");
    tap_self.nvtx_phase = 0;
    graph_captures = 1;
    goes_the_other_way("a capture");
    graph_captures = 0;
    cupti_is_due = true;
    goes_the_other_way("CUPTI is to be looked at");
    cupti_is_due = false;
    tap_self.journal_room = 0;
    goes_the_other_way("no room");
    cr_assert_eq(tap_self.phase, TAP_OUTSIDE);
    tap_self.journal_room = 1;
    handle_near_of((const void *)handle, false)->name = handle + 16;
    goes_the_other_way("a handle that is not known");
    handle_near_of((const void *)handle, false)->name = handle;
    slot_first[hot_rows[0].slot].low = UINTPTR_MAX;
    slot_first[hot_rows[0].slot].bytes = 1;
    goes_the_other_way("another caller");
    slot_first[hot_rows[0].slot].bytes = 0;
    goes_the_other_way("nobody knows the function");
}

Test(pass, nothing_is_kept_while_recording_is_off)
{
    tap_state = TAP_PAUSED;
    tap_epoch = TAP_OFF;
    cr_assert_eq(call(&hot_rows[0]), 0);
    cr_assert_eq(called, 1);
    cr_assert_eq(phase_inside, TAP_OUTSIDE);
    cr_assert_eq(journal_waiting(journal), 0);
    handle_near_of((const void *)handle, false)->name = 0;
    cr_assert_eq(call(&hot_rows[0]), 0, "a handle that nobody told of");
    cr_assert_eq(called, 2);
    graph_captures = 1;
    goes_the_other_way("a capture, while off");
}

Test(pass, before_our_constructor_calls_go_on)
{
    tap_state = TAP_UNLOADED;
    tap_epoch = TAP_OFF;
    tap_self_offset = 0;
    cr_assert_eq(call(&hot_rows[0]), 0);
    cr_assert_eq(called, 1);
}

/* What each setter may be told that the handle's entry has already. */
static const struct setter {
    const char *name;
    any *hook;
    enum slot_id slot;
    uint64_t same;
} setters[] = {
#define SETTER(symbol, same)                                                                       \
    {                                                                                              \
#symbol, (any *)(void (*)(void))symbol, SLOT_##symbol, same                                \
    }
    SETTER(cublasSetStream_v2, stream),
    SETTER(cudnnSetStream, stream),
    SETTER(cublasSetMathMode, math_mode),
};

static int tell(const struct setter *s, uint64_t of, uint64_t what)
{
    hooked = called = 0;
    return s->hook(of, what, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                   22);
}

Test(pass, a_setter_that_tells_nothing_new_is_a_jump)
{
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
        const struct setter *s = &setters[i];
        cr_assert_eq(tell(s, handle, s->same), 0, "%s", s->name);
        cr_assert_eq(called, 1, "%s", s->name);
        cr_assert_eq(got[0], handle);
        cr_assert_eq(got[1], s->same);
        cr_assert_eq(tell(s, handle, s->same ^ 16), HOOKED, "%s: new", s->name);
        cr_assert_eq(tell(s, handle + 16, s->same), HOOKED, "%s: another handle", s->name);
        slot_first[s->slot].bytes = 0;
        cr_assert_eq(tell(s, handle, s->same), HOOKED, "%s: nobody knows the function", s->name);
    }
}

/* Descriptors of any address, of which one is a plan. */
Test(pass, a_descriptor_that_is_no_plan_is_a_jump)
{
    enum { ADDRESSES = 1000 };
    uint32_t known = cudnn_plans_hash((const void *)plan, PASS_PLAN_KNOWN_BITS);
    cudnn_plans_known[known] = 1;
    for (uintptr_t i = 0; i < ADDRESSES; i++) {
        void *other = (void *)(plan + 16 * i);
        unsigned wanted = cudnn_plans_may_know(other) ? HOOKED : 0;
        cr_assert_eq(wanted == HOOKED, cudnn_plans_hash(other, PASS_PLAN_KNOWN_BITS) == known);
        cr_assert_eq(cudnnBackendFinalize(other), wanted, "%zu", (size_t)i);
        cr_assert_eq(cudnnBackendDestroyDescriptor(other), wanted, "%zu", (size_t)i);
    }
    cr_assert(hooked >= 2 && hooked < ADDRESSES / 10, "%d", hooked);
    cr_assert_eq(cudnnBackendCreateDescriptor(PASS_PLAN_TYPE, NULL), HOOKED);
    cr_assert_eq(cudnnBackendCreateDescriptor(PASS_PLAN_TYPE + 1, NULL), 0);
    slot_first[SLOT_cudnnBackendFinalize].bytes = 0;
    cr_assert_eq(cudnnBackendFinalize((void *)(plan + 16)), HOOKED);
}

Test(pass, other_setters_are_left_to_the_hook)
{
    cr_assert_eq(cudnnBackendPopulateCudaGraph((cudnnHandle_t)handle, NULL, NULL, NULL), HOOKED);
    cr_assert_eq(cublasSetPointerMode_v2((cublasHandle_t)handle, (cublasPointerMode_t)0), HOOKED);
    cr_assert_eq(cublasDestroy_v2((cublasHandle_t)handle), HOOKED);
    cr_assert_eq(cudnnDestroy((cudnnHandle_t)handle), HOOKED);
}

/* All places can be filled, at any place of the ring, and a turn of it is no loss. */
Test(pass, a_journal_goes_round)
{
    uint64_t written = 0, taken = 0;
    for (int turn = 0; turn < 3 * JOURNAL_CALLS; turn += 100) {
        for (;;) {
            tap_self.journal_room =
                journal_room(journal, tap_self.journal_number, &tap_self.journal_next);
            if (tap_self.journal_room == 0)
                break;
            while (tap_self.journal_room > 0) {
                answer = 0;
                call(&hot_rows[0]);
                written++;
            }
        }
        cr_assert_eq(journal_waiting(journal), JOURNAL_CALLS);
        cr_assert_eq(journal_seen(journal), written);
        for (int i = 0; i < 100; i++, taken++) {
            cr_assert_eq(journal_peek(journal, 0)->word[1], word(1));
            journal_take(journal, 1);
        }
        cr_assert_eq(journal_waiting(journal), written - taken);
    }
    cr_assert_eq(hooked, 0);
}
