/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program sees of NVTX: the real header where TILEWISE_NVTX3 says that it is installed, else
 * a small client that finds and asks the tool as the real one does. Each library that includes it
 * has a copy of its own.
 */
#ifndef TILEWISE_TESTS_NVTX_CLIENT_H
#define TILEWISE_TESTS_NVTX_CLIENT_H

#if TILEWISE_NVTX3

#include <nvtx3/nvToolsExt.h>

#else

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

#define NVTX_VERSION                 3
#define NVTX_MESSAGE_TYPE_ASCII      1
#define NVTX_MESSAGE_TYPE_UNICODE    2
#define NVTX_MESSAGE_TYPE_REGISTERED 3

typedef uint64_t nvtxRangeId_t;
typedef struct nvtxDomain *nvtxDomainHandle_t;
typedef struct nvtxString *nvtxStringHandle_t;

typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t colorType;
    uint32_t color;
    int32_t payloadType, reserved0;
    union {
        uint64_t ullValue;
    } payload;
    int32_t messageType;
    union {
        const char *ascii;
        const wchar_t *unicode;
        nvtxStringHandle_t registered;
    } message;
} nvtxEventAttributes_t;

#define NVTX_EVENT_ATTRIB_STRUCT_SIZE ((uint16_t)sizeof(nvtxEventAttributes_t))

/* X(module, id, result, none, name, parameters, arguments): `none` is the answer without a tool. */
#define NVTX_CLIENT_LIST(X)                                                                        \
    X(core, 2, void, , nvtxMarkA, (const char *m), (m))                                            \
    X(core, 5, nvtxRangeId_t, 0, nvtxRangeStartA, (const char *m), (m))                            \
    X(core, 7, void, , nvtxRangeEnd, (nvtxRangeId_t id), (id))                                     \
    X(core, 8, int, -2, nvtxRangePushEx, (const nvtxEventAttributes_t *e), (e))                    \
    X(core, 9, int, -2, nvtxRangePushA, (const char *m), (m))                                      \
    X(core, 10, int, -2, nvtxRangePushW, (const wchar_t *m), (m))                                  \
    X(core, 11, int, -2, nvtxRangePop, (void), ())                                                 \
    X(core2, 1, void, , nvtxDomainMarkEx, (nvtxDomainHandle_t d, const nvtxEventAttributes_t *e),  \
      (d, e))                                                                                      \
    X(core2, 4, int, -2, nvtxDomainRangePushEx,                                                    \
      (nvtxDomainHandle_t d, const nvtxEventAttributes_t *e), (d, e))                              \
    X(core2, 5, int, -2, nvtxDomainRangePop, (nvtxDomainHandle_t d), (d))                          \
    X(core2, 10, nvtxStringHandle_t, NULL, nvtxDomainRegisterStringA,                              \
      (nvtxDomainHandle_t d, const char *m), (d, m))                                               \
    X(core2, 12, nvtxDomainHandle_t, NULL, nvtxDomainCreateA, (const char *m), (m))

typedef void nvtx_client_function(void);

#define X(module, id, result, none, name, parameters, arguments)                                   \
    static result(*name##_at) parameters;
NVTX_CLIENT_LIST(X)
#undef X

enum { NVTX_CLIENT_SLOTS = 16 };
static nvtx_client_function **nvtx_client_core[NVTX_CLIENT_SLOTS],
    **nvtx_client_core2[NVTX_CLIENT_SLOTS];

static int nvtx_client_table(int module, nvtx_client_function ****table, unsigned *size)
{
    *table = module == 1 ? nvtx_client_core : module == 5 ? nvtx_client_core2 : NULL;
    *size = NVTX_CLIENT_SLOTS;
    return *table != NULL;
}

static const void *nvtx_client_export(uint32_t table)
{
    static struct {
        size_t size;
        int (*get)(int, nvtx_client_function ****, unsigned *);
    } callbacks = { sizeof callbacks, nvtx_client_table };
    return table == 1 ? &callbacks : NULL;
}

static void nvtx_client_find(void)
{
#define X(module, id, result, none, name, parameters, arguments)                                   \
    nvtx_client_##module[id] = (nvtx_client_function **)(void *)&name##_at;
    NVTX_CLIENT_LIST(X)
#undef X
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*begin)(const void *(*)(uint32_t)) = NULL;
    if (tool)
        *(void **)&begin = dlsym(tool, "InitializeInjectionNvtx2");
    if (begin && begin(nvtx_client_export) == 0)
        dlclose(tool);
}

static void nvtx_client_begin(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, nvtx_client_find);
}

#define X(module, id, result, none, name, parameters, arguments)                                   \
    __attribute__((unused)) static result name parameters                                          \
    {                                                                                              \
        nvtx_client_begin();                                                                       \
        if (!name##_at)                                                                            \
            return none;                                                                           \
        return name##_at arguments;                                                                \
    }
NVTX_CLIENT_LIST(X)
#undef X

#endif
#endif
