/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How long a thread looks before it yields or sleeps. A helper that has to be woken comes too late
 * for a product of 100 us: it looks for a few milliseconds, the pause between the calls of a busy
 * host and less than the threads of the library itself do. */
enum { SPINS = 10000, HELPER_SPINS = 100000 };

/* The work that is on, in one word, so that a thread that comes late can never take a part of one
 * work for a part of another: next part (16 bits), parts (16 bits), number of the work. */
typedef uint64_t ticket;

static struct {
    pthread_mutex_t owner;      /* held by the caller whose work is on */
    pthread_mutex_t sleep_lock; /* with `wake` */
    pthread_cond_t wake;
    _Atomic ticket now;
    _Atomic uint32_t sleepers, done;
    uint32_t threads; /* made so far, without the callers */
    team_fn *fn;      /* these two are read only by who has taken a part, */
    void *work;       /* and stay until that part is done */
} team = {
    .owner = PTHREAD_MUTEX_INITIALIZER,
    .sleep_lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
};

static void relax(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

static bool has_part(ticket t)
{
    return (t & 0xffff) < (t >> 16 & 0xffff);
}

/* Do parts until none is left. */
static void take_parts(void)
{
    ticket t = atomic_load(&team.now);
    while (has_part(t))
        if (atomic_compare_exchange_weak(&team.now, &t, t + 1)) {
            team.fn(team.work, (uint32_t)(t & 0xffff));
            atomic_fetch_add(&team.done, 1);
            t = atomic_load(&team.now);
        }
}

static void wait_for_part(void)
{
    for (int i = 0; i < HELPER_SPINS; i++) {
        if (has_part(atomic_load(&team.now)))
            return;
        relax();
    }
    pthread_mutex_lock(&team.sleep_lock);
    atomic_fetch_add(&team.sleepers, 1);
    while (!has_part(atomic_load(&team.now)))
        pthread_cond_wait(&team.wake, &team.sleep_lock);
    atomic_fetch_sub(&team.sleepers, 1);
    pthread_mutex_unlock(&team.sleep_lock);
}

static void *thread_main(void *unused)
{
    for (;;) {
        wait_for_part();
        take_parts();
    }
    return unused;
}

/* In a child of fork() only the forking thread lives. */
static void forget_threads(void)
{
    pthread_mutex_init(&team.owner, NULL);
    pthread_mutex_init(&team.sleep_lock, NULL);
    pthread_cond_init(&team.wake, NULL);
    atomic_store(&team.now, 0);
    atomic_store(&team.sleepers, 0);
    team.threads = 0;
}

static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, forget_threads);
}

/* Signals of the host are not for these threads. */
static bool make_thread(void)
{
    sigset_t all, old;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    bool made = pthread_create(&thread, NULL, thread_main, NULL) == 0;
    if (made)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return made;
}

static void have_threads(uint32_t wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
    while (team.threads < wanted && make_thread())
        team.threads++;
}

static void announce(uint32_t parts)
{
    ticket number = (atomic_load(&team.now) >> 32) + 1;
    atomic_store(&team.done, 0);
    atomic_store(&team.now, number << 32 | (ticket)parts << 16);
    if (atomic_load(&team.sleepers) > 0) {
        pthread_mutex_lock(&team.sleep_lock);
        pthread_cond_broadcast(&team.wake);
        pthread_mutex_unlock(&team.sleep_lock);
    }
}

void team_run(uint32_t parts, team_fn *fn, void *work)
{
    if (parts <= 1 || parts > TEAM_MAX || pthread_mutex_trylock(&team.owner) != 0) {
        for (uint32_t part = 0; part < parts; part++)
            fn(work, part);
        return;
    }
    have_threads(parts - 1);
    team.fn = fn;
    team.work = work;
    announce(parts);
    take_parts();
    for (int i = 0; atomic_load(&team.done) < parts; i++)
        i < SPINS ? relax() : (void)sched_yield();
    pthread_mutex_unlock(&team.owner);
}
