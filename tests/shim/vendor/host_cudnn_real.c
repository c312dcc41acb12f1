/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan of the real cuDNN, made without a GPU from the properties of one (an H200), and executed
 * by cudnn_nothing.c. Prints the row that the trace must hold.
 */
#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rowtext.h"

#if CUDNN_VERSION < 91900
int main(void)
{
    return 77; /* not known to make plans without a GPU */
}
#else

typedef cudnnBackendDescriptor_t D;

static const char device[] =
    "{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],\"deviceVer\":900,"
    "\"driverVer\":13000,\"regsPerBlock\":65536,\"multiProcessorCount\":132,"
    "\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,\"l2CacheSize\":62914560,"
    "\"warpSize\":32,\"maxSharedMemoryPerBlock\":49152,\"maxSharedMemoryPerBlockOptin\":232448,"
    "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,\"pciDeviceId\":0,"
    "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,\"maxThreadsPerSM\":2048,\"isTccDriver\":0,"
    "\"supportCoopLaunch\":1,\"totalGlobalMem\":150754820096,\"cudaDeviceId\":0,"
    "\"deviceName\":\"NVIDIA H200\"}";

static D create(cudnnBackendDescriptorType_t type)
{
    D d = NULL;
    if (cudnnBackendCreateDescriptor(type, &d) != CUDNN_STATUS_SUCCESS)
        exit(70);
    return d;
}

static void set(D d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                int64_t count, const void *value)
{
    if (cudnnBackendSetAttribute(d, name, type, count, value) != CUDNN_STATUS_SUCCESS)
        exit(71);
}

#define SET(d, name, type, ...)                                                                    \
    set(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, sizeof(__VA_ARGS__) / sizeof *(__VA_ARGS__),      \
        (__VA_ARGS__))
#define SET_DESCRIPTOR(d, name, value) SET(d, name, BACKEND_DESCRIPTOR, (D[]){ value })

static bool finalize(D d)
{
    return cudnnBackendFinalize(d) == CUDNN_STATUS_SUCCESS;
}

static D finalized(D d)
{
    if (!finalize(d))
        exit(72);
    return d;
}

static D tensor(int64_t a, int64_t b, int64_t c, int64_t d)
{
    static int64_t id = 100;
    D t = create(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    SET(t, TENSOR_DATA_TYPE, DATA_TYPE, (cudnnDataType_t[]){ CUDNN_DATA_HALF });
    SET(t, TENSOR_DIMENSIONS, INT64, (int64_t[]){ a, b, c, d });
    SET(t, TENSOR_STRIDES, INT64, (int64_t[]){ b * c * d, c * d, d, 1 });
    SET(t, TENSOR_UNIQUE_ID, INT64, (int64_t[]){ id++ });
    SET(t, TENSOR_BYTE_ALIGNMENT, INT64, (int64_t[]){ 16 });
    return finalized(t);
}

static D convolution(void)
{
    D how = create(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    SET(how, CONVOLUTION_SPATIAL_DIMS, INT64, (int64_t[]){ 2 });
    SET(how, CONVOLUTION_COMP_TYPE, DATA_TYPE, (cudnnDataType_t[]){ CUDNN_DATA_FLOAT });
    SET(how, CONVOLUTION_CONV_MODE, CONVOLUTION_MODE,
        (cudnnConvolutionMode_t[]){ CUDNN_CROSS_CORRELATION });
    SET(how, CONVOLUTION_PRE_PADDINGS, INT64, (int64_t[]){ 1, 1 });
    SET(how, CONVOLUTION_POST_PADDINGS, INT64, (int64_t[]){ 1, 1 });
    SET(how, CONVOLUTION_DILATIONS, INT64, (int64_t[]){ 1, 1 });
    SET(how, CONVOLUTION_FILTER_STRIDES, INT64, (int64_t[]){ 1, 1 });
    D op = create(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    SET_DESCRIPTOR(op, OPERATION_CONVOLUTION_FORWARD_CONV_DESC, finalized(how));
    SET_DESCRIPTOR(op, OPERATION_CONVOLUTION_FORWARD_X, tensor(8, 64, 56, 56));
    SET_DESCRIPTOR(op, OPERATION_CONVOLUTION_FORWARD_W, tensor(128, 64, 3, 3));
    SET_DESCRIPTOR(op, OPERATION_CONVOLUTION_FORWARD_Y, tensor(8, 128, 56, 56));
    SET(op, OPERATION_CONVOLUTION_FORWARD_ALPHA, FLOAT, (float[]){ 1 });
    SET(op, OPERATION_CONVOLUTION_FORWARD_BETA, FLOAT, (float[]){ 0 });
    return finalized(op);
}

/* With the first engine that can. */
static D plan_of(D operation)
{
    D properties = create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
    D graph = create(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    set(properties, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, sizeof device,
        device);
    finalized(properties);
    SET_DESCRIPTOR(graph, OPERATIONGRAPH_OPS, operation);
    finalized(graph);
    for (int64_t i = 0; i < 200; i++) {
        D engine = create(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        D config = create(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
        D plan = create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
        SET_DESCRIPTOR(engine, ENGINE_OPERATION_GRAPH, graph);
        SET(engine, ENGINE_GLOBAL_INDEX, INT64, (int64_t[]){ i });
        SET_DESCRIPTOR(engine, ENGINE_DEVICEPROP, properties);
        if (!finalize(engine))
            continue;
        SET_DESCRIPTOR(config, ENGINECFG_ENGINE, engine);
        SET_DESCRIPTOR(plan, EXECUTION_PLAN_ENGINE_CONFIG, finalized(config));
        SET_DESCRIPTOR(plan, EXECUTION_PLAN_DEVICEPROP, properties);
        if (finalize(plan))
            return plan;
    }
    exit(73);
}

int main(void)
{
    D plan = plan_of(convolution());
    for (int i = 0; i < 3; i++)
        if (cudnnBackendExecute(NULL, plan, NULL) != CUDNN_STATUS_SUCCESS)
            return 74;
    const struct tilewise_signature s = {
        .op = TILEWISE_OP_CONV,
        .dtype_a = TILEWISE_F16,
        .dtype_b = TILEWISE_F16,
        .dtype_c = TILEWISE_F16,
        .dtype_d = TILEWISE_F16,
        .compute = TILEWISE_F32,
        .flags = TILEWISE_NOT_REPLAYABLE,
        .batch_kind = TILEWISE_BATCH_STRIDED,
        .m = 128,
        .n = 3136,
        .k = 576,
        .batch = 8,
    };
    rowtext_print("cudnnBackendExecute", &s, 3);
    return 0;
}

#endif
