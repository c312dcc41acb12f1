/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "analysis/json.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/options.h"

static const char *format = "text", *device = "cuda", *cuda_libraries, *python = "python3";

static const struct option_row rows[] = {
    { "device", 0, OPTION_CHOICE, "cuda|cpu|auto",
      "what to decide about: work on a GPU (default), on a CPU alone, or on a GPU if there is a "
      "driver for one",
      &device, "cuda|cpu|auto" },
    OPTION_ROW_CUDA_LIBRARIES(&cuda_libraries),
    { "python", 0, OPTION_TEXT, "PROGRAM", "the Python that has the cuTile toolchain", &python,
      NULL },
    { "format", 'f', OPTION_CHOICE, "text|json", "how to print", &format, "text|json" },
    { 0 },
};

static const struct usage usage = {
    .command = "doctor",
    .args = "[DIR]",
    .doc = "Answer the checklist that comes before any decision on a kernel, and say what works on "
           "this machine, what is missing, and what to do about it."
           "\vThe checklist is proved, not believed: wrong kernels are offered to the "
           "verification, a call with more work must take longer, the way back is taken. "
           "DIR is where traces would be written; the current directory if not given. Exit "
           "status: 0 every answer is yes, 1 one is no, or something that record, replay or "
           "report needs is missing.",
    .options = rows,
    .min_args = 0,
    .max_args = 1,
};

static bool is_needed(const struct check *check, bool for_gpu)
{
    return check->need == CHECK_FOR_ALL || (check->need == CHECK_FOR_GPU && for_gpu);
}

static void print_title(enum check_part part)
{
    static const char *const titles[] = { [CHECK_CHECKLIST] =
                                              "checklist: may one decide on a kernel here?",
                                          [CHECK_MACHINE] = "\nthis machine" };
    puts(titles[part]);
}

static void print_text(const struct check *check, const struct check_finding *f, bool needed)
{
    const char *word = checks_state_name(check, f->state);
    if (f->state == CHECK_MISSING && !needed)
        word = "optional";
    printf("%-8s  %-12s  %s\n", word, check->name, f->value);
    if (f->remedy[0])
        printf("%24s%s\n", "-> ", f->remedy);
}

static void put_check(yajl_gen g, const struct check *check, const struct check_finding *f,
                      bool needed)
{
    yajl_gen_map_open(g);
    json_key_text(g, "name", check->name);
    json_key_text(g, "state", checks_state_name(check, f->state));
    json_key_flag(g, "needed", needed);
    json_key_text(g, "value", f->value);
    json_key_text(g, "remedy", f->remedy[0] ? f->remedy : NULL);
    yajl_gen_map_close(g);
}

/* Every row, in text or into the open object; false when something that is needed is missing. */
static bool look(const struct check_context *context, bool for_gpu, yajl_gen g)
{
    static const char *const arrays[] = {
        [CHECK_CHECKLIST] = "checklist", [CHECK_MACHINE] = "checks"
    };
    bool ready = true;
    for (const struct check *check = checks; check->name; check++) {
        struct check_finding finding = { .state = CHECK_OK };
        bool needed = is_needed(check, for_gpu);
        bool first = check == checks || check->part != check[-1].part;
        if (first && g)
            json_open_array(g, arrays[check->part]);
        else if (first)
            print_title(check->part);
        check->look(&finding, context);
        ready = ready && !(needed && finding.state == CHECK_MISSING);
        if (g)
            put_check(g, check, &finding, needed);
        else
            print_text(check, &finding, needed);
        if (g && (!check[1].name || check[1].part != check->part))
            yajl_gen_array_close(g);
        fflush(stdout); /* some checks take a second */
    }
    return ready;
}

int cmd_doctor(int argc, char **argv)
{
    struct fault fault = { .status = ST_NOMEM };
    int first, code = options_parse(&usage, argc, argv, &first);
    if (code >= 0)
        return code;
    struct check_context context = {
        .directory = first < argc ? argv[first] : ".",
        .python = python,
        .open = { .libraries = cuda_libraries },
    };
    bool as_json = strcmp(format, "json") == 0, only_cpu = strcmp(device, "cpu") == 0;
    yajl_gen g = as_json ? json_begin() : NULL;
    if (as_json && !g)
        return command_fault("doctor", &fault);
    checklist_begin(&context, !only_cpu);
    bool for_gpu =
        strcmp(device, "cuda") == 0 || (!only_cpu && context.cuda.driver.status == ST_OK);
    bool ready = look(&context, for_gpu, g);
    if (g) {
        json_key_text(g, "device", context.backend->name);
        json_key_flag(g, "ready", ready);
        if (json_end(g, stdout) != ST_OK)
            return command_fault("doctor", &fault);
    } else
        printf("\n%s\n", ready ? "ready: record, replay and report can be trusted here"
                               : "not ready: see what is \"no\" or \"missing\" above");
    return ready ? EXIT_FINE : EXIT_FINDING;
}
