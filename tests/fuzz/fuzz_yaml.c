/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes whatever as a policy and as a dispatch table: values within their ranges, a table that
 * can be asked, or one line that names the place; nothing else.
 */
#include "fuzz.h"

#include <math.h>

#include "analysis/policy.h"
#include "kernels/dispatch_table.h"

static void check_fault(enum status st, const struct fault *fault)
{
    require(st == ST_INVALID || st == ST_LIMIT, "an error that text cannot have");
    require(strncmp(fault->text, "f.yaml:", 7) == 0, "an error without a place");
    for (const char *c = fault->text; *c; c++)
        require((unsigned char)*c >= ' ' && *c != 127, "an error that is not one line");
}

static void read_policy(const char *text, size_t count)
{
    struct policy policy;
    struct policy_fields fields;
    struct fault fault = { .text = "" };
    policy_default(&policy);
    enum status st = schema_read_text(policy_bind(&policy, &fields), "f.yaml", text, count,
                                      SCHEMA_BYTES_MAX, &fault);
    if (st != ST_OK)
        check_fault(st, &fault);
    require(policy.heat.high >= 0 && policy.heat.high <= 1, "heat out of range");
    require(policy.stability.k90 >= 1 && policy.stability.k90 <= 1000000, "k90 out of range");
    require(isfinite(policy.gain.dispatch_s) && policy.gain.dispatch_s >= 0, "no time");
}

static void read_table(const char *text, size_t count)
{
    static const struct tilewise_candidate tile = { .name = "gemm_f32_avx2" };
    static const struct tilewise_candidate *const row[] = { &tile };
    static const struct dispatch_kernels kernels = { row, 1 };
    struct dispatch_table *table;
    struct fault fault = { .text = "" };
    enum status st = dispatch_table_read_text(&table, "f.yaml", text, count, &kernels, &fault);
    if (st != ST_OK) {
        require(table == NULL, "a table and an error");
        check_fault(st, &fault);
        return;
    }
    struct tilewise_signature s = { .op = TILEWISE_OP_GEMM, .dtype_c = TILEWISE_F32, .m = 16 };
    const struct tilewise_candidate *kernel = dispatch_table_find(table, &s);
    require(kernel == NULL || kernel == &tile, "a kernel of nobody's");
    dispatch_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    read_policy((const char *)bytes, count);
    read_table((const char *)bytes, count);
    return 0;
}
