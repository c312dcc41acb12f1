/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/html.h"

#include <string.h>

void html_open_table(FILE *out, const char *label, const char *columns)
{
    fprintf(out,
            "<div class=\"scroll\" role=\"region\" aria-label=\"%s\" tabindex=\"0\"><table>"
            "<thead><tr>",
            label);
    for (const char *p = columns; *p;) {
        bool at_left = *p == '<';
        int length = (int)strcspn(p += at_left, "|");
        fprintf(out, "<th scope=\"col\"%s>%.*s</th>", at_left ? " class=\"t\"" : "", length, p);
        p += length + (p[length] == '|');
    }
    fputs("</tr></thead><tbody>\n", out);
}

void html_close_table(FILE *out)
{
    fputs("</tbody></table></div>\n", out);
}

void html_verdict(FILE *out, const struct analysis_group *g)
{
    const char *word = decide_word(g->decision.verdict);
    fprintf(out, "<span class=\"word v-%s\">%s</span>", word, word);
}

void html_fact(FILE *out, const char *name, const char *value)
{
    fprintf(out, "<div><dt>%s</dt><dd>%s</dd></div>", name, value);
}
