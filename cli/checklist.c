/* SPDX-License-Identifier: Apache-2.0
 *
 * The checklist of `doctor`: the rows that are proved rather than looked up, and those about the
 * GPU.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/checks.h"
#include "cli/replay_device.h"
#include "cli/selftest.h"
#include "kernels/builtin.h"
#include "replayer/isolate.h"

static const double test_s_max = 60; /* a driver that nobody used since the start takes seconds */

/* For tileiras, which compiles for every GPU from sm_80 on from this version; and the driver. */
enum { TILE_MAJOR_MIN = 13, TILE_MINOR_MIN = 3, TILE_DRIVER_MIN = 13000 };

static bool has_gpu(const struct cuda_machine *m)
{
    return m->driver.status == ST_OK && m->gpu.status == ST_OK && m->libraries.status == ST_OK;
}

void checklist_begin(struct check_context *c, bool with_gpu)
{
    replay_device_look(&c->cuda, c->open.libraries);
    c->backend = with_gpu && has_gpu(&c->cuda) ? &backend_cuda : &backend_cpu;
    c->fault.status = replay_device_probe(c->backend, &c->open, &c->info, &c->fault);
}

/* A fault says what is missing and, behind a semicolon, what to do. */
static void found_fault(struct check_finding *f, const struct fault *fault)
{
    const char *end = strstr(fault->text, "; ");
    int bytes = end ? (int)(end - fault->text) : (int)strlen(fault->text);
    checks_found(f, "%.*s", bytes, fault->text);
    checks_advise(f, CHECK_MISSING, "%.300s", end ? end + 2 : "");
}

void checklist_gpu(struct check_finding *f, const struct check_context *c)
{
    const struct cuda_machine *m = &c->cuda;
    if (m->gpu.status == ST_OK) {
        checks_found(f, "%.90s, compute capability %d.%d, %.1f GiB, %d visible", m->gpu_name,
                     m->capability / 10, m->capability % 10, (double)m->memory_bytes / 0x1p30,
                     m->gpu_count);
        return;
    }
    found_fault(f, &m->gpu);
    checks_advise(f, CHECK_MISSING,
                  "a GPU of compute capability 8.0 or newer that nvidia-smi shows; without it "
                  "record, report and gate work, and replay --device cpu for f32 and f64");
}

void checklist_driver(struct check_finding *f, const struct check_context *c)
{
    int version = c->cuda.driver_version;
    if (c->cuda.driver.status != ST_OK)
        found_fault(f, &c->cuda.driver);
    else
        checks_found(f, "for CUDA %d.%d", version / 1000, version % 1000 / 10);
}

void checklist_cuda(struct check_finding *f, const struct check_context *c)
{
    const struct cuda_machine *m = &c->cuda;
    int runtime = m->runtime_version;
    size_t blas = m->blas_version;
    if (m->libraries.status != ST_OK)
        found_fault(f, &m->libraries);
    else if (runtime == 0) /* it asks the driver */
        checks_found(f, "runtime, cuBLAS and cuBLASLt load");
    else
        checks_found(f, "runtime %d.%d, cuBLAS %zu.%zu.%zu", runtime / 1000, runtime % 1000 / 10,
                     blas / 10000, blas / 100 % 100, blas % 100);
}

/* Versions of the Python package and of the compiler; "-" for what is not there. */
static const char versions_of_cutile[] =
    "import importlib.metadata as m, shutil\n"
    "def version(name):\n"
    "    try: return m.version(name)\n"
    "    except m.PackageNotFoundError: return '-'\n"
    "print(version('cuda-tile'), version('nvidia-cuda-tileiras'), shutil.which('tileiras') or '-')";

static const char install_cutile[] =
    "kernels/compile.sh cutile makes a Python that has both: doctor "
    "--python=build/venv-cutile/bin/python; kernels that are compiled already, and all others, "
    "work "
    "without it";

void checklist_cutile(struct check_finding *f, const struct check_context *c)
{
    char *argv[] = { (char *)c->python, "-c", (char *)versions_of_cutile, NULL };
    char text[256], package[48] = "", compiler[48] = "", path[160] = "";
    int major = 0, minor = 0, driver = c->cuda.driver_version;
    int status = checks_run(argv, NULL, STDOUT_FILENO, CHECKS_RUN_S_MAX, text, sizeof text);
    if (status == CHECKS_LATE) {
        checks_found(f, "%.100s did not answer within %d s", c->python, CHECKS_RUN_S_MAX);
        checks_advise(f, CHECK_MISSING, "run it by hand to see what it waits for; %s",
                      install_cutile);
        return;
    }
    if (status != 0 || sscanf(text, "%47s %47s %159s", package, compiler, path) != 3) {
        checks_found(f, "%.100s does not run", c->python);
        checks_advise(f, CHECK_MISSING, "%s", install_cutile);
        return;
    }
    bool numbered = sscanf(compiler, "%d.%d", &major, &minor) == 2;
    bool old =
        numbered && (major < TILE_MAJOR_MIN || (major == TILE_MAJOR_MIN && minor < TILE_MINOR_MIN));
    bool has_compiler = numbered || strcmp(path, "-") != 0;
    checks_found(f, "cuda-tile %s, tileiras %s", strcmp(package, "-") ? package : "not installed",
                 numbered       ? compiler
                 : has_compiler ? path
                                : "not installed");
    if (strcmp(package, "-") == 0 || !has_compiler || old)
        checks_advise(f, CHECK_MISSING, "%s", install_cutile);
    else if (driver && driver < TILE_DRIVER_MIN)
        checks_advise(f, CHECK_MISSING,
                      "it compiles, but the driver is for CUDA %d.%d and runs no tile kernels: "
                      "update it to one for CUDA 13.0 (r580)",
                      driver / 1000, driver % 1000 / 10);
}

void checklist_baseline(struct check_finding *f, const struct check_context *c)
{
    if (c->fault.status != ST_OK) {
        found_fault(f, &c->fault);
        return;
    }
    checks_found(f, "%.120s, core %.31s, %u thread%s (%s)", c->info.library,
                 c->info.core[0] ? c->info.core : "unknown", c->info.threads,
                 c->info.threads == 1 ? "" : "s", c->backend->name);
    if (c->info.capped[0])
        checks_advise(f, CHECK_MISSING,
                      "%.180s: every kernel looks good against it; unset it, or use replay "
                      "--uncap-baseline",
                      c->info.capped);
}

static void report_test(struct check_finding *f, const struct measure_setup *setup,
                        void (*job)(void *, void *), const char *remedy)
{
    struct selftest test;
    struct isolate_limits limits = { .seconds = test_s_max };
    struct isolate_end end;
    isolate_run(job, (void *)setup, &test, sizeof test, &limits, &end);
    if (end.status != RESULT_PASSED) {
        test.passed = false;
        snprintf(test.text, sizeof test.text, "the test did not end: %s", end.reason);
    }
    checks_found(f, "%.190s (%s)", test.text, setup->backend->name);
    if (!test.passed)
        checks_advise(f, CHECK_MISSING, "%s", remedy);
}

static void try_backend(struct check_finding *f, const struct check_context *c,
                        void (*job)(void *, void *), const char *remedy)
{
    struct measure_setup setup = { .backend = c->backend,
                                   .open = c->open,
                                   .reference = ref_compute };
    if (c->fault.status == ST_OK) {
        report_test(f, &setup, job, remedy);
        return;
    }
    checks_found(f, "not tried: there is nothing to compare with");
    checks_advise(f, CHECK_MISSING, "see baseline");
}

void checklist_correctness(struct check_finding *f, const struct check_context *c)
{
    try_backend(f, c, selftest_verification,
                "believe no result of this machine: is the library broken, or the hardware?");
}

void checklist_synchronised(struct check_finding *f, const struct check_context *c)
{
    try_backend(f, c, selftest_timing,
                "believe no time of this machine: is it overloaded, or its clock wrong?");
}

/* On any machine on the host: there tile.h has its operands. */
void checklist_rollback(struct check_finding *f, const struct check_context *c)
{
    const struct measure_setup on_host = { .backend = &backend_cpu };
    (void)c;
    report_test(f, &on_host, selftest_rollback,
                "tile.h needs a BLAS library to go back to: apt-get install libopenblas0, or name "
                "one with TILEWISE_BLAS");
}
