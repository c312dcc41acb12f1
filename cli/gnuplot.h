/* SPDX-License-Identifier: Apache-2.0
 *
 * Charts through gnuplot. Scripts hold numbers and words of ours only: no text out of a file, for
 * gnuplot can run commands.
 */
#ifndef TILEWISE_CLI_GNUPLOT_H
#define TILEWISE_CLI_GNUPLOT_H

#include <stdio.h>

#include "traces/status.h"

/* "set terminal ...": `format` is "svg", "png" or "pdf"; the size is in pixels. */
void gnuplot_terminal(FILE *script, const char *format, unsigned width, unsigned height);

/* Let `write` make the script, run it, and write the drawing to `output` ("" and "-": standard
 * output), whole or not at all. UNSUPPORTED: gnuplot is not installed. IO, and what `write`
 * returns. */
enum status gnuplot_draw(enum status (*write)(FILE *script, const void *context),
                         const void *context, const char *output, struct fault *fault);

#endif
