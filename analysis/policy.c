/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/policy.h"

#include <string.h>

void policy_default(struct policy *p)
{
    memset(p, 0, sizeof *p);
#define X(map, key, member, type, c_type, value, min, max) p->map.member = value;
    POLICY_LIST(X)
#undef X
}

const struct schema_field *policy_bind(struct policy *p, struct policy_fields *fields)
{
#define X(map) MAP_##map,
    enum { POLICY_MAP_LIST(X) MAPS };
#undef X
    size_t used[MAPS] = { 0 };
    memset(fields, 0, sizeof *fields);
#define X(map)                                                                                     \
    fields->maps[MAP_##map] = (struct schema_field){ .name = #map,                                 \
                                                     .type = SCHEMA_MAP,                           \
                                                     .fields = fields->values[MAP_##map] };
    POLICY_MAP_LIST(X)
#undef X
#define X(map, key, member, ftype, c_type, value_, min_, max_)                                     \
    fields->values[MAP_##map][used[MAP_##map]++] = (struct schema_field){                          \
        .name = key, .type = SCHEMA_##ftype, .value = &p->map.member, .min = min_, .max = max_     \
    };
    POLICY_LIST(X)
#undef X
    return fields->maps;
}

enum status policy_read(struct policy *p, const char *path, struct fault *fault)
{
    struct policy_fields fields;
    policy_default(p);
    return path[0] ? schema_read_file(policy_bind(p, &fields), path, SCHEMA_BYTES_MAX, fault)
                   : ST_OK;
}
