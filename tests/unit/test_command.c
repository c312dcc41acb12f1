/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

TestSuite(command, .init = cr_redirect_stderr);

Test(command, every_row_has_a_summary_and_a_name_of_its_own)
{
    for (const struct command *c = commands; c->name; c++) {
        cr_assert(c->summary[0] && c->run, "%s", c->name);
        for (const struct command *other = c + 1; other->name; other++)
            cr_assert_str_neq(c->name, other->name);
    }
}

Test(command, is_found_by_its_name)
{
    cr_assert_str_eq(command_find("help")->name, "help");
    cr_assert_str_eq(command_find("doctor")->name, "doctor");
}

Test(command, is_not_found_by_a_part_of_its_name)
{
    cr_assert_null(command_find("hel"));
    cr_assert_null(command_find(""));
}

Test(command, a_slip_gets_a_suggestion)
{
    cr_assert_null(command_find("hepl"));
    fflush(stderr);
    cr_assert_stderr_eq_str(
        "tilewise: no command 'hepl'; did you mean 'help'?; see: tilewise help\n");
}

Test(command, a_fault_without_text_says_its_status)
{
    struct fault fault = { .status = ST_NOMEM, .text = "" };
    cr_assert_eq(command_fault("demo", &fault), EXIT_FAULT);
    fflush(stderr);
    cr_assert_stderr_eq_str("tilewise demo: out of memory\n");
}

Test(command, a_fault_is_one_line)
{
    struct fault fault;
    fault_set(&fault, ST_IO, "%s: gone\n\033[1m", "x.twt");
    command_fault("demo", &fault);
    fflush(stderr);
    cr_assert_stderr_eq_str("tilewise demo: x.twt: gone??[1m\n");
}
