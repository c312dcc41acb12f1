/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <yajl/yajl_gen.h>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/options.h"

static const char *format = "text";

static const struct option_row rows[] = {
    { "format", 'f', OPTION_CHOICE, "text|json", "how to print", &format, "text|json" },
    { 0 },
};

static const struct usage usage = {
    .command = "doctor",
    .args = "[DIR]",
    .doc = "Say what works on this machine, what is missing, and what to do about it."
           "\vDIR is where traces would be written; the current directory if not given. "
           "Exit status: 0 ready, 1 something that record, replay or report needs is missing.",
    .options = rows,
    .min_args = 0,
    .max_args = 1,
};

static void print_text(const struct check *check, const struct check_finding *f)
{
    const char *word = checks_state_name(f->state);
    if (f->state == CHECK_MISSING && !check->needed)
        word = "optional";
    printf("%-8s  %-12s  %s%s%s\n", word, check->name, f->value, f->remedy[0] ? "; " : "",
           f->remedy);
}

static void put(yajl_gen json, const char *key, const char *value)
{
    yajl_gen_string(json, (const unsigned char *)key, strlen(key));
    if (value && value[0])
        yajl_gen_string(json, (const unsigned char *)value, strlen(value));
    else
        yajl_gen_null(json);
}

static void put_flag(yajl_gen json, const char *key, bool value)
{
    yajl_gen_string(json, (const unsigned char *)key, strlen(key));
    yajl_gen_bool(json, value);
}

static void put_check(yajl_gen json, const struct check *check, const struct check_finding *f)
{
    yajl_gen_map_open(json);
    put(json, "name", check->name);
    put(json, "state", checks_state_name(f->state));
    put_flag(json, "needed", check->needed);
    put(json, "value", f->value);
    put(json, "remedy", f->remedy);
    yajl_gen_map_close(json);
}

static void open_json(yajl_gen json)
{
    yajl_gen_config(json, yajl_gen_beautify, 1);
    yajl_gen_map_open(json);
    put(json, "tilewise", TILEWISE_VERSION);
    yajl_gen_string(json, (const unsigned char *)"checks", strlen("checks"));
    yajl_gen_array_open(json);
}

static void close_json(yajl_gen json, bool ready)
{
    const unsigned char *text = NULL;
    size_t bytes = 0;
    yajl_gen_array_close(json);
    put_flag(json, "ready", ready);
    yajl_gen_map_close(json);
    yajl_gen_get_buf(json, &text, &bytes);
    fwrite(text, 1, bytes, stdout);
}

int cmd_doctor(int argc, char **argv)
{
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    const char *directory = first < argc ? argv[first] : ".";
    yajl_gen json = strcmp(format, "json") == 0 ? yajl_gen_alloc(NULL) : NULL;
    if (json)
        open_json(json);
    bool ready = true;
    for (const struct check *check = checks; check->name; check++) {
        struct check_finding finding = { .state = CHECK_OK };
        check->look(&finding, directory);
        ready = ready && !(check->needed && finding.state == CHECK_MISSING);
        if (json)
            put_check(json, check, &finding);
        else
            print_text(check, &finding);
    }
    if (json) {
        close_json(json, ready);
        yajl_gen_free(json);
    } else
        puts(ready ? "ready to record, replay and report" : "not ready: see what is missing above");
    return ready ? EXIT_FINE : EXIT_FINDING;
}
