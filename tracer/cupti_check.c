/* SPDX-License-Identifier: Apache-2.0
 *
 * Our declarations of CUPTI against the vendor's, where its headers are; no code.
 */
#include "tracer/cupti_abi.h"

#if TILEWISE_CUPTI_HEADERS
#include <cupti.h>

#define SAME(ours, our_field, theirs, their_field)                                                 \
    _Static_assert(offsetof(struct ours, our_field) == offsetof(theirs, their_field), #our_field)
SAME(cupti_kernel, kind, CUpti_ActivityKernel9, kind);
SAME(cupti_kernel, start, CUpti_ActivityKernel9, start);
SAME(cupti_kernel, end, CUpti_ActivityKernel9, end);
SAME(cupti_kernel, correlation, CUpti_ActivityKernel9, correlationId);
SAME(cupti_kernel, name, CUpti_ActivityKernel9, name);
SAME(cupti_kernel, node, CUpti_ActivityKernel9, graphNodeId);
SAME(cupti_kernel, device, CUpti_ActivityKernel9, deviceId);
SAME(cupti_kernel, stream, CUpti_ActivityKernel9, streamId);
SAME(cupti_kernel, grid, CUpti_ActivityKernel9, gridX);
SAME(cupti_kernel, block, CUpti_ActivityKernel9, blockX);
SAME(cupti_kernel, shared_bytes, CUpti_ActivityKernel9, dynamicSharedMemory);
SAME(cupti_move, direction, CUpti_ActivityMemcpy5, copyKind);
SAME(cupti_move, start, CUpti_ActivityMemcpy5, start);
SAME(cupti_move, device, CUpti_ActivityMemcpy5, deviceId);
SAME(cupti_move, stream, CUpti_ActivityMemcpy5, streamId);
SAME(cupti_move, correlation, CUpti_ActivityMemcpy5, correlationId);
SAME(cupti_move, node, CUpti_ActivityMemcpy5, graphNodeId);
SAME(cupti_move, start, CUpti_ActivityMemset4, start);
SAME(cupti_move, stream, CUpti_ActivityMemset4, streamId);
SAME(cupti_move, correlation, CUpti_ActivityMemset4, correlationId);
SAME(cupti_move, node, CUpti_ActivityMemset4, graphNodeId);
SAME(cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(cupti_call, parameters, CUpti_CallbackData, functionParams);
SAME(cupti_call, result, CUpti_CallbackData, functionReturnValue);
SAME(cupti_call, correlation, CUpti_CallbackData, correlationId);
SAME(cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME(cupti_graph, node, CUpti_GraphData, node);
SAME(cupti_graph, original_node, CUpti_GraphData, originalNode);
SAME(cupti_graph, node_kind, CUpti_GraphData, nodeType);
SAME(cupti_graph, exec, CUpti_GraphData, graphExec);
_Static_assert((int)CUPTI_KIND_KERNEL == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kind");
_Static_assert((int)CUPTI_KIND_COPY == (int)CUPTI_ACTIVITY_KIND_MEMCPY, "copy");
_Static_assert((int)CUPTI_KIND_FILL == (int)CUPTI_ACTIVITY_KIND_MEMSET, "fill");
_Static_assert((int)CUPTI_NODE_CREATED == (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, "created");
_Static_assert((int)CUPTI_NODE_CLONED == (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, "cloned");
_Static_assert((int)CUPTI_NODE_CREATE_STARTING ==
                   (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING,
               "node");
_Static_assert((int)CUPTI_EXEC_CREATED == (int)CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, "exec");
_Static_assert((int)CUPTI_EXEC_DESTROY_STARTING ==
                   (int)CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING,
               "exec");
#define ROW(id, what, name) _Static_assert((int)CUPTI_DRIVER_TRACE_CBID_##name == (id), #name);
#include "tracer/cupti_launch.def"
#undef ROW
#else
typedef int cupti_check_has_no_headers; /* a file may not be empty */
#endif
