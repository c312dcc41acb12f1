/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/selftest.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tile.h"
#include "replayer/rotation.h"
#include "replayer/verify.h"

enum { M = 96, N = 80, K = 112, SQUARE = 112 };

/* The library's product on one device, and the ways in which a kernel can be wrong. */
struct trial {
    const struct measure_setup *setup;
    struct backend_session *session;
    struct tilewise_signature signature;
    struct rotation rotation;
    struct tilewise_args pending; /* of do_later */
    bool has_pending;
};

static void __attribute__((format(printf, 3, 4)))
say(struct selftest *out, bool passed, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    out->passed = passed;
    vsnprintf(out->text, sizeof out->text, format, args);
    va_end(args);
}

static struct tilewise_signature product(const struct backend *backend, int64_t m, int64_t n,
                                         int64_t k)
{
    struct tilewise_signature s = signature_gemm(TILEWISE_COL_MAJOR, TILEWISE_F32, m, n, k);
    s.entry = backend->entry ? backend->entry("cublasSgemm_v2") : 0;
    s.align_a = s.align_b = s.align_c = s.align_d = 4;
    return s;
}

static bool open_trial(struct trial *t, const struct measure_setup *setup, struct selftest *out)
{
    struct fault fault = { .text = "" };
    *t = (struct trial){ .setup = setup };
    if (setup->backend->open(&t->session, &setup->open, &fault) == ST_OK)
        return true;
    say(out, false, "%.180s", fault.text);
    return false;
}

static bool prepare_trial(struct trial *t, struct tilewise_signature signature)
{
    struct backend_routines routines;
    t->signature = signature;
    return t->setup->backend->prepare(t->session, &t->signature, &routines) == ST_OK;
}

/* ---- what a kernel may do ---- */

static int do_right(void *context, const struct tilewise_args *args)
{
    struct trial *t = context;
    return t->setup->backend->baseline(t->session, 0, args);
}

static int do_nothing(void *context, const struct tilewise_args *args)
{
    (void)context;
    (void)args;
    return 0;
}

/* Returns before its work is done, which comes with the next call. */
static int do_later(void *context, const struct tilewise_args *args)
{
    struct trial *t = context;
    int error = t->has_pending ? do_right(t, &t->pending) : 0;
    t->pending = *args;
    t->has_pending = true;
    return error;
}

/* The first result, once more, at another place. */
static int do_and_copy(struct trial *t, const struct tilewise_args *args, void *to)
{
    int error = do_right(t, args);
    return error ? error : t->setup->backend->copy(t->session, to, args->c, sizeof(float));
}

static int do_last_element_wrong(void *context, const struct tilewise_args *args)
{
    return do_and_copy(context, args, (float *)args->c + M * N - 1);
}

static int do_write_outside(void *context, const struct tilewise_args *args)
{
    return do_and_copy(context, args, (float *)args->c + M * N);
}

static int do_change_input(void *context, const struct tilewise_args *args)
{
    return do_and_copy(context, args, (float *)args->a);
}

static const struct wrong {
    const char *name;
    int (*run)(void *context, const struct tilewise_args *args);
} wrongs[] = {
    { "does nothing", do_nothing },
    { "returns before its work is done", do_later },
    { "has its last element wrong", do_last_element_wrong },
    { "writes behind its result", do_write_outside },
    { "changes an input", do_change_input },
};
enum { WRONGS = sizeof wrongs / sizeof wrongs[0] };

/* ---- verification ---- */

static enum result_status judge(struct trial *t, int (*run)(void *, const struct tilewise_args *),
                                struct verify_report *report)
{
    struct verify_job job = {
        .backend = t->setup->backend,
        .session = t->session,
        .signature = &t->signature,
        .reference = t->setup->reference,
        .device_reference = t->setup->device_reference,
        .run = run,
        .context = t,
        .kappa = backend_kappa(t->setup->backend, &t->signature),
        .seed = 1,
    };
    t->has_pending = false;
    verify_subject(&job, report);
    return report->status;
}

void selftest_verification(void *setup, void *message)
{
    struct selftest *out = message;
    struct verify_report report = { .reason = "it has none" };
    struct trial t;
    if (!open_trial(&t, setup, out))
        return;
    if (!prepare_trial(&t, product(t.setup->backend, M, N, K)) ||
        judge(&t, do_right, &report) != RESULT_PASSED) {
        say(out, false, "the library's own product is refused: %.140s", report.reason);
        return;
    }
    for (size_t i = 0; i < WRONGS; i++)
        if (judge(&t, wrongs[i].run, &report) != RESULT_FAILED) {
            say(out, false, "a kernel that %s is not refused", wrongs[i].name);
            return;
        }
    say(out, true, "%d of %d wrong kernels refused, the library's product passed", WRONGS, WRONGS);
}

/* ---- timing ---- */

/* As many calls of either: without waiting for the work, both take the time of the calls. */
enum { CALLS = 4, BURSTS = 5, LARGE = 1024, LONGER_MIN = 4 };

static int step(void *context)
{
    struct trial *t = context;
    return do_right(t, rotation_step(&t->rotation));
}

/* Of one call; NaN if it fails. */
static double shortest_ns(struct trial *t, unsigned arm, struct tilewise_signature signature)
{
    const struct backend *backend = t->setup->backend;
    struct rotation_options buffers = { .max_bytes = 1 << 26, .seed = 1 };
    struct backend_burst burst = { step, t, CALLS, arm, false, BACKEND_AS_BEST };
    double shortest = INFINITY;
    if (!prepare_trial(t, signature) ||
        rotation_open(&t->rotation, backend, t->session, &t->signature, &buffers) != ST_OK)
        return NAN;
    for (int i = 0; i < BURSTS; i++) {
        double ns = backend->burst(t->session, &burst) / CALLS;
        shortest = ns > 0 ? fmin(ns, shortest) : NAN;
    }
    rotation_close(&t->rotation);
    return shortest;
}

void selftest_timing(void *setup, void *message)
{
    struct selftest *out = message;
    struct trial t;
    if (!open_trial(&t, setup, out))
        return;
    const double work = (double)LARGE * LARGE * LARGE / (M * N * K);
    double small_ns = shortest_ns(&t, 0, product(t.setup->backend, M, N, K));
    double large_ns = shortest_ns(&t, 1, product(t.setup->backend, LARGE, LARGE, LARGE));
    double longer = large_ns / small_ns;
    if (isfinite(longer))
        say(out, longer >= LONGER_MIN, "a call with %.0f times the work takes %.1f times as long",
            work, longer);
    else
        say(out, false, "the library's product cannot be timed");
}

/* ---- the way back ---- */

/* Large enough that a tile kernel is preferred where there is one. */
struct square {
    float a[SQUARE * SQUARE], b[SQUARE * SQUARE], c[SQUARE * SQUARE];
};

static void fill_square(struct square *s)
{
    for (int i = 0; i < SQUARE * SQUARE; i++) {
        s->a[i] = (float)(i % 7 - 3);
        s->b[i] = (float)(i % 5 - 2);
        s->c[i] = NAN;
    }
}

static bool square_is_right(const struct square *s)
{
    for (int i = 0; i < SQUARE; i++)
        for (int j = 0; j < SQUARE; j++) {
            float sum = 0; /* of small integers: exact */
            for (int p = 0; p < SQUARE; p++)
                sum += s->a[i * SQUARE + p] * s->b[p * SQUARE + j];
            if (!(s->c[i * SQUARE + j] == sum))
                return false;
        }
    return true;
}

/* One call: is it right, and which way did it go? */
static bool call_tile(struct square *s, const char **way)
{
    struct tilewise_tile_counts before, after;
    fill_square(s);
    tilewise_tile_count(&before);
    int error = tilewise_sgemm(TILEWISE_CALL_ROW_MAJOR, TILEWISE_CALL_N, TILEWISE_CALL_N, SQUARE,
                               SQUARE, SQUARE, 1, s->a, SQUARE, s->b, SQUARE, 0, s->c, SQUARE);
    tilewise_tile_count(&after);
    *way = after.tile > before.tile           ? "a tile kernel"
           : after.library > before.library   ? "the library"
           : after.portable > before.portable ? "the portable kernel"
                                              : "nothing";
    return error == 0 && square_is_right(s);
}

static void force_baseline(int force)
{
    struct tilewise_tile_config config;
    tilewise_tile_current(&config);
    config.force_baseline = force;
    tilewise_tile_configure(&config);
}

void selftest_rollback(void *unused, void *message)
{
    static struct square square;
    struct selftest *out = message;
    const char *back, *forth, *again;
    (void)unused;
    setenv("TILEWISE_FORCE_BASELINE", "1", 1); /* read at the first call, which is the next one */
    bool right = call_tile(&square, &back);
    force_baseline(0);
    right = call_tile(&square, &forth) && right;
    force_baseline(1);
    right = call_tile(&square, &again) && right;
    bool returned = strcmp(back, "the library") == 0 && strcmp(again, back) == 0;
    say(out, right && returned, "TILEWISE_FORCE_BASELINE=1: %s computes; without it %s; %s", back,
        forth, right ? "both are right" : "a result is wrong");
}
