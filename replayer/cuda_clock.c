/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of the multiprocessors while bursts run, and what holds it back, from NVML where the
 * driver has it. Asked between the launch of a burst and its end, when the device is at work.
 */
#include <dlfcn.h>
#include <math.h>

#include "replayer/cuda_session.h"

enum { NVML_CLOCK_SM = 1, PCI_ID_BYTES = 32 };
/* Reasons that slow a burst down beyond what its own power needs. */
enum { HARDWARE_SLOWDOWN = 0x8, SOFTWARE_THERMAL = 0x20, HARDWARE_THERMAL = 0x40, BRAKE = 0x80 };

void cuda_clock_open(struct backend_session *session)
{
    struct cuda_clock *c = &session->clock;
    char id[PCI_ID_BYTES] = "";
    int (*init)(void), (*by_id)(const char *, void **);
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    *c = (struct cuda_clock){ .reading = { .mhz = NAN } };
    if (nvml == NULL)
        return;
    *(void **)&init = dlsym(nvml, "nvmlInit_v2");
    *(void **)&by_id = dlsym(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&c->get_clock = dlsym(nvml, "nvmlDeviceGetClockInfo");
    *(void **)&c->get_reasons = dlsym(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (!init || !by_id || init() != 0 ||
        session->api.cudaDeviceGetPCIBusId(id, sizeof id, 0) != 0 || by_id(id, &c->device) != 0)
        c->get_clock = NULL;
}

void cuda_clock_sample(struct backend_session *session)
{
    struct cuda_clock *c = &session->clock;
    unsigned mhz = 0;
    unsigned long long reasons = 0;
    if (c->get_clock == NULL || c->get_clock(c->device, NVML_CLOCK_SM, &mhz) != 0 || mhz == 0)
        return;
    c->sum_mhz += mhz;
    c->samples++;
    c->reading.mhz = c->sum_mhz / (double)c->samples;
    if (c->get_reasons && c->get_reasons(c->device, &reasons) == 0) {
        c->slowed +=
            (reasons & (HARDWARE_SLOWDOWN | SOFTWARE_THERMAL | HARDWARE_THERMAL | BRAKE)) != 0;
        c->reading.slowed_share = (double)c->slowed / (double)c->samples;
    }
}

struct backend_clock cuda_clock_take(struct backend_session *session)
{
    struct cuda_clock *c = &session->clock;
    struct backend_clock reading = c->reading;
    c->reading = (struct backend_clock){ .mhz = NAN };
    c->sum_mhz = 0;
    c->samples = c->slowed = 0;
    return reading;
}
