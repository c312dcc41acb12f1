/* SPDX-License-Identifier: Apache-2.0
 *
 * Recursive descent to a postfix code. A byte of it is an operator, a name or the number of a
 * constant; && and || are followed by where to go on when their left side decides.
 */
#include "replayer/expr.h"

#include <ctype.h>
#include <string.h>

enum code {
    CODE_NEGATE,
    CODE_NOT,
    CODE_TRUTH, /* 0 or 1 */
    CODE_ADD,
    CODE_SUBTRACT,
    CODE_MULTIPLY,
    CODE_DIVIDE,
    CODE_REMAINDER,
    CODE_EQUAL,
    CODE_UNEQUAL,
    CODE_LESS,
    CODE_LESS_EQUAL,
    CODE_GREATER,
    CODE_GREATER_EQUAL,
    CODE_CEIL_DIV,
    CODE_MIN,
    CODE_MAX,
    CODE_AND, /* then a target */
    CODE_OR,
    CODE_NAME,
    CODE_CONSTANT = CODE_NAME + EXPR_NAMES,
};

/* ---- parsing ---- */

struct parser {
    struct expr *out;
    const char *text;
    size_t at;
    unsigned names, nesting, waiting; /* values on the stack */
    struct fault *fault;
};

struct word {
    const char *text;
    uint8_t code;
};

static const struct word name_words[] = {
#define X(id, word) { word, CODE_NAME + EXPR_##id },
    EXPR_NAME_LIST(X)
#undef X
        { "incx", CODE_NAME + EXPR_LDB },
    { "incy", CODE_NAME + EXPR_LDC },
    { NULL, 0 },
};
static const struct word function_words[] = {
    { "ceil_div", CODE_CEIL_DIV }, { "min", CODE_MIN }, { "max", CODE_MAX }, { NULL, 0 }
};

/* Binary operators, longer ones first where one begins another; the highest level binds most. */
enum { LEVEL_OR, LEVEL_AND, LEVEL_COMPARISON, LEVEL_SUM, LEVEL_PRODUCT, LEVELS };
static const struct {
    const char *text;
    uint8_t level, code;
} operators[] = {
    { "||", LEVEL_OR, CODE_OR },
    { "&&", LEVEL_AND, CODE_AND },
    { "==", LEVEL_COMPARISON, CODE_EQUAL },
    { "!=", LEVEL_COMPARISON, CODE_UNEQUAL },
    { "<=", LEVEL_COMPARISON, CODE_LESS_EQUAL },
    { ">=", LEVEL_COMPARISON, CODE_GREATER_EQUAL },
    { "<", LEVEL_COMPARISON, CODE_LESS },
    { ">", LEVEL_COMPARISON, CODE_GREATER },
    { "+", LEVEL_SUM, CODE_ADD },
    { "-", LEVEL_SUM, CODE_SUBTRACT },
    { "*", LEVEL_PRODUCT, CODE_MULTIPLY },
    { "/", LEVEL_PRODUCT, CODE_DIVIDE },
    { "%", LEVEL_PRODUCT, CODE_REMAINDER },
};
enum { OPERATORS = sizeof operators / sizeof operators[0] };

static bool refuse(struct parser *p, const char *what)
{
    fault_set(p->fault, ST_INVALID, "%s", what);
    return false;
}

static void skip_space(struct parser *p)
{
    while (p->text[p->at] == ' ' || p->text[p->at] == '\t' || p->text[p->at] == '\n')
        p->at++;
}

static bool take(struct parser *p, const char *text)
{
    size_t length = strlen(text);
    skip_space(p);
    if (strncmp(p->text + p->at, text, length) != 0)
        return false;
    p->at += length;
    return true;
}

/* `values`: by how many the stack grows. */
static bool emit(struct parser *p, unsigned code, int values)
{
    if (p->out->count == EXPR_CODE_MAX)
        return refuse(p, "the expression is too long");
    p->out->code[p->out->count++] = (uint8_t)code;
    p->waiting += (unsigned)values;
    return p->waiting <= EXPR_STACK_MAX || refuse(p, "the expression is too deep");
}

static bool parse_level(struct parser *p, unsigned level);

static bool parse_number(struct parser *p)
{
    int64_t value = 0;
    size_t start = p->at;
    for (; isdigit((unsigned char)p->text[p->at]); p->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, p->text[p->at] - '0', &value)) {
            p->at = start;
            return refuse(p, "the number does not fit 64 bits");
        }
    uint8_t i = 0;
    while (i < p->out->nconstants && p->out->constants[i] != value)
        i++;
    if (i == EXPR_CONSTANTS_MAX)
        return refuse(p, "too many different numbers");
    p->out->constants[i] = value;
    p->out->nconstants = i == p->out->nconstants ? i + 1 : p->out->nconstants;
    return emit(p, CODE_CONSTANT + i, 1);
}

static bool parse_call(struct parser *p, unsigned code)
{
    if (!take(p, "("))
        return refuse(p, "expected '(' behind the function");
    if (!parse_level(p, LEVEL_OR))
        return false;
    if (!take(p, ","))
        return refuse(p, "expected ',': the function takes two values");
    if (!parse_level(p, LEVEL_OR))
        return false;
    if (!take(p, ")"))
        return refuse(p, "expected ')': the function takes two values");
    return emit(p, code, -1);
}

static const struct word *find_word(const struct word *words, const char *text, size_t length)
{
    for (; words->text; words++)
        if (strlen(words->text) == length && strncmp(words->text, text, length) == 0)
            return words;
    return NULL;
}

static bool refuse_name(struct parser *p, size_t length)
{
    char known[256] = "ceil_div(), min(), max()";
    for (const struct word *w = name_words; w->text; w++)
        if (p->names >> (w->code - CODE_NAME) & 1)
            strcat(strcat(known, ", "), w->text);
    fault_set(p->fault, ST_INVALID, "unknown name '%.*s' here; known: %s",
              (int)(length < 40 ? length : 40), p->text + p->at, known);
    return false;
}

static bool parse_word(struct parser *p)
{
    const char *text = p->text + p->at;
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_')
        length++;
    const struct word *name = find_word(name_words, text, length);
    const struct word *function = find_word(function_words, text, length);
    if (!function && (!name || !(p->names >> (name->code - CODE_NAME) & 1)))
        return refuse_name(p, length);
    p->at += length;
    return function ? parse_call(p, function->code) : emit(p, name->code, 1);
}

static bool parse_inside(struct parser *p)
{
    if (take(p, "-"))
        return parse_level(p, LEVELS) && emit(p, CODE_NEGATE, 0);
    if (take(p, "!"))
        return parse_level(p, LEVELS) && emit(p, CODE_NOT, 0);
    if (take(p, "("))
        return parse_level(p, LEVEL_OR) && (take(p, ")") || refuse(p, "expected ')'"));
    char c = p->text[p->at];
    if (isdigit((unsigned char)c))
        return parse_number(p);
    if (isalpha((unsigned char)c) || c == '_')
        return parse_word(p);
    return refuse(p, c ? "expected a number, a name or '('" : "the expression is not finished");
}

static bool parse_operand(struct parser *p)
{
    if (p->nesting == EXPR_DEPTH_MAX)
        return refuse(p, "the expression is nested too deep");
    p->nesting++;
    bool good = parse_inside(p);
    p->nesting--;
    return good;
}

static size_t find_operator(struct parser *p, unsigned level)
{
    skip_space(p);
    for (size_t i = 0; i < OPERATORS; i++)
        if (operators[i].level == level &&
            strncmp(p->text + p->at, operators[i].text, strlen(operators[i].text)) == 0)
            return i;
    return OPERATORS;
}

/* What is behind the left side of && or ||, with the place to go on from when that decides. */
static bool parse_lazy(struct parser *p, unsigned level, unsigned code)
{
    if (!emit(p, code, -1) || !emit(p, 0, 0))
        return false;
    uint8_t target = p->out->count - 1;
    if (!parse_level(p, level + 1) || !emit(p, CODE_TRUTH, 0))
        return false;
    p->out->code[target] = p->out->count;
    return true;
}

/* Operators of this level and of those that bind more; a level above all of them is an operand. */
static bool parse_level(struct parser *p, unsigned level)
{
    if (level == LEVELS)
        return parse_operand(p);
    if (!parse_level(p, level + 1))
        return false;
    for (size_t i, seen = 0; (i = find_operator(p, level)) < OPERATORS; seen++) {
        if (seen && level == LEVEL_COMPARISON)
            return refuse(p, "comparisons do not chain: join them with &&");
        p->at += strlen(operators[i].text);
        bool good = level <= LEVEL_AND
                        ? parse_lazy(p, level, operators[i].code)
                        : parse_level(p, level + 1) && emit(p, operators[i].code, -1);
        if (!good)
            return false;
    }
    return true;
}

enum status expr_parse(struct expr *out, const char *text, unsigned names, size_t *at,
                       struct fault *fault)
{
    struct parser p = { .out = out, .text = text, .names = names, .fault = fault };
    *out = (struct expr){ .count = 0 };
    bool good = strnlen(text, EXPR_TEXT_MAX + 1) <= EXPR_TEXT_MAX
                    ? parse_level(&p, LEVEL_OR)
                    : refuse(&p, "the expression is longer than 512 characters");
    skip_space(&p);
    if (good && text[p.at])
        good = refuse(&p, "expected an operator or the end");
    *at = p.at;
    return good ? ST_OK : ST_INVALID;
}

struct expr expr_constant(int64_t value)
{
    return (struct expr){ 1, 1, { CODE_CONSTANT }, { value } };
}

bool expr_needs(const struct expr *e, unsigned names)
{
    for (size_t i = 0; i < e->count; i++) {
        unsigned code = e->code[i];
        if (code == CODE_AND || code == CODE_OR)
            i++; /* its target is no code */
        else if (code >= CODE_NAME && code < CODE_CONSTANT && (names >> (code - CODE_NAME) & 1))
            return true;
    }
    return false;
}

/* ---- evaluating ---- */

static bool divide(unsigned code, int64_t x, int64_t y, int64_t *out)
{
    if (y == 0 || (x == INT64_MIN && y == -1))
        return false;
    int64_t rest = x % y, quotient = x / y;
    if (code == CODE_REMAINDER)
        *out = rest;
    else
        *out = quotient + (code == CODE_CEIL_DIV && rest != 0 && (rest < 0) == (y < 0));
    return true;
}

static bool apply(unsigned code, int64_t x, int64_t y, int64_t *out)
{
    switch (code) {
    case CODE_ADD:
        return !__builtin_add_overflow(x, y, out);
    case CODE_SUBTRACT:
        return !__builtin_sub_overflow(x, y, out);
    case CODE_MULTIPLY:
        return !__builtin_mul_overflow(x, y, out);
    case CODE_DIVIDE:
    case CODE_REMAINDER:
    case CODE_CEIL_DIV:
        return divide(code, x, y, out);
    case CODE_EQUAL:
        return *out = x == y, true;
    case CODE_UNEQUAL:
        return *out = x != y, true;
    case CODE_LESS:
        return *out = x < y, true;
    case CODE_LESS_EQUAL:
        return *out = x <= y, true;
    case CODE_GREATER:
        return *out = x > y, true;
    case CODE_GREATER_EQUAL:
        return *out = x >= y, true;
    case CODE_MIN:
        return *out = x < y ? x : y, true;
    default: /* CODE_MAX */
        return *out = x > y ? x : y, true;
    }
}

static bool apply_one(unsigned code, int64_t x, int64_t *out)
{
    *out = code == CODE_NOT ? x == 0 : x != 0;
    return code != CODE_NEGATE || !__builtin_sub_overflow(0, x, out);
}

bool expr_evaluate(const struct expr *e, const int64_t *names, int64_t *out)
{
    int64_t stack[EXPR_STACK_MAX + 1];
    size_t top = 0; /* stack[top] is free */
    for (size_t i = 0; i < e->count; i++) {
        unsigned code = e->code[i];
        bool good = true;
        if (code >= CODE_CONSTANT)
            stack[top++] = e->constants[code - CODE_CONSTANT];
        else if (code >= CODE_NAME)
            stack[top++] = names[code - CODE_NAME];
        else if (code == CODE_AND || code == CODE_OR) {
            bool decided = (stack[top - 1] != 0) == (code == CODE_OR);
            stack[top - 1] = code == CODE_OR;
            top -= !decided;
            i = decided ? e->code[i + 1] - 1u : i + 1;
        } else if (code <= CODE_TRUTH)
            good = apply_one(code, stack[top - 1], &stack[top - 1]);
        else {
            good = apply(code, stack[top - 2], stack[top - 1], &stack[top - 2]);
            top--;
        }
        if (!good)
            return false;
    }
    *out = top ? stack[0] : 0;
    return top != 0;
}
