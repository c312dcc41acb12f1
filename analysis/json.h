/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON as all commands write it: what is unknown is null, never 0 or NaN; ten digits; hostile text
 * escaped. And what the reports and `info` have in common: the `trace` object.
 */
#ifndef TILEWISE_ANALYSIS_JSON_H
#define TILEWISE_ANALYSIS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <yajl/yajl_gen.h>

#include "traces/summary.h"

/* An open object that says which tilewise writes it; NULL without memory. */
yajl_gen json_begin(void);
/* Close the object, write it and free `g`. NOMEM; failed writes show in ferror(out). */
enum status json_end(yajl_gen g, FILE *out);

void json_text(yajl_gen g, const char *value); /* NULL: null */
void json_real(yajl_gen g, double value);
void json_whole(yajl_gen g, uint64_t value);
void json_key(yajl_gen g, const char *name);
void json_key_text(yajl_gen g, const char *name, const char *value);
void json_key_real(yajl_gen g, const char *name, double value);
void json_key_whole(yajl_gen g, const char *name, uint64_t value);
void json_key_signed(yajl_gen g, const char *name, int64_t value);
void json_key_flag(yajl_gen g, const char *name, bool value);
void json_open_map(yajl_gen g, const char *name);
void json_open_array(yajl_gen g, const char *name);
/* op, dtype, m, n, k, batch, trans: fields of the open object. */
void json_problem(yajl_gen g, const struct tilewise_signature *s);

/* "dropped": calls by cause. */
void json_dropped(yajl_gen g, const struct trace_counters *c);
/* "trace": how much there is and how complete it is. */
void json_trace(yajl_gen g, const struct summary *s, double coverage_time, const char *device);

#endif
