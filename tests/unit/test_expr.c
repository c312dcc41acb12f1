/* SPDX-License-Identifier: Apache-2.0
 *
 * The expression language against values worked out by hand, and against a second evaluator: random
 * trees are written as text and computed here in 128 bits.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "analysis/prng.h"
#include "replayer/expr.h"

static const int64_t sizes[EXPR_NAMES] = {
    [EXPR_M] = 100,      [EXPR_N] = 7,          [EXPR_K] = 64,    [EXPR_BATCH] = 1,
    [EXPR_LDA] = 128,    [EXPR_LDB] = 72,       [EXPR_LDC] = -3,  [EXPR_STRIDE_A] = INT64_MAX,
    [EXPR_ALIGN_A] = 16, [EXPR_SM_COUNT] = 132, [EXPR_ARCH] = 90,
};

static struct fault fault;

static int64_t value_of(const char *text)
{
    struct expr e;
    size_t at;
    int64_t value = 0;
    cr_assert_eq(expr_parse(&e, text, EXPR_OF_LAUNCH, &at, &fault), ST_OK, "%s: %zu: %s", text, at,
                 fault.text);
    cr_assert(expr_evaluate(&e, sizes, &value), "%s has no value", text);
    return value;
}

static void refuse_at(const char *text, unsigned names, size_t want_at, const char *want)
{
    struct expr e;
    size_t at = 9999;
    cr_assert_eq(expr_parse(&e, text, names, &at, &fault), ST_INVALID, "accepted: %s", text);
    cr_assert_eq(at, want_at, "%s: refused at %zu: %s", text, at, fault.text);
    cr_assert_not_null(strstr(fault.text, want), "%s: %s", text, fault.text);
}

static void refuse(const char *text, size_t at, const char *want)
{
    refuse_at(text, EXPR_OF_LAUNCH, at, want);
}

static void has_no_value(const char *text)
{
    struct expr e;
    size_t at;
    int64_t value;
    cr_assert_eq(expr_parse(&e, text, EXPR_OF_LAUNCH, &at, &fault), ST_OK, "%s", fault.text);
    cr_assert_not(expr_evaluate(&e, sizes, &value), "%s", text);
}

Test(expr, numbers_names_and_operators)
{
    static const struct {
        const char *text;
        int64_t value;
    } rows[] = {
        { "0", 0 },
        { "9223372036854775807", INT64_MAX },
        { "m", 100 },
        { " ( m ) ", 100 },
        { "m + n * k", 548 },
        { "(m + n) * k", 6848 },
        { "m - n - 1", 92 },
        { "100 / 7 / 2", 7 },
        { "100 % 7", 2 },
        { "-100 / 7", -14 },
        { "-100 % 7", -2 },
        { "--m", 100 },
        { "-m + 1", -99 },
        { "!m", 0 },
        { "!0", 1 },
        { "!!m", 1 },
        { "m == 100", 1 },
        { "m != 100", 0 },
        { "m < 100", 0 },
        { "m <= 100", 1 },
        { "m > n", 1 },
        { "m >= 101", 0 },
        { "1 + 1 == 2", 1 },
        { "m > 5 && n > 5", 1 },
        { "m && n", 1 },
        { "m < 5 || n", 1 },
        { "0 || 0", 0 },
        { "1 || 0 && 0", 1 },
        { "(1 || 0) && 0", 0 },
        { "0 && 1 || 1", 1 },
        { "ceil_div(m, 64)", 2 },
        { "ceil_div(128, 64)", 2 },
        { "ceil_div(0, 64)", 0 },
        { "ceil_div(-1, 64)", 0 },
        { "ceil_div(-65, -64)", 2 },
        { "min(m, n)", 7 },
        { "max(m, n)", 100 },
        { "ceil_div(n, 2) * ceil_div(min(m, 65), max(3, 4))", 68 },
        { "incx", 72 },
        { "incy", -3 },
        { "arch >= 90", 1 },
        { "sm_count", 132 },
        { "align_a >= 16 && lda % 8 == 0", 1 },
        { "m\n + n", 107 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        cr_expect_eq(value_of(rows[i].text), rows[i].value, "%s is %lld", rows[i].text,
                     (long long)value_of(rows[i].text));
}

Test(expr, right_side_is_looked_at_only_where_it_counts)
{
    cr_expect_eq(value_of("batch > 1 && m / (batch - 1) > 3"), 0);
    cr_expect_eq(value_of("batch == 1 || m / (batch - 1) > 3"), 1);
    has_no_value("batch == 1 && m / (batch - 1) > 3");
    has_no_value("batch > 1 || m / (batch - 1) > 3");
}

Test(expr, overflow_and_division_by_zero_have_no_value)
{
    has_no_value("stride_a + 1");
    has_no_value("-stride_a - 2");
    has_no_value("stride_a * 2");
    has_no_value("m / 0");
    has_no_value("m % 0");
    has_no_value("ceil_div(m, 0)");
    has_no_value("(-stride_a - 1) / -1");
    has_no_value("(-stride_a - 1) % -1");
    has_no_value("-(-stride_a - 1)");
    has_no_value("stride_a + 1 > 0");
}

Test(expr, refusals_name_the_place)
{
    refuse("", 0, "not finished");
    refuse("m +", 3, "not finished");
    refuse("m + * n", 4, "expected a number");
    refuse("m n", 2, "expected an operator");
    refuse("(m + n", 6, "expected ')'");
    refuse("m + n)", 5, "expected an operator");
    refuse("m = 4", 2, "expected an operator");
    refuse("9223372036854775808", 0, "64 bits");
    refuse("12abc", 2, "expected an operator");
    refuse("m + mm", 4, "unknown name 'mm'");
    refuse("Max(m, n)", 0, "unknown name 'Max'");
    refuse("min", 3, "expected '('");
    refuse("min(m)", 5, "takes two values");
    refuse("min(m, n, k)", 8, "takes two values");
    refuse("m; n", 1, "expected an operator");
    refuse("m(3)", 1, "expected an operator");
    refuse("1 < m < 5", 6, "do not chain");
    refuse("m.x", 1, "expected an operator");
    refuse("0x10", 1, "expected an operator");
    refuse("\xc3\xa9", 0, "expected a number");
    refuse_at("m > 1 && arch == 90", EXPR_OF_CALL, 9, "unknown name 'arch' here");
    refuse_at("sm_count", EXPR_OF_CALL, 0, "known: ceil_div(), min(), max(), m, n, k, batch, lda");
}

Test(expr, limits)
{
    char text[EXPR_TEXT_MAX + 2] = "";
    memset(text, ' ', EXPR_TEXT_MAX);
    text[0] = 'm';
    cr_expect_eq(value_of(text), 100);
    text[EXPR_TEXT_MAX] = ' ';
    refuse(text, 0, "longer than 512");

    snprintf(text, sizeof text, "%.*sm%.*s", EXPR_DEPTH_MAX - 1, "((((((((((((((((((((",
             EXPR_DEPTH_MAX - 1, "))))))))))))))))))))");
    cr_expect_eq(value_of(text), 100);
    snprintf(text, sizeof text, "%.*sm", EXPR_DEPTH_MAX, "((((((((((((((((((((");
    refuse(text, EXPR_DEPTH_MAX, "nested too deep");
    snprintf(text, sizeof text, "%.*sm", EXPR_DEPTH_MAX, "--------------------");
    refuse(text, EXPR_DEPTH_MAX, "nested too deep");

    strcpy(text, "m");
    for (int i = 0; i < EXPR_CODE_MAX / 2 - 1; i++)
        strcat(text, "+m");
    cr_expect_eq(value_of(text), 100 * (EXPR_CODE_MAX / 2));
    strcat(text, "+1+m");
    refuse(text, strlen(text) - 2, "too long");

    strcpy(text, "0");
    for (int i = 1; i < EXPR_CONSTANTS_MAX; i++)
        sprintf(text + strlen(text), "+%d", i);
    cr_expect_eq(value_of(text), EXPR_CONSTANTS_MAX * (EXPR_CONSTANTS_MAX - 1) / 2);
    strcat(text, "+99");
    refuse(text, strlen(text), "too many different numbers");
}

Test(expr, says_which_names_it_needs)
{
    /* The target of && is 9, the code of a name is above: the byte is not to be mistaken. */
    struct expr e;
    size_t at;
    cr_assert_eq(expr_parse(&e, "m && n + n + n", EXPR_OF_LAUNCH, &at, &fault), ST_OK);
    cr_expect(expr_needs(&e, 1 << EXPR_N));
    cr_expect_not(expr_needs(&e, EXPR_OF_LAUNCH & ~(1 << EXPR_M | 1 << EXPR_N)));
    for (int i = 0; i < 20; i++) { /* all targets that a short text can have */
        char text[128] = "m && n";
        for (int j = 0; j < i; j++)
            strcat(text, "+n");
        cr_assert_eq(expr_parse(&e, text, EXPR_OF_LAUNCH, &at, &fault), ST_OK);
        cr_expect_not(expr_needs(&e, EXPR_OF_LAUNCH & ~(1 << EXPR_M | 1 << EXPR_N)));
    }
    cr_assert_eq(expr_parse(&e, "4 + sm_count", EXPR_OF_LAUNCH, &at, &fault), ST_OK);
    cr_expect(expr_needs(&e, EXPR_OF_LAUNCH & ~EXPR_OF_CALL));
}

Test(expr, constant_is_a_number)
{
    struct expr e = expr_constant(INT64_MIN);
    int64_t value = 0;
    cr_assert(expr_evaluate(&e, sizes, &value));
    cr_assert_eq(value, INT64_MIN);
    cr_assert_not(expr_evaluate(&(struct expr){ .count = 0 }, sizes, &value));
}

/* ---- a second evaluator ---- */

/* A random tree: its text, and its value where it has one. */
struct tree {
    char text[2048];
    bool has_value;
    __int128 value;
};

static bool fits(__int128 x)
{
    return x >= INT64_MIN && x <= INT64_MAX;
}

static struct prng random_state;

static uint64_t below(uint64_t n)
{
    return prng_below(&random_state, n);
}

static void leaf(struct tree *t)
{
    static const struct {
        const char *word;
        int name;
    } names[] = {
        { "m", EXPR_M }, { "n", EXPR_N }, { "ldc", EXPR_LDC }, { "stride_a", EXPR_STRIDE_A }
    };
    t->has_value = true;
    if (below(2)) {
        size_t i = below(4);
        strcpy(t->text, names[i].word);
        t->value = sizes[names[i].name];
    } else {
        t->value = (int64_t)below(5);
        sprintf(t->text, "%d", (int)t->value);
    }
}

static __int128 ceiling(__int128 x, __int128 y)
{
    __int128 q = x / y;
    return q * y != x && (x < 0) == (y < 0) ? q + 1 : q;
}

static void combine(struct tree *t, unsigned kind, const struct tree *a, const struct tree *b)
{
    static const char *const text[] = {
        "+", "-", "*", "/", "%", "<", "<=", "==", "!=", "&&", "||"
    };
    enum { OPERATORS = sizeof text / sizeof text[0] };
    __int128 x = a->value, y = b->value, v = 0;
    bool good = a->has_value && b->has_value, zero = y == 0;
    if (kind >= OPERATORS)
        snprintf(t->text, sizeof t->text, "%s(%.900s, %.900s)",
                 kind == OPERATORS       ? "ceil_div"
                 : kind == OPERATORS + 1 ? "min"
                                         : "max",
                 a->text, b->text);
    else
        snprintf(t->text, sizeof t->text, "(%.900s) %s(%.900s)", a->text, text[kind], b->text);
    switch (kind) {
    case 0:
        v = x + y;
        break;
    case 1:
        v = x - y;
        break;
    case 2:
        v = x * y;
        break;
    case 3:
        good = good && !zero;
        v = zero ? 0 : x / y;
        break;
    case 4:
        good = good && !zero && !(x == INT64_MIN && y == -1);
        v = zero ? 0 : x % y;
        break;
    case 5:
        v = x < y;
        break;
    case 6:
        v = x <= y;
        break;
    case 7:
        v = x == y;
        break;
    case 8:
        v = x != y;
        break;
    case 9:
        good = a->has_value && (x == 0 || b->has_value);
        v = x != 0 && y != 0;
        break;
    case 10:
        good = a->has_value && (x != 0 || b->has_value);
        v = x != 0 || y != 0;
        break;
    case 11:
        good = good && !zero;
        v = zero ? 0 : ceiling(x, y);
        break;
    case 12:
        v = x < y ? x : y;
        break;
    default:
        v = x > y ? x : y;
        break;
    }
    t->has_value = good && fits(v);
    t->value = t->has_value ? v : 0;
}

static void grow(struct tree *t, int depth)
{
    if (depth == 0 || below(4) == 0) {
        leaf(t);
        return;
    }
    struct tree a, b;
    grow(&a, depth - 1);
    grow(&b, depth - 1);
    combine(t, (unsigned)below(14), &a, &b);
}

Test(expr, agrees_with_a_second_evaluator)
{
    size_t compared = 0, without = 0;
    random_state.state = 17;
    for (int i = 0; i < 20000; i++) {
        struct tree t;
        struct expr e;
        size_t at;
        int64_t value = 0;
        grow(&t, 4);
        if (strlen(t.text) > EXPR_TEXT_MAX ||
            expr_parse(&e, t.text, EXPR_OF_LAUNCH, &at, &fault) != ST_OK)
            continue;
        bool good = expr_evaluate(&e, sizes, &value);
        cr_assert_eq(good, t.has_value, "%s", t.text);
        cr_assert(!good || value == (int64_t)t.value, "%s is %lld, not %lld", t.text,
                  (long long)t.value, (long long)value);
        compared++;
        without += !good;
    }
    cr_assert_gt(compared, 15000);
    cr_assert_gt(without, 500);
}

/* ---- any text ---- */

Test(expr, any_text_is_parsed_or_refused)
{
    static const char *const parts[] = {
        "m",         "n",    "lda", "128", "0", "9223372036854775807",
        " + ",       "-",    "*",   "/",   "%", " < ",
        "==",        "&&",   "||",  "!",   "(", ")",
        "ceil_div(", "min(", ",",   "x",   "=", "\x80",
        " ",
    };
    size_t parsed = 0, refused = 0;
    random_state.state = 23;
    for (int i = 0; i < 200000; i++) {
        char text[256] = "";
        struct expr e;
        size_t at = 9999;
        int64_t value;
        for (uint64_t count = below(10); count > 0; count--)
            strcat(text, parts[below(sizeof parts / sizeof parts[0])]);
        enum status st = expr_parse(&e, text, EXPR_OF_CALL, &at, &fault);
        cr_assert(at <= strlen(text));
        if (st == ST_OK)
            expr_evaluate(&e, sizes, &value);
        parsed += st == ST_OK;
        refused += st == ST_INVALID && fault.text[0];
    }
    cr_assert_eq(parsed + refused, 200000);
    cr_assert_gt(parsed, 1000);
}
