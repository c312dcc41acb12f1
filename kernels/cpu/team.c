/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/team.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How long a thread looks for the next work before it sleeps: about 50 us, the gap between two
 * calls of a busy host; a sleeping thread costs the caller a system call to wake. */
enum { SPINS = 20000 };

static struct {
    pthread_mutex_t owner;      /* held by the caller whose work is on */
    pthread_mutex_t sleep_lock; /* with `wake` */
    pthread_cond_t wake;
    _Atomic uint64_t order; /* number of the work << 8 | threads asked: one word, so that a late
                               thread never mixes two orders */
    _Atomic uint32_t sleepers, unfinished, next_part;
    uint32_t threads; /* made so far, without the callers */
    uint32_t parts;
    team_fn *fn;
    void *work;
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

static void take_parts(void)
{
    for (uint32_t part; (part = atomic_fetch_add(&team.next_part, 1)) < team.parts;)
        team.fn(team.work, part);
}

/* Wait until the order is not `seen`; returns the new one. */
static uint64_t next_order(uint64_t seen)
{
    uint64_t order = seen;
    for (int i = 0; i < SPINS && order == seen; i++) {
        relax();
        order = atomic_load(&team.order);
    }
    if (order != seen)
        return order;
    pthread_mutex_lock(&team.sleep_lock);
    atomic_fetch_add(&team.sleepers, 1);
    while ((order = atomic_load(&team.order)) == seen)
        pthread_cond_wait(&team.wake, &team.sleep_lock);
    atomic_fetch_sub(&team.sleepers, 1);
    pthread_mutex_unlock(&team.sleep_lock);
    return order;
}

static void *thread_main(void *number)
{
    for (uint64_t seen = 0;;) {
        seen = next_order(seen);
        if ((uintptr_t)number >= (seen & 0xff))
            continue;
        take_parts();
        atomic_fetch_sub(&team.unfinished, 1);
    }
    return NULL;
}

/* In a child of fork() only the forking thread lives. */
static void forget_threads(void)
{
    pthread_mutex_init(&team.owner, NULL);
    pthread_mutex_init(&team.sleep_lock, NULL);
    pthread_cond_init(&team.wake, NULL);
    atomic_store(&team.order, 0);
    atomic_store(&team.sleepers, 0);
    atomic_store(&team.unfinished, 0);
    team.threads = 0;
}

static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, forget_threads);
}

/* Signals of the host are not for these threads. */
static bool make_thread(uint32_t number)
{
    sigset_t all, old;
    pthread_t thread;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    bool made = pthread_create(&thread, NULL, thread_main, (void *)(uintptr_t)number) == 0;
    if (made)
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return made;
}

static uint32_t have_threads(uint32_t wanted)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_fork);
    while (team.threads < wanted && make_thread(team.threads))
        team.threads++;
    return team.threads < wanted ? team.threads : wanted;
}

static void give_order(uint32_t helpers)
{
    uint64_t number = atomic_load(&team.order) >> 8;
    atomic_store(&team.unfinished, helpers);
    atomic_store(&team.order, (number + 1) << 8 | helpers);
    if (atomic_load(&team.sleepers) > 0) {
        pthread_mutex_lock(&team.sleep_lock);
        pthread_cond_broadcast(&team.wake);
        pthread_mutex_unlock(&team.sleep_lock);
    }
}

void team_run(uint32_t parts, team_fn *fn, void *work)
{
    if (parts <= 1 || pthread_mutex_trylock(&team.owner) != 0) {
        for (uint32_t part = 0; part < parts; part++)
            fn(work, part);
        return;
    }
    team.fn = fn;
    team.work = work;
    team.parts = parts;
    atomic_store(&team.next_part, 0);
    give_order(have_threads((parts < TEAM_MAX ? parts : TEAM_MAX) - 1));
    take_parts();
    for (int i = 0; atomic_load(&team.unfinished) > 0; i++)
        i < SPINS ? relax() : (void)sched_yield();
    pthread_mutex_unlock(&team.owner);
}
