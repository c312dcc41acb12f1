/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/manifest_parts.h"
#include "replayer/manifest_words.h"

enum { BINARIES_MAX = 16 };

/* What is being read. */
static struct {
    struct manifest *manifest;
    const char *text; /* an element of a list that is only for people */
    struct cubin_module module;
    struct cubin_binary binary, binaries[BINARIES_MAX];
    const char *file;
} draft;

void *manifest_copy(const void *data, size_t count, size_t bytes)
{
    void *copy = malloc(count * bytes + 1);
    if (copy && count)
        memcpy(copy, data, count * bytes);
    return copy;
}

enum status manifest_no_memory(struct fault *fault)
{
    return fault_set(fault, ST_NOMEM, "out of memory");
}

enum status manifest_take_nothing(void *context, struct fault *fault)
{
    (void)context;
    (void)fault;
    return ST_OK;
}

/* The file lies in the manifest's folder or in one below. */
static bool is_inside(const char *file)
{
    for (const char *at = file; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
        if (strcspn(at, "/") == 0 || (strncmp(at, "..", 2) == 0 && strcspn(at, "/") == 2))
            return false;
    return true;
}

static char *path_beside_manifest(const char *file)
{
    const char *slash = strrchr(draft.manifest->path, '/');
    int folder = slash ? (int)(slash - draft.manifest->path + 1) : 0;
    char *path = NULL;
    return asprintf(&path, "%.*s%s", folder, draft.manifest->path, file) < 0 ? NULL : path;
}

/* Hostile text has no files, and is to be read to its end. */
static enum status check_file(const struct cubin_binary *b, struct fault *fault)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)b;
    (void)fault;
    return ST_OK;
#else
    struct fault inner = { .text = "" };
    size_t bytes;
    char *data = cubin_read_file(b->path, b->sha256, &bytes, &inner);
    free(data);
    return data ? ST_OK : fault_set(fault, ST_INVALID, "%s", inner.text);
#endif
}

static enum status take_binary(void *context, struct fault *fault)
{
    struct cubin_module *module = context;
    struct cubin_binary *b = &draft.binary;
    if (module->nbinaries == BINARIES_MAX)
        return fault_set(fault, ST_INVALID, "more than %d cubins", BINARIES_MAX);
    if (!is_inside(draft.file))
        return fault_set(fault, ST_INVALID, "'%.200s' is not inside the manifest's folder",
                         draft.file);
    for (size_t i = 0; i < module->nbinaries; i++)
        if (draft.binaries[i].arch == b->arch && draft.binaries[i].only_there == b->only_there)
            return fault_set(fault, ST_INVALID, "there is a cubin for this architecture above");
    b->path = path_beside_manifest(draft.file);
    if (b->path == NULL)
        return manifest_no_memory(fault);
    draft.binaries[module->nbinaries++] = *b;
    return check_file(b, fault);
}

static void free_binaries(struct cubin_binary *binaries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(binaries[i].path);
}

static enum status take_compiler(void *context, struct fault *fault)
{
    struct cubin_module *module = context;
    size_t used = strlen(module->compilers);
    (void)fault;
    snprintf(module->compilers + used, sizeof module->compilers - used, "%s%s", used ? ", " : "",
             draft.text);
    return ST_OK;
}

enum status manifest_take_module(void *context, struct fault *fault)
{
    struct manifest *m = draft.manifest;
    struct cubin_module *module = &draft.module;
    (void)context;
    if (module->nbinaries == 0)
        return fault_set(fault, ST_INVALID, "it has no cubins");
    for (size_t i = 0; i < m->nmodules; i++)
        if (strcmp(m->modules[i]->name, module->name) == 0)
            return fault_set(fault, ST_INVALID, "the name '%.60s' is taken above", module->name);
    if (m->nmodules == MANIFEST_MODULES_MAX)
        return fault_set(fault, ST_INVALID, "more than %d modules", MANIFEST_MODULES_MAX);
    struct cubin_module *kept = manifest_copy(module, 1, sizeof *module);
    if (kept == NULL)
        return manifest_no_memory(fault);
    kept->binaries = manifest_copy(draft.binaries, module->nbinaries, sizeof *kept->binaries);
    if (kept->binaries == NULL) {
        free(kept);
        return manifest_no_memory(fault);
    }
    m->modules[m->nmodules++] = kept;
    *module = (struct cubin_module){ .name = NULL };
    return ST_OK;
}

static const struct schema_field binary_fields[] = {
    OWN("arch", &draft.binary, manifest_parse_arch, .required = true),
    TEXT("file", &draft.file, .required = true),
    OWN("sha256", draft.binary.sha256, manifest_parse_sha256, .required = true),
    { 0 },
};
ELEMENT(text_element, TEXT("", &draft.text));

const struct schema_field manifest_module_fields[] = {
    TEXT("name", &draft.module.name, .required = true),
    TEXT("source", &draft.text),
    TEXT("source_sha256", &draft.text),
    TEXT("command", &draft.text),
    LIST("compilers", text_element, take_compiler, &draft.module),
    LIST("cubins", binary_fields, take_binary, &draft.module, .required = true),
    { 0 },
};

void manifest_begin_modules(struct manifest *m)
{
    memset(&draft, 0, sizeof draft);
    draft.manifest = m;
}

void manifest_drop_module(void)
{
    free_binaries(draft.binaries, draft.module.nbinaries);
}

void manifest_free_module(struct cubin_module *module)
{
    free_binaries(module->binaries, module->nbinaries);
    free(module->binaries);
    free(module);
}
