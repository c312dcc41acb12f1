/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of tracer/nvtx_abi.h against those of NVTX itself; it compiles or it does not.
 */
#include <nvtx3/nvToolsExt.h>
#include <stddef.h>

#include "tracer/nvtx_abi.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
#define CORE(name)         SAME(NVTX_ABI_##name, NVTX_CBID_CORE_##name)
#define CORE2(name)        SAME(NVTX_ABI_##name, NVTX_CBID_CORE2_##name)
#define FIELD(ours, theirs)                                                                        \
    SAME(offsetof(struct nvtx_abi_event, ours), offsetof(nvtxEventAttributes_t, theirs))

SAME(NVTX_ABI_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME(NVTX_ABI_MODULE_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_ABI_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_ABI_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);
CORE(MarkEx);
CORE(MarkA);
CORE(MarkW);
CORE(RangeStartEx);
CORE(RangeStartA);
CORE(RangeStartW);
CORE(RangeEnd);
CORE(RangePushEx);
CORE(RangePushA);
CORE(RangePushW);
CORE(RangePop);
CORE2(DomainMarkEx);
CORE2(DomainRangeStartEx);
CORE2(DomainRangeEnd);
CORE2(DomainRangePushEx);
CORE2(DomainRangePop);
CORE2(DomainRegisterStringA);
CORE2(DomainRegisterStringW);
CORE2(DomainCreateA);
CORE2(DomainCreateW);
SAME(NVTX_ABI_ASCII, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_ABI_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_ABI_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(sizeof(struct nvtx_abi_event), sizeof(nvtxEventAttributes_t));
FIELD(version, version);
FIELD(size, size);
FIELD(message_type, messageType);
FIELD(message, message);
SAME(sizeof(struct nvtx_abi_callbacks), sizeof(NvtxExportTableCallbacks));
SAME(offsetof(struct nvtx_abi_callbacks, get_module),
     offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
