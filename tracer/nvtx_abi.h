/* SPDX-License-Identifier: Apache-2.0
 *
 * What NVTX 3 fixes between a copy of itself and a tool (nvtxDetail/nvtxTypes.h,
 * nvtxDetail/nvtxInit.h and nvToolsExt.h of NVIDIA's header-only library), as far as we use it.
 * tests/shim/vendor/ nvtx_abi.c holds these numbers against the real headers where they are
 * installed.
 *
 * Every library with a copy of NVTX calls InitializeInjectionNvtx2 at its first NVTX call, with its
 * own export function: the tool gets the tables of that copy and writes its callbacks into them.
 */
#ifndef TILEWISE_TRACER_NVTX_ABI_H
#define TILEWISE_TRACER_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { NVTX_ABI_CALLBACKS = 1 };                              /* NvtxExportTableID */
enum { NVTX_ABI_MODULE_CORE = 1, NVTX_ABI_MODULE_CORE2 = 5 }; /* NvtxCallbackModule */
enum { NVTX_ABI_NO_TRACKING = -2 };                           /* NVTX_NO_PUSH_POP_TRACKING */

/* NvtxCallbackIdCore */
enum nvtx_abi_core {
    NVTX_ABI_MarkEx = 1,
    NVTX_ABI_MarkA = 2,
    NVTX_ABI_MarkW = 3,
    NVTX_ABI_RangeStartEx = 4,
    NVTX_ABI_RangeStartA = 5,
    NVTX_ABI_RangeStartW = 6,
    NVTX_ABI_RangeEnd = 7,
    NVTX_ABI_RangePushEx = 8,
    NVTX_ABI_RangePushA = 9,
    NVTX_ABI_RangePushW = 10,
    NVTX_ABI_RangePop = 11,
};

/* NvtxCallbackIdCore2 */
enum nvtx_abi_core2 {
    NVTX_ABI_DomainMarkEx = 1,
    NVTX_ABI_DomainRangeStartEx = 2,
    NVTX_ABI_DomainRangeEnd = 3,
    NVTX_ABI_DomainRangePushEx = 4,
    NVTX_ABI_DomainRangePop = 5,
    NVTX_ABI_DomainRegisterStringA = 10,
    NVTX_ABI_DomainRegisterStringW = 11,
    NVTX_ABI_DomainCreateA = 12,
    NVTX_ABI_DomainCreateW = 13,
};

typedef void nvtx_abi_function(void);

/* NvtxExportTableCallbacks. A table is an array of pointers to function pointers, by callback id;
 * entry 0 is none, `size` counts it. */
struct nvtx_abi_callbacks {
    size_t struct_size;
    int (*get_module)(int module, nvtx_abi_function ****table, unsigned *size);
};

typedef const void *nvtx_abi_export(uint32_t table); /* NvtxGetExportTableFunc_t */

enum { NVTX_ABI_ASCII = 1, NVTX_ABI_UNICODE = 2, NVTX_ABI_REGISTERED = 3 }; /* nvtxMessageType_t */

/* nvtxEventAttributes_v2 */
struct nvtx_abi_event {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message; /* char *, wchar_t *, or what RegisterString gave */
};

#endif
