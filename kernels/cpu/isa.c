/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/isa.h"

bool isa_is_present(enum isa_level level)
{
#ifdef __x86_64__
    /* The compiler's own check also asks the operating system whether it saves the registers. */
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    if (level != ISA_PORTABLE)
        return level == ISA_AVX2 ? avx2 : avx512;
#endif
    return level == ISA_PORTABLE;
}
