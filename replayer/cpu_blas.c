/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/cpu_blas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "replayer/isolate.h"

static const char *const library_names[] = { "libopenblas.so.0", "libblas.so.3" };

static const struct slot {
    const char *symbol;
    size_t offset;
    bool required;
} slots[] = {
#define X(name, result, parameters) { "cblas_" #name, offsetof(struct cpu_blas, name), true },
    CPU_BLAS_LIST(X)
#undef X
#define X(name, result, parameters) { "cblas_" #name, offsetof(struct cpu_blas, name), false },
        CPU_BLAS_OPTIONAL_LIST(X)
#undef X
};

static const char *first_missing(struct cpu_blas *blas)
{
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        void *symbol = dlsym(blas->handle, slots[i].symbol);
        if (symbol == NULL && slots[i].required)
            return slots[i].symbol;
        memcpy((char *)blas + slots[i].offset, &symbol, sizeof symbol);
    }
    return NULL;
}

static void ask_openblas(struct cpu_blas *blas, const char *file, unsigned threads)
{
    char *(*config)(void), *(*core)(void);
    void (*set_threads)(int);
    *(void **)&config = dlsym(blas->handle, "openblas_get_config");
    *(void **)&core = dlsym(blas->handle, "openblas_get_corename");
    *(void **)&set_threads = dlsym(blas->handle, "openblas_set_num_threads");
    snprintf(blas->library, sizeof blas->library, "%s", config ? config() : file);
    snprintf(blas->core, sizeof blas->core, "%s", core ? core() : "");
    if (set_threads)
        set_threads((int)threads);
}

enum status cpu_blas_open(struct cpu_blas *blas, unsigned threads, struct fault *fault)
{
    char count[16];
    const char *missing = NULL;
    /* Before loading: the library starts its threads at once. */
    snprintf(count, sizeof count, "%u", threads);
    setenv("OPENBLAS_NUM_THREADS", count, 1);
    /* Idle threads spin for 2^20 cycles (half a millisecond) instead of 2^26: no difference between
     * calls that follow each other, but they are out of the way when a candidate is timed. */
    setenv("OPENBLAS_THREAD_TIMEOUT", "20", 1);
    for (size_t i = 0; i < sizeof library_names / sizeof library_names[0]; i++) {
        *blas = (struct cpu_blas){ .handle = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL) };
        if (blas->handle == NULL)
            continue;
        missing = first_missing(blas);
        if (missing == NULL) {
            ask_openblas(blas, library_names[i], threads);
            return ST_OK;
        }
        cpu_blas_close(blas);
    }
    if (missing)
        return fault_set(fault, ST_UNSUPPORTED,
                         "the BLAS found has no %s; install OpenBLAS (libopenblas0)", missing);
    return fault_set(fault, ST_UNSUPPORTED,
                     "no BLAS to compare with: neither %s nor %s loads; "
                     "install OpenBLAS (libopenblas0)",
                     library_names[0], library_names[1]);
}

void cpu_blas_close(struct cpu_blas *blas)
{
    if (blas->handle)
        dlclose(blas->handle);
    *blas = (struct cpu_blas){ 0 };
}

static void look_for_bf16(void *unused, void *message)
{
    struct cpu_blas blas;
    bool *found = message;
    (void)unused;
    if (cpu_blas_open(&blas, 1, NULL) != ST_OK)
        return;
    *found = true;
#define X(name, result, parameters) *found = *found && blas.name != NULL;
    CPU_BLAS_BF16_LIST(X)
#undef X
}

bool cpu_blas_has_bf16(void)
{
    static bool asked, found;
    const struct isolate_limits limits = { .seconds = 60 };
    struct isolate_end end;
    if (!asked)
        isolate_run(look_for_bf16, NULL, &found, sizeof found, &limits, &end);
    asked = true;
    return found;
}

static bool is_one_of(const char *core, const char *const *names)
{
    for (; *names; names++)
        if (strcasecmp(core, *names) == 0)
            return true;
    return false;
}

void cpu_blas_explain_cap(const struct cpu_blas_cap *cap, char *text, size_t bytes)
{
    static const char *const avx512[] = { "SkylakeX", "Cooperlake", "SapphireRapids", NULL };
    static const char *const avx2[] = { "Haswell", "Zen", "Excavator", NULL };
    bool fast512 = is_one_of(cap->core, avx512);
    text[0] = '\0';
    if (cap->coretype && cap->coretype[0])
        snprintf(text, bytes, "OPENBLAS_CORETYPE=%s is set (core %s)", cap->coretype, cap->core);
    else if (cap->l2_size && cap->l2_size[0])
        snprintf(text, bytes, "OPENBLAS_L2_SIZE=%s is set", cap->l2_size);
    else if (cap->core[0] && cap->has_avx512 && !fast512)
        snprintf(text, bytes, "OpenBLAS runs its %s kernels on a processor with AVX-512",
                 cap->core);
    else if (cap->core[0] && cap->has_avx2 && !fast512 && !is_one_of(cap->core, avx2))
        snprintf(text, bytes, "OpenBLAS runs its %s kernels on a processor with AVX2", cap->core);
}
