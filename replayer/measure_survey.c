/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "replayer/ceilings.h"
#include "replayer/measure.h"

void measure_survey(void *job, void *message)
{
    const struct measure_survey_job *j = job;
    struct measure_survey *out = message;
    const struct backend *backend = j->setup->backend;
    struct backend_session *session;
    double bandwidth = NAN;
    out->status = backend->open(&session, &j->setup->open, &out->fault);
    if (out->status != ST_OK)
        return;
    backend->describe(session, &out->info);
    if (!j->setup->check_only) {
        if (backend->bandwidth(session, &bandwidth) != ST_OK)
            bandwidth = NAN;
        for (size_t i = 0; i < j->ndtypes; i++)
            ceilings_measure(backend, session, j->dtypes[i], bandwidth, &out->ceilings[i]);
        out->nceilings = j->ndtypes;
    }
    backend->close(session);
}

void measure_probe(void *setup, void *message)
{
    const struct measure_setup *s = setup;
    struct measure_probe *out = message;
    struct backend_session *session;
    out->status = s->backend->open(&session, &s->open, &out->fault);
    if (out->status != ST_OK)
        return;
    s->backend->describe(session, &out->info);
    s->backend->close(session);
}
