/* SPDX-License-Identifier: Apache-2.0 */
#include "replayer/companion.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/clock.h"
#include "traces/dtype.h"

enum { REQUEST_BYTES = 1024, ANSWER_BYTES = 512, HELLO = 0 };

/* ---- lines ---- */

static bool send_line(const struct companion *c, const char *line)
{
    size_t left = strlen(line);
    while (left > 0) {
        ssize_t done = send(c->socket, line, left, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        line += done;
        left -= (size_t)done;
    }
    return true;
}

/* One byte at a time: what comes behind the line belongs to whoever asks next, perhaps in another
 * process. Lines that are too long are cut. */
static bool read_line(const struct companion *c, double deadline_s, char line[ANSWER_BYTES])
{
    size_t used = 0;
    for (;;) {
        char byte;
        double left_s = deadline_s - clock_now_s();
        struct pollfd wait = { .fd = c->socket, .events = POLLIN };
        int ready = left_s > 0 ? poll(&wait, 1, (int)(left_s * 1000) + 1) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0 || read(c->socket, &byte, 1) != 1)
            return false;
        if (byte == '\n')
            break;
        if (used < ANSWER_BYTES - 1)
            line[used++] = byte >= ' ' && byte < 0x7f ? byte : '?';
    }
    line[used] = '\0';
    return true;
}

/* "NUMBER WORD REST": the REST of the answer to this request. Answers to earlier ones, whose child
 * was ended before it could read them, are passed over. UNSUPPORTED: an error, which REST says. */
static enum status receive(const struct companion *c, unsigned request, char rest[ANSWER_BYTES])
{
    double deadline_s = clock_now_s() + c->patience_s;
    char line[ANSWER_BYTES];
    unsigned number = HELLO;
    int word = 0, words = 0, after = 0;
    do {
        if (!read_line(c, deadline_s, line)) {
            snprintf(rest, ANSWER_BYTES, "no answer");
            return ST_IO;
        }
        word = 0;
        words = sscanf(line, "%u %n%*s %n", &number, &word, &after);
    } while (words == 1 && number < request);
    if (words != 1 || number != request || word == 0) {
        snprintf(rest, ANSWER_BYTES, "an answer that nobody understands: %.60s", line);
        return ST_FORMAT;
    }
    after = after < word ? (int)strlen(line) : after;
    snprintf(rest, ANSWER_BYTES, "%s", line + after);
    return strncmp(line + word, "error", 5) == 0 ? ST_UNSUPPORTED : ST_OK;
}

/* Requests are numbered across the processes that make them, by the time in ms. */
static unsigned next_request(void)
{
    static unsigned last;
    unsigned now = (unsigned)((uint64_t)(clock_now_s() * 1000) % 2000000000u) + 1;
    last = now > last ? now : last + 1;
    return last;
}

/* ---- the process ---- */

static _Noreturn void be_companion(const char *const *command, int socket, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(socket, STDIN_FILENO) < 0 || dup2(socket, STDOUT_FILENO) < 0)
        _exit(EXIT_FAILURE);
    execvp(command[0], (char *const *)command);
    dprintf(STDOUT_FILENO, "%d error %s: %s\n", HELLO, command[0], strerror(errno));
    _exit(EXIT_FAILURE);
}

enum status companion_start(struct companion *c, const char *const *command, double patience_s,
                            struct fault *fault)
{
    int ends[2];
    char answer[ANSWER_BYTES];
    pid_t parent = getpid();
    *c = (struct companion){ .patience_s = patience_s };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return fault_set(fault, ST_IO, "no socket: %s", strerror(errno));
    fflush(NULL);
    c->socket = ends[0];
    c->process = fork();
    if (c->process == 0)
        be_companion(command, ends[1], parent);
    close(ends[1]);
    if (c->process < 0) {
        c->process = 0;
        close(ends[0]);
        return fault_set(fault, ST_IO, "no process: %s", strerror(errno));
    }
    if (receive(c, HELLO, answer) != ST_OK) {
        companion_stop(c);
        return fault_set(fault, ST_UNSUPPORTED, "%.200s", answer);
    }
    snprintf(c->name, sizeof c->name, "%.*s", COMPANION_TEXT_BYTES - 1, answer);
    return ST_OK;
}

void companion_stop(struct companion *c)
{
    if (c->process == 0)
        return;
    close(c->socket);
    kill(c->process, SIGKILL);
    while (waitpid(c->process, NULL, 0) < 0 && errno == EINTR)
        continue;
    *c = (struct companion){ 0 };
}

/* ---- requests ---- */

/* " a=f32,ROWS,COLS,ROW_STEP,COL_STEP,BATCH,STRIDE,FIRST,ELEMENTS"; nothing for an absent one. */
static size_t describe(char *text, size_t bytes, char name, const struct operand *o)
{
    if (!o->present)
        return 0;
    int used = snprintf(text, bytes, " %c=%s,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%zu", name,
                        tilewise_dtype_name(o->dtype), (long long)o->rows, (long long)o->cols,
                        (long long)o->row_step, (long long)o->col_step, (long long)o->batch,
                        (long long)o->stride, (long long)o->first, o->bytes / o->element_bytes);
    return used > 0 ? (size_t)used : 0;
}

enum status companion_prepare(const struct companion *c, const struct companion_case *of,
                              char *call, size_t call_bytes, struct fault *fault)
{
    const struct tilewise_signature *s = of->signature;
    struct operand shapes[OPERAND_COUNT];
    char line[REQUEST_BYTES], answer[ANSWER_BYTES];
    enum status st = operand_layout(s, shapes, fault);
    if (st != ST_OK)
        return st;
    if (s->epilogue || s->uplo != TILEWISE_FULL || s->scale_a || s->scale_b)
        return fault_set(fault, ST_UNSUPPORTED, "no call for an epilogue, a triangle or scales");
    unsigned request = next_request();
    size_t used = (size_t)snprintf(
        line, sizeof line,
        "%u case op=%s compute=%s alpha=%.17g beta=%.17g sets=%zu threads=%u cold=%d "
        "seed=%llu",
        request, tilewise_op_name(s->op), tilewise_dtype_name(s->compute), of->alpha, of->beta,
        of->sets, of->threads, of->cold, (unsigned long long)of->seed);
    for (int i = 0; i < OPERAND_COUNT; i++)
        used += describe(line + used, sizeof line - used, (char)('a' + i), &shapes[i]);
    snprintf(line + used, sizeof line - used, "\n");
    st = send_line(c, line) ? receive(c, request, answer) : ST_IO;
    if (st == ST_IO)
        return fault_set(fault, ST_UNSUPPORTED, "%.100s does not answer", c->name);
    if (st != ST_OK)
        return fault_set(fault, ST_UNSUPPORTED, "%.200s", answer);
    snprintf(call, call_bytes, "%s", answer);
    return ST_OK;
}

double companion_burst(const struct companion *c, uint64_t calls)
{
    char line[64], answer[ANSWER_BYTES], *end;
    unsigned request = next_request();
    snprintf(line, sizeof line, "%u burst calls=%llu\n", request, (unsigned long long)calls);
    if (!send_line(c, line) || receive(c, request, answer) != ST_OK)
        return NAN;
    double ns = strtod(answer, &end);
    return end != answer && ns > 0 && isfinite(ns) ? ns : NAN;
}

void companion_release(const struct companion *c)
{
    char line[32], answer[ANSWER_BYTES];
    unsigned request = next_request();
    snprintf(line, sizeof line, "%u done\n", request);
    if (send_line(c, line))
        (void)receive(c, request, answer);
}
