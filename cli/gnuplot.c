/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output.h"

enum { PIXELS_PER_INCH = 96 };

extern char **environ;

void gnuplot_terminal(FILE *script, const char *format, unsigned width, unsigned height)
{
    if (strcmp(format, "png") == 0)
        fprintf(script, "set terminal pngcairo noenhanced size %u,%u font \"DejaVu Sans,10\"\n",
                width, height);
    else if (strcmp(format, "pdf") == 0)
        fprintf(script,
                "set terminal pdfcairo noenhanced size %.2fin,%.2fin font \"DejaVu Sans,9\"\n",
                (double)width / PIXELS_PER_INCH, (double)height / PIXELS_PER_INCH);
    else
        fprintf(script,
                "set terminal svg noenhanced dynamic size %u,%u background rgb \"white\" font "
                "\"DejaVu Sans,12\"\n",
                width, height);
}

/* gnuplot reads the script from `script` and writes to `drawing`: two open
 * files, so neither can block on the other. */
static enum status run_gnuplot(FILE *script, FILE *drawing, struct fault *fault)
{
    char *const argv[] = { "gnuplot", "-d", NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int result;
    rewind(script);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return fault_set(fault, ST_NOMEM, "out of memory");
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(drawing), STDOUT_FILENO);
    int error = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT)
        return fault_set(fault, ST_UNSUPPORTED,
                         "gnuplot is not installed; install the package gnuplot-nox, or use "
                         "tilewise report --format=html, which needs none");
    if (error)
        return fault_set(fault, ST_IO, "gnuplot: %s", strerror(error));
    while (waitpid(pid, &result, 0) < 0)
        if (errno != EINTR)
            return fault_set(fault, ST_IO, "gnuplot: %s", strerror(errno));
    if (!WIFEXITED(result) || WEXITSTATUS(result) != 0)
        return fault_set(fault, ST_IO, "gnuplot failed; what it said is above");
    return ST_OK;
}

static enum status copy(FILE *from, FILE *to, struct fault *fault)
{
    char buffer[1 << 14];
    size_t bytes;
    rewind(from);
    while ((bytes = fread(buffer, 1, sizeof buffer, from)) > 0)
        if (fwrite(buffer, 1, bytes, to) != bytes)
            break; /* output_close() says why */
    return ferror(from) ? fault_set(fault, ST_IO, "temporary file: %s", strerror(errno)) : ST_OK;
}

/* gnuplot does not notice that a disk is full, so it draws into a temporary file and the copy is
 * checked. */
static enum status draw(FILE *script, FILE *drawing, const char *output, struct fault *fault)
{
    struct output out;
    enum status st = run_gnuplot(script, drawing, fault);
    if (st == ST_OK)
        st = output_open(&out, output, fault);
    return st == ST_OK ? output_close(&out, copy(drawing, out.stream, fault), fault) : st;
}

enum status gnuplot_draw(enum status (*write)(FILE *script, const void *context),
                         const void *context, const char *output, struct fault *fault)
{
    FILE *script = tmpfile(), *drawing = tmpfile();
    enum status st = ST_IO;
    if (!script || !drawing)
        fault_set(fault, ST_IO, "temporary file: %s", strerror(errno));
    else if ((st = write(script, context)) != ST_OK)
        fault_set(fault, st, "writing the gnuplot script: %s", status_text(st));
    else if (fflush(script) != 0)
        st = fault_set(fault, ST_IO, "temporary file: %s", strerror(errno));
    else
        st = draw(script, drawing, output, fault);
    if (script)
        fclose(script);
    if (drawing)
        fclose(drawing);
    return st;
}
