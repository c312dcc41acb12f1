/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/flush.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/clock.h"
#include "tracer/config.h"
#include "tracer/cupti.h"
#include "tracer/drain.h"
#include "tracer/facts.h"
#include "tracer/host.h"
#include "tracer/output.h"
#include "tracer/tap.h"

#define MS ((uint64_t)1000000)

enum {
    STACK_BYTES = 512 * 1024,
    FINISH_MS = 500,
    FIRST_FRAME_MS = 50, /* short processes end by _exit too; then twice as long each time */
    LAST_FRAME_MS = 500,
    LOOK_MS = 1000, /* at the control files */
    BUSY_NAP_MS = 10,
    IDLE_NAP_MS = 100,
    LAST_FRAMES_MS = 300, /* for what one frame does not hold of GPU time and phases */
    NAP_PER_WORK = 4,     /* so that this thread takes a fifth of one processor at most */
};

enum phase { RUN, FINISH, FINISHED };

struct flush {
    struct output output;
    struct drain drain;
    struct writer *w;
    bool is_host_gone;
    unsigned libraries; /* that the facts tell about */
    uint64_t frame_ns, frame_every_ns, look_ns, nap_ns;
};

static _Atomic uint32_t phase, kicks;
static struct flush flush;

static void nap(uint32_t expected, uint64_t ns)
{
    struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
    syscall(SYS_futex, &phase, FUTEX_WAIT_PRIVATE, expected, &t, NULL, 0);
}

static void wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void flush_kick(void)
{
    atomic_fetch_add(&kicks, 1);
    wake(&kicks);
}

static void set_phase(enum phase to)
{
    atomic_store(&phase, to);
    wake(&phase);
    flush_kick();
}

static void follow(enum output_order order)
{
    if (order == OUTPUT_ON)
        tap_resume();
    else
        tap_pause();
}

static bool open_trace(struct flush *f)
{
    if (!output_open(&f->output, config.out) || output_read_order(&f->output) == OUTPUT_DISABLED)
        return false;
    follow(output_read_order(&f->output));
    struct writer_options options = {
        .kind = TRACE_KIND_RECORDED,
        .size_cap_bytes = config.size_cap_bytes,
        .start_mono_ns = clock_start_ns(),
    };
    facts_shard(&options.shard);
    int fd = output_create(&f->output, &options.shard);
    if (fd < 0 || writer_open(&f->w, fd, &options) != ST_OK)
        return false;
    f->libraries = slot_libraries();
    facts_process(f->w, config.cmdline);
    facts_libraries(f->w);
    drain_init(&f->drain, f->w);
    return true;
}

static void write_status(struct flush *f, enum output_order order)
{
    struct trace_counters c = drain_counters(&f->drain);
    char text[512];
    int bytes = snprintf(text, sizeof text,
                         "state %s\npid %d\nseen %llu\nrecorded %llu\nuntimed %llu\n"
                         "dropped %llu\nfailed %llu\nbytes %llu\n",
                         order == OUTPUT_ON ? "on" : "off", (int)getpid(),
                         (unsigned long long)c.seen, (unsigned long long)c.recorded,
                         (unsigned long long)c.untimed, (unsigned long long)loss_total(&c),
                         (unsigned long long)c.failed, (unsigned long long)writer_file_bytes(f->w));
    output_status(&f->output, text, (size_t)bytes);
}

/* Once a second: orders, the clock's rate, libraries that came, and how it stands. */
static void look(struct flush *f)
{
    enum output_order order = output_read_order(&f->output);
    follow(order);
    clock_tune();
    if (slot_libraries() != f->libraries) {
        f->libraries = slot_libraries();
        facts_libraries(f->w);
    }
    facts_notes(f->w, false);
    write_status(f, order);
}

/* Has the main thread left, and is nobody here but the writer and the keeper? */
static bool is_host_gone(void)
{
    char text[512], state = 0;
    int threads = 0, fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    /* The name stands in parentheses and may hold anything. */
    const char *behind = strrchr(text, ')');
    return behind &&
           sscanf(behind, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
                  &state, &threads) == 2 &&
           state == 'Z' && threads == 3;
}

static void turn(struct flush *f)
{
    uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t events = drain_events(&f->drain);
    if (begin_ns >= f->frame_ns && drain_is_dirty(&f->drain)) {
        drain_frame(&f->drain);
        f->frame_ns = begin_ns + f->frame_every_ns;
        f->frame_every_ns =
            f->frame_every_ns * 2 < LAST_FRAME_MS * MS ? f->frame_every_ns * 2 : LAST_FRAME_MS * MS;
    }
    if (begin_ns >= f->look_ns) {
        look(f);
        f->is_host_gone = is_host_gone();
        f->look_ns = begin_ns + LOOK_MS * MS;
    }
    uint64_t work_ns = clock_ns(CLOCK_MONOTONIC) - begin_ns;
    uint64_t idle_ns = f->nap_ns * 2 < IDLE_NAP_MS * MS ? f->nap_ns * 2 : IDLE_NAP_MS * MS;
    f->nap_ns = events ? BUSY_NAP_MS * MS : idle_ns;
    if (f->nap_ns < work_ns * NAP_PER_WORK)
        f->nap_ns = work_ns * NAP_PER_WORK;
}

static void end(struct flush *f)
{
    drain_events(&f->drain);
    facts_notes(f->w, true);
    drain_frame(&f->drain);
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + LAST_FRAMES_MS * MS;
    while (drain_has_more(&f->drain) && clock_ns(CLOCK_MONOTONIC) < end_ns)
        drain_frame(&f->drain);
    struct trace_counters c = drain_last_counters(&f->drain);
    writer_close(f->w, &c, clock_since_start_ns(clock_ticks()));
    output_remove_status(&f->output);
}

static void run(struct flush *f)
{
    f->frame_every_ns = FIRST_FRAME_MS * MS;
    f->frame_ns = clock_ns(CLOCK_MONOTONIC) + f->frame_every_ns;
    f->look_ns = f->frame_ns + LOOK_MS * MS;
    f->nap_ns = BUSY_NAP_MS * MS;
    while (atomic_load(&phase) == RUN) {
        if (!output_is_safe(&f->output)) {
            tap_give_up();
            return;
        }
        turn(f);
        if (f->is_host_gone)
            break;
        nap(RUN, f->nap_ns);
    }
    if (output_is_safe(&f->output))
        end(f);
}

static void *writer_main(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "tilewise");
    flush = (struct flush){ 0 };
    if (open_trace(&flush))
        run(&flush);
    else
        tap_give_up();
    set_phase(FINISHED);
    return NULL;
}

/* A host with much thread-local storage needs a larger stack than ours: the default then. */
static bool create_writer(const struct host *host, pthread_t *thread)
{
    pthread_attr_t small;
    if (host->pthread_attr_init && host->pthread_attr_setstacksize &&
        host->pthread_attr_init(&small) == 0 &&
        host->pthread_attr_setstacksize(&small, STACK_BYTES) == 0 &&
        host->pthread_create(thread, &small, writer_main, NULL) == 0)
        return true;
    return host->pthread_create(thread, NULL, writer_main, NULL) == 0;
}

/* The windows of GPU time. The keeper and not the writer: CUPTI and the driver work on descriptors
 * of the host. */
static void keep_windows(void)
{
    uint32_t seen = atomic_load(&kicks);
    while (atomic_load(&phase) != FINISHED) {
        uint64_t ns = cupti_turn(clock_ns(CLOCK_MONOTONIC));
        struct timespec t = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
        syscall(SYS_futex, &kicks, FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
        seen = atomic_load(&kicks);
    }
}

static void *keeper_main(void *unused)
{
    (void)unused;
    pthread_t writer;
    const struct host *host = host_get();
    prctl(PR_SET_NAME, "tilewise");
    if (create_writer(host, &writer)) {
        keep_windows();
        host->pthread_join(writer, NULL);
    } else
        tap_give_up();
    return NULL;
}

static bool create_keeper(const struct host *host)
{
    pthread_t keeper;
    return host->pthread_create(&keeper, NULL, keeper_main, NULL) == 0 &&
           host->pthread_detach(keeper) == 0;
}

bool flush_start(void)
{
    const struct host *host = host_get();
    if (!host->pthread_create || !host->pthread_join || !host->pthread_detach)
        return false;
    /* The thread inherits the mask: no signal of the host is ever handled in it. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    atomic_store(&phase, RUN);
    bool created = create_keeper(host);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return created;
}

void flush_finish(void)
{
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + FINISH_MS * MS, now_ns;
    uint32_t expected = RUN;
    if (atomic_compare_exchange_strong(&phase, &expected, FINISH))
        set_phase(FINISH);
    while (atomic_load(&phase) == FINISH && (now_ns = clock_ns(CLOCK_MONOTONIC)) < end_ns)
        nap(FINISH, end_ns - now_ns);
}
