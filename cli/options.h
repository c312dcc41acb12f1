/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of one command from one table: flag > environment TILEWISE_NAME > YAML file
 * (--config FILE) > the default that `value` holds. --help, --print-config and --config are added.
 */
#ifndef TILEWISE_CLI_OPTIONS_H
#define TILEWISE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
    OPTION_FLAG,    /* bool */
    OPTION_TEXT,    /* const char *; lives as long as the process */
    OPTION_COUNT,   /* uint64_t: 1000, 64k */
    OPTION_BYTES,   /* uint64_t: 512M, 2G */
    OPTION_SECONDS, /* double: 60, 60s, 1.5m, 200ms */
    OPTION_REAL,    /* double */
    OPTION_CHOICE,  /* const char *, one of `choices` ("text|json|csv") */
};

struct option_row {
    const char *name; /* "time-share"; environment TILEWISE_TIME_SHARE, YAML time-share */
    char letter;      /* 'o', or 0 */
    enum option_type type;
    const char *arg; /* "DIR" in the help; NULL for a flag */
    const char *doc;
    void *value; /* holds the default; overwritten */
    const char *choices;
};

/* Rows that several commands have; `value` as above. */
/* clang-format off */
#define OPTION_ROW_OUTPUT(value)                                                                   \
    { "output", 'o', OPTION_TEXT, "FILE", "write to FILE instead of standard output", value, NULL }
#define OPTION_ROW_POLICY(value)                                                                   \
    { "policy", 'p', OPTION_TEXT, "FILE", "thresholds of the verdicts, in YAML", value, NULL }
#define OPTION_ROW_CUDA_LIBRARIES(value)                                                           \
    { "cuda-libraries", 0, OPTION_TEXT, "DIR", "look for the CUDA runtime and cuBLAS there first", \
      value, NULL }
/* clang-format on */

struct usage {
    const char *command, *args, *doc; /* args: "TRACE..." */
    const struct option_row *options; /* ends with a NULL name */
    int min_args, max_args;           /* positional; max_args -1 = any */
    bool stop_at_first_arg;           /* `record ... CMD`: what follows belongs to CMD */
};

/* Parse. Returns -1 to go on (positionals are argv[*first] to argv[argc - 1]; argv is permuted
 * unless stop_at_first_arg), or the exit code to return at once (0 after --help or --print-config,
 * 64 after a message about bad usage, 2 about a bad YAML file). */
int options_parse(const struct usage *usage, int argc, char **argv, int *first);

#endif
