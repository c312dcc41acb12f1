/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a manifest that have a grammar of their own, for traces/schema.h: each reads one
 * text into what `value` points to.
 */
#ifndef TILEWISE_REPLAYER_MANIFEST_WORDS_H
#define TILEWISE_REPLAYER_MANIFEST_WORDS_H

#include "replayer/cubin.h"
#include "traces/schema.h"

schema_parse manifest_parse_expr;       /* struct expr: of a launch */
schema_parse manifest_parse_condition;  /* struct expr: of a call, without the device's names */
schema_parse manifest_parse_type;       /* uint8_t: enum tilewise_dtype, real, of whole bytes */
schema_parse manifest_parse_compute;    /* uint32_t: adds 1 << the type */
schema_parse manifest_parse_transposes; /* uint8_t: adds cubin_candidate's bit; N and T: << 4 */
schema_parse manifest_parse_arch;       /* struct cubin_binary: arch, only_there */
schema_parse manifest_parse_sha256;     /* uint8_t[SHA256_BYTES] */

/* INVALID: "expects WHAT, not 'TEXT' (did you mean 'NEAR'?)"; near may be NULL. */
enum status manifest_no_such(const char *what, const char *text, const char *near,
                             struct fault *fault);

#endif
