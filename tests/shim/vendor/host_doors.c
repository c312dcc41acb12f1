/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that is linked to no GPU library and reaches them in every other way:
 * `host_doors WAY` prints per copy what was executed, "a 10" and "b 20", and then the sum of both
 * as a trace must hold it. dlsym    dlopen(RTLD_LOCAL) and dlsym, two copies linked   plugins that
 * are linked to a copy each, dlopen(RTLD_LOCAL) both     the one and the other, taking turns
 *   deepbind a plugin that prefers its own libraries: it cannot be hooked
 *   absent   asks for names that no library has
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doors.h"
#include "fake.h"
#include "tracer/cublas.h"

static void *must(void *found)
{
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static unsigned long long executed(const char *library)
{
    fake_rows *rows = (fake_rows *)must(
        dlsym(must(dlopen(library, RTLD_LAZY | RTLD_NOLOAD)), "fake_cublas_rows"));
    unsigned long long sum = 0;
    for (struct fake_row *r = rows(); r->symbol; r++)
        sum += r->executed;
    return sum;
}

static void by_name(const char *library, int times)
{
    void *copy = must(dlopen(library, RTLD_NOW | RTLD_LOCAL));
    cublasStatus_t (*create)(cublasHandle_t *) = must(dlsym(copy, "cublasCreate_v2"));
    cublasStatus_t (*sgemm)(CUBLAS_GEMM_PARAMS(int, S)) = must(dlsym(copy, "cublasSgemm_v2"));
    cublasHandle_t h;
    create(&h);
    for (int i = 0; i < times; i++)
        sgemm(h, 0, 0, 8, 8, 8, NULL, NULL, 8, NULL, 8, NULL, NULL, 8);
}

static void by_plugin(const char *plugin, int times, int flags)
{
    void (*run)(int) =
        must(dlsym(must(dlopen(plugin, RTLD_NOW | RTLD_LOCAL | flags)), "plugin_run"));
    run(times);
}

/* Hosts probe for libraries: names that nobody has are NULL, with a reason. */
static int absent(void)
{
    dlerror();
    void *found = dlsym(RTLD_DEFAULT, "cublasSgemm_v2");
    const char *reason = dlerror();
    return !found && reason && strstr(reason, "cublasSgemm_v2") ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *way = argc == 2 ? argv[1] : "";
    if (strcmp(way, "absent") == 0)
        return absent();
    for (int turn = 0; turn < 5; turn++) {
        if (strcmp(way, "dlsym") == 0 || strcmp(way, "both") == 0) {
            by_name("libfake_cublas.so", 1);
            by_name("libfake_cublas_b.so", 2);
        }
        if (strcmp(way, "linked") == 0 || strcmp(way, "both") == 0) {
            by_plugin("libvendor_plugin_a.so", 10, 0);
            by_plugin("libvendor_plugin_b.so", 20, 0);
        }
        if (strcmp(way, "deepbind") == 0) {
            by_plugin("libvendor_plugin_b.so", 3, 0);
            by_plugin("libvendor_plugin_a.so", 100, RTLD_DEEPBIND);
        }
    }
    if (strcmp(way, "deepbind") == 0)
        sleep(2); /* the writer looks once a second */
    unsigned long long a = strcmp(way, "deepbind") == 0 ? 0 : executed("libfake_cublas.so");
    unsigned long long b = executed("libfake_cublas_b.so");
    fprintf(stderr, "a %llu b %llu\n", a, b);
    printf("cublasSgemm_v2 %llu\n", a + b);
    return 0;
}
