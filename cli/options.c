/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/options.h"

#include <argp.h>
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "traces/schema.h"
#include "traces/suggest.h"

enum { ROWS_MAX = 48, OPTIONS_MAX = 2 * ROWS_MAX + 8, NAME_MAX_BYTES = 64 };

/* argp keys of options without a letter; beyond every letter. */
enum { KEY_ROW = 0x1000, KEY_NO_ROW = 0x2000, KEY_CONFIG = 0x3000, KEY_PRINT_CONFIG };

struct parse {
    const struct usage *usage;
    int nrows, noptions, first;
    bool help, print_config;
    char **argv;
    int refused;                 /* where in argv getopt stood when it gave up */
    const char *given[ROWS_MAX]; /* last text on the command line, NULL if none */
    const char *config;
    struct schema_field fields[ROWS_MAX + 1]; /* the rows again, as the YAML layer wants them */
    char negated[ROWS_MAX][NAME_MAX_BYTES];   /* "no-NAME" of the flags */
    struct argp_option options[OPTIONS_MAX];
};

static int __attribute__((format(printf, 2, 3)))
bad_usage(const struct usage *usage, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c))
            *c = '?'; /* an argument is hostile: no escape sequence may reach a terminal */
    fprintf(stderr, "tilewise %s: %s; see: tilewise help %s\n", usage->command, text,
            usage->command);
    return EXIT_BAD_USAGE;
}

static int row_key(const struct parse *p, int i)
{
    return p->usage->options[i].letter ? p->usage->options[i].letter : KEY_ROW + i;
}

static void add_option(struct parse *p, struct argp_option option)
{
    assert(p->noptions < OPTIONS_MAX - 1); /* the last one stays empty: it ends the list */
    p->options[p->noptions++] = option;
}

static void add_row(struct parse *p, int i)
{
    const struct option_row *row = &p->usage->options[i];
    bool flag = row->type == OPTION_FLAG;
    add_option(p, (struct argp_option){ .name = row->name,
                                        .key = row_key(p, i),
                                        .arg = flag       ? NULL
                                               : row->arg ? row->arg
                                                          : "VALUE",
                                        .doc = row->doc });
    if (!flag)
        return;
    /* A flag that a file or the environment has set can be taken back on the command line. */
    snprintf(p->negated[i], sizeof p->negated[i], "no-%s", row->name);
    add_option(p, (struct argp_option){
                      .name = p->negated[i], .key = KEY_NO_ROW + i, .flags = OPTION_HIDDEN });
}

static struct schema_field row_field(const struct option_row *row)
{
    static const enum schema_type types[] = {
        [OPTION_FLAG] = SCHEMA_FLAG,       [OPTION_TEXT] = SCHEMA_TEXT,
        [OPTION_COUNT] = SCHEMA_COUNT,     [OPTION_BYTES] = SCHEMA_BYTES,
        [OPTION_SECONDS] = SCHEMA_SECONDS, [OPTION_REAL] = SCHEMA_REAL,
        [OPTION_CHOICE] = SCHEMA_CHOICE,
    };
    return (struct schema_field){
        .name = row->name, .type = types[row->type], .value = row->value, .choices = row->choices
    };
}

static void build_options(struct parse *p)
{
    static const struct argp_option ours[] = {
        { .name = "config",
          .key = KEY_CONFIG,
          .arg = "FILE",
          .group = -1,
          .doc = "read options from a YAML file of \"name: value\" lines" },
        { .name = "print-config",
          .key = KEY_PRINT_CONFIG,
          .group = -1,
          .doc = "print every option with its value, as YAML" },
        { .name = "help", .key = 'h', .group = -1, .doc = "show this help" },
    };
    const struct option_row *rows = p->usage->options;
    while (rows && p->nrows < ROWS_MAX && rows[p->nrows].name)
        p->nrows++;
    assert(!rows || !rows[p->nrows].name);
    for (int i = 0; i < p->nrows; i++) {
        add_row(p, i);
        p->fields[i] = row_field(&rows[i]);
    }
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (p->nrows || ours[i].key == 'h') /* nothing to configure, nothing to print */
            add_option(p, ours[i]);
}

static error_t on_key(int key, char *text, struct argp_state *state)
{
    struct parse *p = state->input;
    for (int i = 0; i < p->nrows; i++)
        if (key == row_key(p, i)) {
            p->given[i] = text ? text : "yes";
            return 0;
        } else if (key == KEY_NO_ROW + i) {
            p->given[i] = "no";
            return 0;
        }
    switch (key) {
    case 'h':
        p->help = true;
        return 0;
    case KEY_CONFIG:
        p->config = text;
        return 0;
    case KEY_PRINT_CONFIG:
        p->print_config = true;
        return 0;
    case ARGP_KEY_ARG: /* options are done: from here on everything is positional */
        p->first = state->next - 1;
        state->next = state->argc;
        return 0;
    case ARGP_KEY_ERROR:
        p->refused = state->next;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option *find_option(const struct parse *p, const char *name, size_t bytes,
                                             int *matches)
{
    const struct argp_option *found = NULL;
    *matches = 0;
    for (const struct argp_option *o = p->options; o->name; o++) {
        if (strncmp(o->name, name, bytes) != 0)
            continue;
        found = o;
        if (o->name[bytes] == '\0') {
            *matches = 1;
            return o;
        }
        ++*matches;
    }
    return found;
}

static const struct argp_option *find_letter(const struct parse *p, char letter)
{
    for (const struct argp_option *o = p->options; o->name; o++)
        if (o->key == letter)
            return o;
    return NULL;
}

static bool is_letters(const char *text)
{
    return text && text[0] == '-' && text[1] != '-';
}

/* This and explain_long() return -1 when nothing is wrong. */
static int explain_letters(const struct parse *p, const char *text)
{
    for (const char *c = text + 1; *c; c++) {
        const struct argp_option *o = find_letter(p, *c);
        if (!o)
            return bad_usage(p->usage, "no option '-%c'", *c);
        if (o->arg && !c[1])
            return bad_usage(p->usage, "option '-%c' needs %s", *c, o->arg);
        if (o->arg)
            break;
    }
    return -1;
}

static const char *nearest_option(const struct parse *p, const char *name)
{
    const char *best = NULL;
    for (const struct argp_option *o = p->options; o->name; o++)
        suggest_offer(name, o->name, &best);
    return best;
}

static int explain_long(const struct parse *p, const char *text)
{
    char name[NAME_MAX_BYTES];
    size_t bytes = strcspn(text, "=");
    snprintf(name, sizeof name, "%.*s", (int)bytes, text);
    int matches;
    const struct argp_option *o = find_option(p, name, strlen(name), &matches);
    if (matches > 1)
        return bad_usage(p->usage, "option '--%s' is ambiguous: write it in full", name);
    if (o && o->arg && text[bytes] != '=')
        return bad_usage(p->usage, "option '--%s' needs %s", o->name, o->arg);
    if (o && !o->arg && text[bytes] == '=')
        return bad_usage(p->usage, "option '--%s' takes no value", o->name);
    if (o)
        return -1;
    const char *near = nearest_option(p, name);
    if (near)
        return bad_usage(p->usage, "no option '--%s'; did you mean '--%s'?", name, near);
    return bad_usage(p->usage, "no option '--%s'", name);
}

/* Say what getopt found wrong: argp keeps the reason to itself. getopt stands behind a bad option,
 * or on a group of letters when letters follow the bad one. */
static int explain_refusal(const struct parse *p)
{
    const char *before = p->argv[p->refused - 1], *here = p->argv[p->refused];
    int code = -1;
    if (strncmp(before, "--", 2) == 0)
        code = explain_long(p, before + 2);
    else if (is_letters(before))
        code = explain_letters(p, before);
    if (code < 0 && is_letters(here))
        code = explain_letters(p, here);
    return code < 0 ? bad_usage(p->usage, "bad option near '%.80s'", before) : code;
}

static int run_argp(struct parse *p, int argc)
{
    char title[NAME_MAX_BYTES];
    snprintf(title, sizeof title, "tilewise %s", p->usage->command);
    struct argp argp = {
        .options = p->options, .parser = on_key, .args_doc = p->usage->args, .doc = p->usage->doc
    };
    unsigned flags =
        ARGP_NO_ERRS | ARGP_NO_HELP | (p->usage->stop_at_first_arg ? ARGP_IN_ORDER : 0);
    p->first = argc;
    if (argp_parse(&argp, argc, p->argv, flags, NULL, p) != 0)
        return explain_refusal(p);
    if (!p->help)
        return -1;
    argp_help(&argp, stdout, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, title);
    return EXIT_FINE;
}

static const char *from_environment(const char *option, char name[NAME_MAX_BYTES])
{
    int bytes = snprintf(name, NAME_MAX_BYTES, "TILEWISE_%s", option);
    for (int i = 0; i < bytes && i < NAME_MAX_BYTES; i++)
        name[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
    const char *text = getenv(name);
    return text && text[0] ? text : NULL; /* set but empty means not set, as everywhere */
}

static int apply_file(struct parse *p)
{
    char name[NAME_MAX_BYTES];
    struct fault fault;
    if (!p->config)
        p->config = from_environment("config", name);
    if (!p->config || schema_read_file(p->fields, p->config, SCHEMA_BYTES_MAX, &fault) == ST_OK)
        return -1;
    return command_fault(p->usage->command, &fault);
}

static int apply_environment(struct parse *p)
{
    for (int i = 0; i < p->nrows; i++) {
        struct fault fault;
        char name[NAME_MAX_BYTES];
        const char *text = from_environment(p->fields[i].name, name);
        if (text && !p->given[i] && schema_set(&p->fields[i], text, &fault) != ST_OK)
            return bad_usage(p->usage, "environment %s %s", name, fault.text);
    }
    return -1;
}

static int apply_command_line(struct parse *p)
{
    for (int i = 0; i < p->nrows; i++) {
        struct fault fault;
        if (p->given[i] && schema_set(&p->fields[i], p->given[i], &fault) != ST_OK)
            return bad_usage(p->usage, "option '--%s' %s", p->fields[i].name, fault.text);
    }
    return -1;
}

/* Double quotes and escapes: any path is then one line of YAML. */
static void print_quoted(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (iscntrl(*c))
            printf("\\x%02x", *c);
        else
            putchar(*c);
    putchar('"');
}

/* The shortest digits that read back as the same number: 0.95, not 0.94999999999999996. */
static void print_real(double value)
{
    char text[32];
    int digits = 1;
    do
        snprintf(text, sizeof text, "%.*g", digits, value);
    while (strtod(text, NULL) != value && ++digits <= 17);
    fputs(text, stdout);
}

static void print_value(const struct option_row *row)
{
    switch (row->type) {
    case OPTION_FLAG:
        fputs(*(bool *)row->value ? "yes" : "no", stdout);
        break;
    case OPTION_COUNT:
    case OPTION_BYTES:
        printf("%" PRIu64, *(uint64_t *)row->value);
        break;
    case OPTION_SECONDS:
    case OPTION_REAL:
        print_real(*(double *)row->value);
        break;
    case OPTION_TEXT:
    case OPTION_CHOICE:
        print_quoted(*(const char **)row->value);
    }
}

/* Text that is not set has no YAML value: its line is a comment, so that the file can be read back.
 */
static int print_config(const struct parse *p)
{
    printf("# tilewise %s\n", p->usage->command);
    for (const struct option_row *row = p->usage->options; row && row->name; row++) {
        bool text = row->type == OPTION_TEXT || row->type == OPTION_CHOICE;
        if (text && !*(const char **)row->value) {
            printf("# %s is not set\n", row->name);
            continue;
        }
        printf("%s: ", row->name);
        print_value(row);
        putchar('\n');
    }
    return EXIT_FINE;
}

static int check_count(const struct parse *p, int argc)
{
    int count = argc - p->first;
    if (count < p->usage->min_args)
        return bad_usage(p->usage, "missing argument: needs %s", p->usage->args);
    if (p->usage->max_args >= 0 && count > p->usage->max_args)
        return bad_usage(p->usage, "unexpected argument '%.80s'",
                         p->argv[p->first + p->usage->max_args]);
    return -1;
}

int options_parse(const struct usage *usage, int argc, char **argv, int *first)
{
    struct parse p = { .usage = usage, .argv = argv };
    build_options(&p);
    int code = run_argp(&p, argc);
    if (code < 0)
        code = apply_file(&p);
    if (code < 0)
        code = apply_environment(&p);
    if (code < 0)
        code = apply_command_line(&p);
    if (code < 0)
        code = p.print_config ? print_config(&p) : check_count(&p, argc);
    *first = p.first;
    return code;
}
