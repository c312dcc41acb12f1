/* SPDX-License-Identifier: Apache-2.0
 *
 * The name of the GPU, from folders as the kernel module makes them.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tracer/cards.c" /* the shim is no library to link: it would be preloaded here */

static char folder[] = "/tmp/tilewise-cards-XXXXXX";

static void add_card(const char *address, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, address);
    cr_assert_eq(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/information", folder, address);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void make_folder(void)
{
    cr_assert(mkdtemp(folder));
}

static void remove_folder(void)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(system(command), 0);
}

TestSuite(cards, .init = make_folder, .fini = remove_folder);

static const char h200[] = "Model: \t\t NVIDIA H200\nIRQ:   \t\t 38\nGPU UUID: \t GPU-0\n";
static char model[64];

Test(cards, a_machine_without_the_module_has_none)
{
    cr_assert(!cards_model("/nonexistent/gpus", model, sizeof model));
    cr_assert(!cards_model(folder, model, sizeof model));
}

Test(cards, one_card_has_a_name)
{
    add_card("0000:18:00.0", h200);
    cr_assert(cards_model(folder, model, sizeof model));
    cr_assert_str_eq(model, "NVIDIA H200");
}

Test(cards, several_of_one_model_are_that_model)
{
    add_card("0000:18:00.0", h200);
    add_card("0000:2a:00.0", h200);
    cr_assert(cards_model(folder, model, sizeof model));
    cr_assert_str_eq(model, "NVIDIA H200");
}

Test(cards, different_ones_are_not_named)
{
    add_card("0000:18:00.0", h200);
    add_card("0000:2a:00.0", "Model: \t\t NVIDIA L4\n");
    cr_assert(!cards_model(folder, model, sizeof model));
}

Test(cards, what_is_no_model_is_not_believed)
{
    add_card("0000:18:00.0", "IRQ: 3\n");
    cr_assert(!cards_model(folder, model, sizeof model));
    add_card("0000:19:00.0", "Model: \n");
    cr_assert(!cards_model(folder, model, sizeof model));
    add_card("0000:20:00.0", "Model: a name that is much longer than the room for it\n");
    cr_assert(!cards_model(folder, model, 16));
}
