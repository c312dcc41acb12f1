/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/cupti_find.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/elf.h"
#include "tracer/host.h"

struct place {
    char loaded[ELF_NAME_BYTES]; /* path of a libcupti; "" if none */
    char folder[ELF_NAME_BYTES]; /* of the CUDA libraries, with its '/' */
    int major;                   /* of CUDA; 0 unknown */
    bool has_driver;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool look(const struct elf_object *object, void *context)
{
    static const char *const cuda[] = { "libcudart.so.", "libcublas.so.", "libcublasLt.so." };
    struct place *p = context;
    const char *base = elf_file_name(object->name);
    if (begins(base, "libcupti.so"))
        snprintf(p->loaded, sizeof p->loaded, "%s", object->name);
    p->has_driver |= begins(base, "libcuda.so");
    for (size_t i = 0; i < sizeof cuda / sizeof *cuda; i++)
        if (!p->major && begins(base, cuda[i])) {
            p->major = atoi(base + strlen(cuda[i]));
            snprintf(p->folder, sizeof p->folder, "%.*s", (int)(base - object->name), object->name);
        }
    return false;
}

/* A toolkit and the Python packages lay it out in these ways. */
static void *open_beside(const struct place *p)
{
    static const char *const way[] = { "", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/",
                                       "../../cu13/lib/" };
    char path[2 * ELF_NAME_BYTES];
    void *handle = NULL;
    for (size_t i = 0; i < sizeof way / sizeof *way && !handle && *p->folder; i++) {
        snprintf(path, sizeof path, "%s%slibcupti.so.%d", p->folder, way[i], p->major);
        handle = host_get()->dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    return handle;
}

static void *open_by_name(const struct place *p)
{
    static const int majors[] = { 13, 12 };
    char name[32];
    void *handle = NULL;
    for (size_t i = 0; i < sizeof majors / sizeof *majors && !handle; i++) {
        if (!(p->has_driver || p->major) || (p->major && p->major != majors[i]))
            continue;
        snprintf(name, sizeof name, "libcupti.so.%d", majors[i]);
        handle = host_get()->dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    }
    return handle;
}

bool cupti_find(struct cupti_functions *out)
{
    struct place p = { 0 };
    const struct host *host = host_get();
    if (!host->dlopen || !host->dlsym)
        return false;
    elf_each(look, &p);
    void *handle = *p.loaded ? host->dlopen(p.loaded, RTLD_LAZY | RTLD_NOLOAD) : open_beside(&p);
    if (!handle)
        handle = open_by_name(&p);
    bool complete = handle != NULL;
#define ROW(name, parameters)                                                                      \
    out->name = handle ? (int(*) parameters)(uintptr_t)host->dlsym(handle, "cupti" #name) : NULL;  \
    complete &= out->name != NULL;
#include "tracer/cupti.def"
#undef ROW
    if (host->dlerror)
        host->dlerror(); /* the host shall not find our failures */
    return complete;
}
