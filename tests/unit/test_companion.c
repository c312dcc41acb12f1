/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "replay_fixture.h"
#include "replayer/companion.h"

/* A companion in sh: `hello`, and then what `reply` makes of the number of a request, its verb and
 * the rest of the line. */
static enum status start(struct companion *c, const char *hello, const char *reply,
                         double patience_s, struct fault *fault)
{
    static char script[1024];
    snprintf(script, sizeof script,
             "%s\nwhile read -r number verb rest; do case $verb in %s esac; done", hello, reply);
    const char *const command[] = { "/bin/sh", "-c", script, NULL };
    return companion_start(c, command, patience_s, fault);
}

static const char hello[] = "echo 0 ready Some Program 1.2";
static const char good[] = "case) echo \"$number ready some.call\" ;;"
                           "burst) echo \"$number ns ${rest#calls=}00.5\" ;;"
                           "done) echo \"$number ready\" ;;";

static struct companion_case case_of(const struct tilewise_signature *s)
{
    return (struct companion_case){ .signature = s, .alpha = 1, .sets = 2, .threads = 1 };
}

static struct companion c;
static struct fault fault;
static char call[COMPANION_TEXT_BYTES];

static enum status prepare(const struct tilewise_signature *s)
{
    struct companion_case of = case_of(s);
    return companion_prepare(&c, &of, call, sizeof call, &fault);
}

Test(companion, answers, .fini = NULL)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 4, 2);
    cr_assert_eq(start(&c, hello, good, 20, &fault), ST_OK, "%s", fault.text);
    cr_assert_str_eq(c.name, "Some Program 1.2");
    cr_assert_eq(prepare(&s), ST_OK, "%s", fault.text);
    cr_assert_str_eq(call, "some.call");
    cr_assert_float_eq(companion_burst(&c, 7), 700.5, 1e-9);
    companion_release(&c);
    companion_stop(&c);
    cr_assert_eq(c.process, 0);
    companion_stop(&c);
}

/* The request says where every element of every operand lies. */
Test(companion, request_names_the_operands)
{
    static const char echo[] = "case) echo \"$number ready $rest\" ;;";
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 4, 2);
    s.trans_a = TILEWISE_T;
    s.lda = 3;
    s.ldc = 9;
    cr_assert_eq(start(&c, hello, echo, 20, &fault), ST_OK);
    cr_assert_eq(prepare(&s), ST_OK, "%s", fault.text);
    cr_assert(strstr(call, "op=gemm compute=f32 alpha=1 beta=0 sets=2 threads=1 cold=0"), "%s",
              call);
    struct tilewise_signature add = fixture_add(TILEWISE_BF16, 100);
    cr_assert_eq(prepare(&add), ST_OK, "%s", fault.text);
    cr_assert_null(strstr(call, " a="), "%s", call);
    companion_stop(&c);
}

Test(companion, says_why_it_cannot_serve)
{
    cr_assert_eq(start(&c, "echo 0 error No module named torch", good, 20, &fault), ST_UNSUPPORTED);
    cr_assert_str_eq(fault.text, "No module named torch");
    cr_assert_eq(c.process, 0);
}

Test(companion, no_such_program)
{
    const char *const command[] = { "/nonexistent/python", NULL };
    cr_assert_eq(companion_start(&c, command, 20, &fault), ST_UNSUPPORTED);
    cr_assert_str_eq(fault.text, "/nonexistent/python: No such file or directory");
}

Test(companion, ends_before_it_answers)
{
    cr_assert_eq(start(&c, "exit 3", good, 20, &fault), ST_UNSUPPORTED);
    cr_assert_str_eq(fault.text, "no answer");
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 4, 2);
    cr_assert_eq(start(&c, hello, "case) exit 0 ;;", 20, &fault), ST_OK);
    cr_assert_eq(prepare(&s), ST_UNSUPPORTED);
    cr_assert_str_eq(fault.text, "Some Program 1.2 does not answer");
    cr_assert(isnan(companion_burst(&c, 1)));
    companion_stop(&c);
}

Test(companion, hangs)
{
    cr_assert_eq(start(&c, "sleep 60", good, 0.1, &fault), ST_UNSUPPORTED);
    cr_assert_str_eq(fault.text, "no answer");
}

/* The child that asked was ended; the answer comes when somebody else asks. */
Test(companion, late_answers_are_passed_over)
{
    static const char late[] =
        "burst) echo 1 ns 5; echo \"2 error late\"; echo \"$number ns 42\" ;;";
    cr_assert_eq(start(&c, hello, late, 20, &fault), ST_OK);
    cr_assert_float_eq(companion_burst(&c, 7), 42, 1e-9);
    cr_assert_float_eq(companion_burst(&c, 7), 42, 1e-9);
    companion_stop(&c);
}

Test(companion, nonsense_is_no_time)
{
    static const char *const answers[] = {
        "burst) echo nonsense ;;",
        "burst) echo \"$number ns\" ;;",
        "burst) echo \"$number ns -3\" ;;",
        "burst) echo \"$number ns nan\" ;;",
        "burst) echo \"$number ns inf\" ;;",
        "burst) echo 4294967290 ns 5 ;;",
        "burst) echo \"$number error out of memory\" ;;",
        "burst) echo ;;",
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        cr_assert_eq(start(&c, hello, answers[i], 20, &fault), ST_OK);
        cr_assert(isnan(companion_burst(&c, 3)), "%s", answers[i]);
        companion_stop(&c);
    }
}

Test(companion, what_it_has_no_call_for)
{
    struct tilewise_signature s = fixture_gemm(TILEWISE_F32, 8, 4, 2);
    cr_assert_eq(start(&c, hello, "case) echo \"$number error no operator for it\" ;;", 20, &fault),
                 ST_OK);
    cr_assert_eq(prepare(&s), ST_UNSUPPORTED);
    cr_assert_str_eq(fault.text, "no operator for it");
    s.epilogue = 4;
    cr_assert_eq(prepare(&s), ST_UNSUPPORTED);
    cr_assert_str_eq(fault.text, "no call for an epilogue, a triangle or scales");
    companion_stop(&c);
}
