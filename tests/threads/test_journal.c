/* SPDX-License-Identifier: Apache-2.0
 *
 * A journal between a thread that writes calls and one that takes them, while others ask how many
 * there were. A plain program, for the thread sanitizer; so the calls are written as gpu.h does.
 */
#include <pthread.h>
#include <stdio.h>

/* The shim is no library that a test could link. */
#include "tracer/journal.c"
#include "tracer/pages.c"

enum { CALLS = 200000 };

static struct journal *journal;
static _Atomic bool ended;
static int done, failed;

static void check(bool good, const char *what)
{
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++done, what);
    failed += !good;
}

static void *write_calls(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < CALLS;) {
        struct journal_call *next;
        uint32_t room = journal_room(journal, (uint32_t)i + 1, &next);
        for (; room > 0 && i < CALLS; room--, i++, next++) {
            next->word[0] = i;
            next->word[JOURNAL_WORDS - 1] = ~i;
            atomic_store_explicit(&next->number, (uint32_t)i + 1, memory_order_release);
        }
    }
    atomic_store(&ended, true);
    return NULL;
}

/* It never goes back, and never beyond what was written. */
static void *ask(void *unused)
{
    uint64_t before = 0, wrong = 0;
    (void)unused;
    while (!atomic_load(&ended)) {
        uint64_t now = journal_seen(journal);
        wrong += now < before || now > CALLS;
        before = now;
    }
    return (void *)(uintptr_t)wrong;
}

static uint64_t take_calls(void)
{
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < CALLS;) {
        uint64_t waiting = journal_waiting(journal);
        for (uint64_t n = 0; n < waiting; n++, i++) {
            const struct journal_call *call = journal_peek(journal, n);
            wrong += call->word[0] != i || call->word[JOURNAL_WORDS - 1] != ~i;
        }
        journal_take(journal, waiting);
    }
    return wrong;
}

int main(void)
{
    pthread_t writer, asker;
    void *wrong_answers = NULL;
    journal = journal_make();
    check(journal && journal_waiting(journal) == 0 && journal_seen(journal) == 0,
          "an empty journal");
    if (pthread_create(&writer, NULL, write_calls, NULL) != 0 ||
        pthread_create(&asker, NULL, ask, NULL) != 0)
        return 1;
    check(take_calls() == 0, "each call once, whole, in order");
    pthread_join(writer, NULL);
    pthread_join(asker, &wrong_answers);
    check(!wrong_answers, "how many there were, asked meanwhile");
    check(journal_waiting(journal) == 0 && journal_seen(journal) == CALLS, "all are counted");
    printf("1..%d\n", done);
    return failed != 0;
}
