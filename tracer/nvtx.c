/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/nvtx.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "tracer/config.h"
#include "tracer/hook.h"
#include "tracer/nvtx_abi.h"
#include "tracer/nvtx_range.h"
#include "tracer/nvtx_text.h"
#include "tracer/tap.h"

/* Handles given out are places in these pools. The default domain is number 0. */
enum { DOMAINS = 64, STRINGS = 1024, FOREIGN = DOMAINS + 1 };

static struct nvtx_name domains[DOMAINS], strings[STRINGS];
static _Atomic bool attached;

const char *nvtx_state(void)
{
    if (!config.nvtx)
        return "";
    if (atomic_load_explicit(&attached, memory_order_relaxed))
        return "on";
    return config.nvtx_taken ? "off: NVTX_INJECTION64_PATH names another tool" : "";
}

/* Libraries whose ranges are their own business. */
static bool is_foreign(const char *name)
{
    static const char list[][8] = { "NCCL", "CCCL", "cuBLAS", "cuDNN" };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* Number of a pool's entry that the host holds a handle of; 0: not one of them. */
static unsigned number_of(const void *handle, const struct nvtx_name *pool, unsigned size)
{
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)pool;
    return offset < size * sizeof *pool && offset % sizeof *pool == 0
               ? (unsigned)(offset / sizeof *pool) + 1
               : 0;
}

static unsigned domain_of(const void *handle)
{
    unsigned number = number_of(handle, domains, DOMAINS);
    const char *name = number ? nvtx_names_text(domains, number) : NULL;
    return name && is_foreign(name) ? FOREIGN : number;
}

static void *handle_of(struct nvtx_name *pool, unsigned size, const char *text)
{
    unsigned number =
        text ? nvtx_names_number(pool, size, text, strnlen(text, NVTX_TEXT_BYTES)) : 0;
    return number ? &pool[number - 1] : NULL;
}

/* The message of an event, wide ones turned into `narrow`. */
static const char *message_of(const struct nvtx_abi_event *e, char narrow[NVTX_TEXT_BYTES + 1])
{
    const char *text = NULL;
    if (!e || e->size < sizeof *e || !e->message)
        return "";
    if (e->message_type == NVTX_ABI_ASCII)
        text = e->message;
    if (e->message_type == NVTX_ABI_UNICODE) {
        nvtx_text_narrow(e->message, narrow);
        text = narrow;
    }
    unsigned number = number_of(e->message, strings, STRINGS);
    if (e->message_type == NVTX_ABI_REGISTERED && number)
        text = nvtx_names_text(strings, number);
    return text ? text : "";
}

static int push_in(unsigned domain, const struct nvtx_abi_event *e)
{
    char narrow[NVTX_TEXT_BYTES + 1];
    return domain == FOREIGN ? NVTX_ABI_NO_TRACKING
                             : nvtx_range_push(domain, message_of(e, narrow));
}

static uint64_t start_in(unsigned domain, const struct nvtx_abi_event *e)
{
    char narrow[NVTX_TEXT_BYTES + 1];
    return domain == FOREIGN ? 0 : nvtx_range_start(message_of(e, narrow));
}

static void mark_in(unsigned domain, const struct nvtx_abi_event *e)
{
    char narrow[NVTX_TEXT_BYTES + 1];
    if (domain != FOREIGN)
        nvtx_range_mark(message_of(e, narrow));
}

/* The callbacks, named as in nvtx_abi.h. A message may be NULL. */

static void MarkEx(const struct nvtx_abi_event *e)
{
    mark_in(0, e);
}

static void MarkA(const char *message)
{
    nvtx_range_mark(message ? message : "");
}

static void MarkW(const void *message)
{
    char narrow[NVTX_TEXT_BYTES + 1] = "";
    if (message)
        nvtx_text_narrow(message, narrow);
    nvtx_range_mark(narrow);
}

static uint64_t RangeStartEx(const struct nvtx_abi_event *e)
{
    return start_in(0, e);
}

static uint64_t RangeStartA(const char *message)
{
    return nvtx_range_start(message ? message : "");
}

static uint64_t RangeStartW(const void *message)
{
    char narrow[NVTX_TEXT_BYTES + 1] = "";
    if (message)
        nvtx_text_narrow(message, narrow);
    return nvtx_range_start(narrow);
}

static void RangeEnd(uint64_t id)
{
    nvtx_range_end(id);
}

static int RangePushEx(const struct nvtx_abi_event *e)
{
    return push_in(0, e);
}

static int RangePushA(const char *message)
{
    return nvtx_range_push(0, message ? message : "");
}

static int RangePushW(const void *message)
{
    char narrow[NVTX_TEXT_BYTES + 1] = "";
    if (message)
        nvtx_text_narrow(message, narrow);
    return nvtx_range_push(0, narrow);
}

static int RangePop(void)
{
    return nvtx_range_pop(0);
}

static void DomainMarkEx(const void *domain, const struct nvtx_abi_event *e)
{
    mark_in(domain_of(domain), e);
}

static uint64_t DomainRangeStartEx(const void *domain, const struct nvtx_abi_event *e)
{
    return start_in(domain_of(domain), e);
}

static void DomainRangeEnd(const void *domain, uint64_t id)
{
    (void)domain;
    nvtx_range_end(id);
}

static int DomainRangePushEx(const void *domain, const struct nvtx_abi_event *e)
{
    return push_in(domain_of(domain), e);
}

static int DomainRangePop(const void *domain)
{
    unsigned number = domain_of(domain);
    return number == FOREIGN ? NVTX_ABI_NO_TRACKING : nvtx_range_pop(number);
}

static void *DomainRegisterStringA(const void *domain, const char *text)
{
    (void)domain;
    return handle_of(strings, STRINGS, text);
}

static void *DomainRegisterStringW(const void *domain, const void *text)
{
    char narrow[NVTX_TEXT_BYTES + 1] = "";
    (void)domain;
    if (text)
        nvtx_text_narrow(text, narrow);
    return handle_of(strings, STRINGS, narrow);
}

static void *DomainCreateA(const char *name)
{
    return handle_of(domains, DOMAINS, name);
}

static void *DomainCreateW(const void *name)
{
    char narrow[NVTX_TEXT_BYTES + 1] = "";
    if (name)
        nvtx_text_narrow(name, narrow);
    return handle_of(domains, DOMAINS, narrow);
}

/* Write one callback into a copy's table; slots that we do not need are left alone. */
static void set(nvtx_abi_function ***table, unsigned size, unsigned id, nvtx_abi_function *callback)
{
    if (id < size && table[id])
        *table[id] = callback;
}

#define SET(name) set(table, size, NVTX_ABI_##name, (nvtx_abi_function *)name)

static bool attach_core(const struct nvtx_abi_callbacks *copy)
{
    nvtx_abi_function ***table = NULL;
    unsigned size = 0;
    if (!copy->get_module(NVTX_ABI_MODULE_CORE, &table, &size) || !table)
        return false;
    SET(MarkEx);
    SET(MarkA);
    SET(MarkW);
    SET(RangeStartEx);
    SET(RangeStartA);
    SET(RangeStartW);
    SET(RangeEnd);
    SET(RangePushEx);
    SET(RangePushA);
    SET(RangePushW);
    SET(RangePop);
    return true;
}

static bool attach_core2(const struct nvtx_abi_callbacks *copy)
{
    nvtx_abi_function ***table = NULL;
    unsigned size = 0;
    if (!copy->get_module(NVTX_ABI_MODULE_CORE2, &table, &size) || !table)
        return false;
    SET(DomainMarkEx);
    SET(DomainRangeStartEx);
    SET(DomainRangeEnd);
    SET(DomainRangePushEx);
    SET(DomainRangePop);
    SET(DomainRegisterStringA);
    SET(DomainRegisterStringW);
    SET(DomainCreateA);
    SET(DomainCreateW);
    return true;
}

/* A copy may come before our constructor has read the environment: its events are left out until
 * then. */
static bool is_wanted(void)
{
    return !tap_is_loaded() || (config.nvtx && !tap_is_inert());
}

HOOK int InitializeInjectionNvtx2(nvtx_abi_export *export);
int InitializeInjectionNvtx2(nvtx_abi_export *export)
{
    const struct nvtx_abi_callbacks *copy =
        export && is_wanted() ? export(NVTX_ABI_CALLBACKS) : NULL;
    if (!copy || copy->struct_size < sizeof *copy || !copy->get_module)
        return 0;
    nvtx_range_begin();
    bool core = attach_core(copy), core2 = attach_core2(copy);
    atomic_store_explicit(&attached, core || core2, memory_order_relaxed);
    return core || core2;
}
