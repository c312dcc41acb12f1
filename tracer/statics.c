/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/statics.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tracer/clock.h"
#include "tracer/elf.h"
#include "tracer/host.h"
#include "tracer/slot.h"
#include "traces/fnv.h"

/* An environment variable that cuBLASLt asks for; its callers have no reason to. */
static const char mark[] = "CUBLASLT_LOG_LEVEL";

enum {
    MARK_BYTES = sizeof mark - 1,
    KNOWN = 4096,
    QUEUE = 16,
    FOUND = 16,
    SECTIONS = 128,
    NAMES_BYTES = 4096,
    NEEDED = 512,
    CHUNK_BYTES = 1 << 16,
    TURN_BYTES = 8 << 20, /* read in a second */
    LAST_BYTES = 32 << 20,
    TURN_MS = 20,
    LAST_MS = 100,
    SECTION_BYTES = 1 << 29, /* larger ones are not searched */
};

struct object {
    uintptr_t low;
    char path[ELF_NAME_BYTES];
};

/* The sections of a file, as far as it is one. */
struct file {
    int fd;
    uint32_t count, names_bytes;
    Elf64_Shdr section[SECTIONS];
    char name[NAMES_BYTES];
};

enum answer { NO, YES, NOT_YET };

struct budget {
    uint64_t bytes, end_ns;
};

static struct {
    uint64_t known[KNOWN]; /* objects that were queued or are of no interest */
    uint32_t nknown, queued, nfound;
    size_t loaded; /* at the last walk */
    bool has_more; /* than the queue took */
    uint64_t done; /* bytes of text searched in the first of the queue */
    struct object queue[QUEUE], found[FOUND];
} seen;

static struct file file;
static unsigned char chunk[CHUNK_BYTES];

/* Gathering: under the loader's lock. */

static uint64_t key_of(const struct elf_object *object)
{
    return fnv_text(FNV_START ^ object->low, object->name);
}

static bool is_known(uint64_t key)
{
    for (uint32_t i = 0; i < seen.nknown; i++)
        if (seen.known[i] == key)
            return true;
    return false;
}

/* The vendors' own libraries, ourselves, and what has no file. */
static bool is_of_interest(const struct elf_object *object)
{
    return object->low != host_get()->self.low && !slot_is_family(object->name) &&
           (!object->name[0] || strchr(object->name, '/'));
}

static bool gather_one(const struct elf_object *object, void *context)
{
    (void)context;
    uint64_t key = key_of(object);
    if (is_known(key) || seen.nknown == KNOWN)
        return false;
    if (seen.queued == QUEUE) {
        seen.has_more = true;
        return false;
    }
    seen.known[seen.nknown++] = key;
    if (is_of_interest(object)) {
        struct object *next = &seen.queue[seen.queued];
        next->low = object->low;
        strcpy(next->path, object->name[0] ? object->name : "/proc/self/exe");
        seen.queued++;
    }
    return false;
}

/* Without it nothing of cuBLAS runs: files of a process that has none are left alone. */
static bool has_driver(void)
{
    return elf_next(&host_get()->self, false, "cuDeviceGetCount") != NULL;
}

static void gather(bool again)
{
    size_t count = elf_count();
    if (count == seen.loaded && !seen.has_more && !again)
        return;
    seen.has_more = false;
    seen.loaded = count;
    if (has_driver())
        elf_each(gather_one, NULL);
}

/* Files: whatever they hold, reading beyond their end gives nothing. */

static bool read_at(const struct file *f, void *to, size_t bytes, uint64_t at)
{
    return at <= INT64_MAX && pread(f->fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

static bool read_sections(struct file *f)
{
    Elf64_Ehdr head;
    if (!read_at(f, &head, sizeof head, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof *f->section ||
        head.e_shnum > SECTIONS || head.e_shstrndx >= head.e_shnum ||
        !read_at(f, f->section, head.e_shnum * sizeof *f->section, head.e_shoff))
        return false;
    const Elf64_Shdr *names = &f->section[head.e_shstrndx];
    f->count = head.e_shnum;
    f->names_bytes = names->sh_size < NAMES_BYTES ? (uint32_t)names->sh_size : NAMES_BYTES - 1;
    f->name[f->names_bytes] = '\0';
    return read_at(f, f->name, f->names_bytes, names->sh_offset);
}

static bool open_file(struct file *f, const char *path)
{
    /* A pipe in its place is not waited for, and has no bytes at an offset. */
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (f->fd < 0)
        return false;
    if (read_sections(f))
        return true;
    close(f->fd);
    return false;
}

static const char *name_of(const struct file *f, const Elf64_Shdr *section)
{
    return section->sh_name < f->names_bytes ? f->name + section->sh_name : "";
}

static bool has_gpu_code(const struct file *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (strcmp(name_of(f, &f->section[i]), ".nv_fatbin") == 0)
            return true;
    return false;
}

static bool needs_cublas(const struct file *f)
{
    static const char library[] = "libcublas";
    char text[sizeof library - 1];
    for (uint32_t i = 0; i < f->count; i++) {
        const Elf64_Shdr *s = &f->section[i];
        if (s->sh_type != SHT_DYNAMIC || s->sh_link >= f->count)
            continue;
        for (uint64_t j = 0; j < NEEDED && j < s->sh_size / sizeof(Elf64_Dyn); j++) {
            Elf64_Dyn d;
            if (read_at(f, &d, sizeof d, s->sh_offset + j * sizeof d) && d.d_tag == DT_NEEDED &&
                read_at(f, text, sizeof text, f->section[s->sh_link].sh_offset + d.d_un.d_val) &&
                memcmp(text, library, sizeof text) == 0)
                return true;
        }
    }
    return false;
}

static bool holds_text(const struct file *f, const Elf64_Shdr *section)
{
    return section->sh_type == SHT_PROGBITS && section->sh_size <= SECTION_BYTES &&
           strstr(name_of(f, section), "rodata");
}

static bool is_spent(const struct budget *budget)
{
    return budget->bytes == 0 || clock_ns(CLOCK_MONOTONIC) >= budget->end_ns;
}

/* Search a section of `bytes` at `at` from *done on. */
static bool search_section(const struct file *f, const Elf64_Shdr *section, uint64_t *done,
                           struct budget *budget)
{
    while (*done < section->sh_size && !is_spent(budget)) {
        uint64_t rest = section->sh_size - *done;
        size_t want = rest < CHUNK_BYTES ? (size_t)rest : CHUNK_BYTES;
        if (want < MARK_BYTES || !read_at(f, chunk, want, section->sh_offset + *done)) {
            *done = section->sh_size;
            return false;
        }
        if (memmem(chunk, want, mark, MARK_BYTES))
            return true;
        *done += want == rest ? want : want - MARK_BYTES + 1; /* it may lie across the border */
        budget->bytes -= want < budget->bytes ? want : budget->bytes;
    }
    return false;
}

static enum answer search(const struct file *f, struct budget *budget)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const Elf64_Shdr *s = &f->section[i];
        if (!holds_text(f, s))
            continue;
        uint64_t done = seen.done > before ? seen.done - before : 0;
        bool is_found = search_section(f, s, &done, budget);
        seen.done = before + done > seen.done ? before + done : seen.done;
        if (is_found)
            return YES;
        if (done < s->sh_size)
            return NOT_YET;
        before += s->sh_size;
    }
    return NO;
}

static enum answer ask(const char *path, struct budget *budget)
{
    if (!open_file(&file, path))
        return NO;
    enum answer answer = has_gpu_code(&file) && !needs_cublas(&file) ? search(&file, budget) : NO;
    close(file.fd);
    return answer;
}

/* The first of the queue, or a part of it. */
static void look(struct budget *budget)
{
    struct object *first = &seen.queue[0];
    enum answer answer = ask(first->path, budget);
    if (answer == NOT_YET)
        return;
    if (answer == YES && seen.nfound < FOUND)
        seen.found[seen.nfound++] = *first;
    seen.done = 0;
    seen.queued--;
    memmove(seen.queue, seen.queue + 1, seen.queued * sizeof *seen.queue);
}

static const char *short_name(const char *path)
{
    return strcmp(path, "/proc/self/exe") == 0 ? "the program itself" : elf_file_name(path);
}

void statics_each(bool last, void (*visit)(const char *object, void *context), void *context)
{
    uint64_t ms = last ? LAST_MS : TURN_MS;
    struct budget budget = { last ? LAST_BYTES : TURN_BYTES,
                             clock_ns(CLOCK_MONOTONIC) + ms * 1000000 };
    do {
        gather(last);
        while (seen.queued && !is_spent(&budget))
            look(&budget);
    } while (seen.has_more && !is_spent(&budget));
    /* One that exports its cuBLAS may be called through the hooks after all. */
    for (uint32_t i = 0; i < seen.nfound; i++)
        if (!slot_is_library((const void *)seen.found[i].low))
            visit(short_name(seen.found[i].path), context);
}
