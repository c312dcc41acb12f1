/* SPDX-License-Identifier: Apache-2.0
 *
 * What cuBLAS leaves in an object that it is linked into: GPU code, and a text of its own, here
 * behind more other data than is searched at a time.
 */
#ifdef WITH_GPU_CODE
__attribute__((used, section(".nv_fatbin"))) static const char gpu_code[64] = { 1 };
#endif
#ifdef WITH_MARK
__attribute__((used)) static const char data[12 << 20] = { 1 };
__attribute__((used)) static const char mark[] = "CUBLASLT_LOG_LEVEL";
#endif
extern int static_part;
int static_part;
