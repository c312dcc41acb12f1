/* SPDX-License-Identifier: Apache-2.0
 *
 * Times calls on the device's clock without the host in between: a burst is captured into a graph,
 * with the events that tell its time inside of it, and launched again for every round.
 */
#include <math.h>

#include "replayer/cuda_session.h"

void cuda_burst_forget(struct backend_session *session)
{
    for (size_t i = 0; i < CUDA_RECORDINGS_MAX; i++)
        if (session->recordings[i].exec)
            session->api.cudaGraphExecDestroy(session->recordings[i].exec);
    for (size_t i = 0; i < CUDA_RECORDINGS_MAX; i++)
        session->recordings[i] = (struct cuda_recording){ 0 };
    session->next_recording = 0;
}

int cuda_burst_read(struct backend_session *session, const void *memory, size_t bytes)
{
    const struct cuda_api *api = &session->api;
    float *sum = (float *)session->sink;
    int failed = api->cublasSetPointerMode_v2(session->blas, CUBLAS_POINTERS_ON_DEVICE) ||
                 api->cublasSasum_v2(session->blas, (int)(bytes / sizeof *sum), memory, 1, sum);
    return failed || api->cublasSetPointerMode_v2(session->blas, CUBLAS_POINTERS_ON_HOST);
}

/* Twice the last cache, and only read: a write would leave dirty lines whose way to memory falls
 * into the timed part. The GPU works on it while the host launches what follows. */
int cuda_burst_sweep(struct backend_session *session)
{
    return cuda_burst_read(session, session->sweep, 2 * session->info.cache_bytes);
}

static double elapsed_ns(struct backend_session *session)
{
    float ms = 0;
    int error = session->api.cudaEventElapsedTime(&ms, session->start, session->stop);
    return error ? NAN : (double)ms * 1e6;
}

static int mark(struct backend_session *session, void *event, unsigned flags)
{
    return session->api.cudaEventRecordWithFlags(event, session->stream, flags);
}

static int make_calls(const struct backend_burst *burst)
{
    int failed = 0;
    for (uint64_t i = 0; i < burst->calls && !failed; i++)
        failed = burst->step(burst->context);
    return failed;
}

/* Call by call. The host may be slower than the device: good for one call, and where nothing else
 * works. */
static double run_eagerly(struct backend_session *session, const struct backend_burst *burst)
{
    const struct cuda_api *api = &session->api;
    int failed = burst->cold && cuda_burst_sweep(session);
    failed = failed || mark(session, session->start, 0) || make_calls(burst) ||
             mark(session, session->stop, 0);
    int error = api->cudaStreamSynchronize(session->stream);
    if (cuda_session_failed(session, error, "running a burst") || failed)
        return NAN;
    return elapsed_ns(session);
}

static void *capture(struct backend_session *session, const struct backend_burst *burst)
{
    const struct cuda_api *api = &session->api;
    void *graph = NULL, *exec = NULL;
    unsigned flags = CUDA_EVENT_RECORD_EXTERNAL;
    if (api->cudaStreamBeginCapture(session->stream, CUDA_CAPTURE_RELAXED) != 0)
        return NULL;
    int failed = session->outside ? 0 : mark(session, session->start, flags);
    failed = failed || make_calls(burst);
    failed = failed || (session->outside ? 0 : mark(session, session->stop, flags));
    if (api->cudaStreamEndCapture(session->stream, &graph) != 0)
        failed = 1;
    if (!failed && api->cudaGraphInstantiateWithFlags(&exec, graph, 0) != 0)
        exec = NULL;
    if (graph)
        api->cudaGraphDestroy(graph);
    if (exec)
        api->cudaGraphUpload(exec, session->stream);
    else
        api->cudaGetLastError(); /* not an error of the next call */
    return exec;
}

static void *recorded(struct backend_session *session, const struct backend_burst *burst)
{
    for (size_t i = 0; i < CUDA_RECORDINGS_MAX; i++) {
        const struct cuda_recording *r = &session->recordings[i];
        if (r->exec && r->arm == burst->arm && r->calls == burst->calls)
            return r->exec;
    }
    void *exec = capture(session, burst);
    struct cuda_recording *slot = &session->recordings[session->next_recording];
    if (exec == NULL)
        return NULL;
    session->next_recording = (session->next_recording + 1) % CUDA_RECORDINGS_MAX;
    if (slot->exec)
        session->api.cudaGraphExecDestroy(slot->exec);
    *slot = (struct cuda_recording){ burst->arm, burst->calls, exec };
    return exec;
}

static double launch(struct backend_session *session, void *exec, bool cold)
{
    const struct cuda_api *api = &session->api;
    int failed = cold && cuda_burst_sweep(session);
    if (session->outside)
        failed = failed || mark(session, session->start, 0);
    failed = failed || api->cudaGraphLaunch(exec, session->stream);
    if (session->outside)
        failed = failed || mark(session, session->stop, 0);
    cuda_clock_sample(session);
    int error = api->cudaStreamSynchronize(session->stream);
    return cuda_session_failed(session, error, "running a graph") || failed ? NAN
                                                                            : elapsed_ns(session);
}

double cuda_burst_run(struct backend_session *session, const struct backend_burst *burst)
{
    session->complaint[0] = '\0';
    bool short_one = burst->calls == 1 && burst->how != BACKEND_IN_A_GRAPH;
    if (short_one || burst->how == BACKEND_CALL_BY_CALL || session->no_graphs)
        return run_eagerly(session, burst);
    void *exec = recorded(session, burst);
    if (exec == NULL) {
        double ns = run_eagerly(session, burst);
        session->no_graphs = ns > 0; /* else it was the call that failed, not the recording */
        return ns;
    }
    double ns = launch(session, exec, burst->cold);
    if (ns > 0 || session->complaint[0] || session->outside)
        return ns;
    session->outside = true; /* events in graphs do not tell the time here */
    cuda_burst_forget(session);
    return cuda_burst_run(session, burst);
}
