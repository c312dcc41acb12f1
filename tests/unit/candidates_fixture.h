/* SPDX-License-Identifier: Apache-2.0
 *
 * Candidates of the simulated machine: each takes its time, or is wrong in its own way.
 */
#ifndef TILEWISE_TESTS_CANDIDATES_FIXTURE_H
#define TILEWISE_TESTS_CANDIDATES_FIXTURE_H

#include <errno.h>
#include <signal.h>

#include "replay_fixture.h"

static inline int any(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    (void)self;
    (void)s;
    return 1;
}

static inline int none(const struct tilewise_candidate *self, const struct tilewise_signature *s)
{
    (void)self;
    (void)s;
    return 0;
}

static inline int costs(double ns, const struct tilewise_signature *s,
                        const struct tilewise_args *args)
{
    fixture_session.clock_ns += ns;
    return ref_candidate.run(&ref_candidate, s, args);
}

#define RUN(id, ns)                                                                                \
    static int run_##id(const struct tilewise_candidate *self, const struct tilewise_signature *s, \
                        const struct tilewise_args *args)                                          \
    {                                                                                              \
        (void)self;                                                                                \
        return costs(ns, s, args);                                                                 \
    }
RUN(fast, 500)
RUN(between, 900)
RUN(equal, 800)
#undef RUN

static inline int run_wrong(const struct tilewise_candidate *self,
                            const struct tilewise_signature *s, const struct tilewise_args *args)
{
    (void)self;
    int error = costs(1, s, args);
    *(float *)args->c += 1;
    return error;
}

static inline int run_crash(const struct tilewise_candidate *self,
                            const struct tilewise_signature *s, const struct tilewise_args *args)
{
    (void)self;
    (void)s;
    (void)args;
    return raise(SIGSEGV);
}

static inline int refuse(const struct tilewise_candidate *self)
{
    (void)self;
    return -1;
}

static inline int run_not(const struct tilewise_candidate *self, const struct tilewise_signature *s,
                          const struct tilewise_args *args)
{
    (void)self;
    (void)s;
    (void)args;
    return -EIO;
}

static const char *complain(const struct tilewise_candidate *self)
{
    return self->context ? self->context : "";
}

#define CANDIDATE(id, run_function, supports_function, target_name, ...)                           \
    static const struct tilewise_candidate id = { .abi = TILEWISE_CANDIDATE_ABI,                   \
                                                  .bytes = sizeof(struct tilewise_candidate),      \
                                                  .name = #id,                                     \
                                                  .target = target_name,                           \
                                                  .summary = "test",                               \
                                                  .supports = supports_function,                   \
                                                  .run = run_function,                             \
                                                  __VA_ARGS__ }
CANDIDATE(fast, run_fast, any, "cpu", );
CANDIDATE(between, run_between, any, "cpu", );
CANDIDATE(equal, run_equal, any, "cpu", );
CANDIDATE(wrong, run_wrong, any, "cpu", );
CANDIDATE(crash, run_crash, any, "cpu", );
CANDIDATE(unable, run_fast, none, "cpu", );
CANDIDATE(elsewhere, run_fast, any, "cuda", );
CANDIDATE(unwilling, run_fast, any, "cpu", .init = refuse);
CANDIDATE(plaintive, run_fast, any, "cpu", .init = refuse, .complaint = complain,
          .context = "no such device");
CANDIDATE(refused, run_not, any, "cpu", .complaint = complain, .context = "launch refused");
CANDIDATE(silent, run_not, any, "cpu", .complaint = complain);
CANDIDATE(varying, run_fast, any, "cpu", .flags = TILEWISE_CANDIDATE_VARIES);
#undef CANDIDATE

#endif
