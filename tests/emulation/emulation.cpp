/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/emulation/emulation.hpp"
#include "tests/emulation/fault.h"

#include <setjmp.h>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;
bool emulation_copies_late = true;
enum emulation_fault emulation_fault_now;

static const size_t stack_bytes = 256 * 1024;

namespace
{
struct copy {
    void *to;
    const void *from;
    int size, bytes;
};

struct fiber {
    ucontext_t context;
    jmp_buf place; /* where it waits; switching contexts would ask the kernel each time */
    std::vector<char> stack;
    bool has_begun = false, is_done = false;
    std::vector<copy> open;               /* not committed yet */
    std::deque<std::vector<copy>> groups; /* committed, oldest first */
};

/* Where `all` threads meet; the last one does what is to be done. */
struct meeting {
    int arrived = 0;
    unsigned generation = 0;
};

struct warp {
    meeting meets;
    void *out[32];
    const void *in[32][2];
};

std::vector<fiber *> fibers;
std::vector<warp> warps;
std::vector<unsigned char> shared_memory;
unsigned char *shared_begin;
size_t shared_size;
meeting barrier;
jmp_buf scheduler;
int current;
const std::function<void()> *body;

[[noreturn]] void die(const char *what)
{
    fprintf(stderr, "emulation: block %u,%u,%u thread %d: %s\n", blockIdx.x, blockIdx.y, blockIdx.z,
            current, what);
    abort();
}

void pause()
{
    if (_setjmp(fibers[current]->place) == 0)
        _longjmp(scheduler, 1);
}

template <typename F> void meet(meeting &m, int all, F last)
{
    unsigned generation = m.generation;
    if (++m.arrived == all) {
        last();
        m.arrived = 0;
        m.generation++;
        return;
    }
    while (m.generation == generation)
        pause();
}

void start()
{
    (*body)();
    fibers[current]->is_done = true;
    pause();
}

void check_shared(const void *shared, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)shared;
    if (p < shared_begin || p + bytes > shared_begin + shared_size)
        die("outside of shared memory");
}

void perform(const copy &c)
{
    memcpy(c.to, c.from, (size_t)c.bytes);
    if (emulation_fault_now != FAULT_NO_ZERO_FILL)
        memset((char *)c.to + c.bytes, 0, (size_t)(c.size - c.bytes));
}

/* Until it waits or ends. */
void resume(fiber *f)
{
    if (_setjmp(scheduler) != 0)
        return;
    if (f->has_begun)
        _longjmp(f->place, 1);
    f->has_begun = true;
    setcontext(&f->context);
}

void run_block(int threads)
{
    for (int t = 0; t < threads; t++) {
        fiber *f = fibers[t];
        f->open.clear();
        f->groups.clear();
        f->is_done = f->has_begun = false;
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->stack.data();
        f->context.uc_stack.ss_size = f->stack.size();
        f->context.uc_link = nullptr;
        makecontext(&f->context, start, 0);
    }
    for (int left = threads; left > 0;) {
        for (current = 0; current < threads; current++) {
            fiber *f = fibers[current];
            if (f->is_done)
                continue;
            threadIdx = uint3{ (unsigned)current, 0, 0 };
            resume(f);
            left -= f->is_done;
        }
    }
    for (int t = 0; t < threads && emulation_fault_now == FAULT_NONE; t++)
        if (!fibers[t]->open.empty() || !fibers[t]->groups.empty())
            die("ends with copies on their way");
}
} // namespace

/* Does a broken launch leave this block out? */
static bool is_left_out(dim3 grid)
{
    bool last = blockIdx.x + 1 == grid.x;
    return emulation_fault_now == FAULT_NO_LAUNCH ||
           (emulation_fault_now == FAULT_NO_LAST_TILE && last) ||
           (emulation_fault_now == FAULT_FIRST_BATCH_ONLY && blockIdx.z > 0) ||
           (emulation_fault_now == FAULT_FIRST_SPLIT_ONLY && blockIdx.y > 0);
}

void emulation_run(dim3 grid, int threads, int shared_bytes, const std::function<void()> &kernel)
{
    while ((int)fibers.size() < threads) {
        fibers.push_back(new fiber);
        fibers.back()->stack.resize(stack_bytes);
    }
    warps.assign((size_t)threads / 32, warp());
    body = &kernel;
    gridDim = grid;
    blockDim = dim3((unsigned)threads);
    static unsigned launches; /* no kernel may count on which block comes first */
    launches++;
    for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx.x = (x + launches) % grid.x;
                blockIdx.y = (y + launches) % grid.y;
                if (is_left_out(grid))
                    continue;
                shared_memory.assign((size_t)shared_bytes + 256, 0xff); /* NaN in every type */
                shared_begin =
                    (unsigned char *)(((uintptr_t)shared_memory.data() + 127) / 128 * 128);
                shared_size = (size_t)shared_bytes;
                run_block(threads);
            }
}

unsigned char *device_shared()
{
    return shared_begin;
}

void __syncthreads()
{
    if (emulation_fault_now != FAULT_NO_BARRIER)
        meet(barrier, (int)blockDim.x, [] {});
}

void device_copy(void *shared, const void *global, int size, int bytes)
{
    if (((uintptr_t)shared | (uintptr_t)global) % (uintptr_t)size != 0)
        die("copy is not aligned");
    if (bytes < 0 || bytes > size)
        die("copy of a wrong size");
    check_shared(shared, (size_t)size);
    copy c = { shared, global, size, bytes };
    if (!emulation_copies_late)
        perform(c);
    fibers[current]->open.push_back(c);
}

void device_copy_commit()
{
    fiber *f = fibers[current];
    f->groups.push_back(f->open);
    f->open.clear();
}

void emulation_wait(int left)
{
    fiber *f = fibers[current];
    left += emulation_fault_now == FAULT_SHORT_WAIT;
    while ((int)f->groups.size() > left) {
        if (emulation_copies_late)
            for (const copy &c : f->groups.front())
                perform(c);
        f->groups.pop_front();
    }
}

static void load_matrices(uint32_t r[4], const void *shared, bool transposed)
{
    int lane = current % 32;
    warp &w = warps[current / 32];
    if ((uintptr_t)shared % 16 != 0)
        die("matrix row is not aligned");
    check_shared(shared, 16);
    w.out[lane] = r;
    w.in[lane][0] = shared;
    meet(w.meets, 32, [&] {
        for (int l = 0; l < 32; l++)
            for (int matrix = 0; matrix < 4; matrix++) {
                uint16_t two[2];
                for (int e = 0; e < 2; e++) {
                    int row = transposed ? l % 4 * 2 + e : l / 4;
                    int column = transposed ? l / 4 : l % 4 * 2 + e;
                    int from = emulation_fault_now == FAULT_WRONG_FRAGMENT && matrix % 3 != 0
                                   ? 3 - matrix
                                   : matrix;
                    two[e] = ((const uint16_t *)w.in[from * 8 + row][0])[column];
                }
                memcpy((uint32_t *)w.out[l] + matrix, two, 4);
            }
    });
}

void device_load_matrices(uint32_t r[4], const void *shared)
{
    load_matrices(r, shared, false);
}

void device_load_matrices_transposed(uint32_t r[4], const void *shared)
{
    load_matrices(r, shared, true);
}

static float narrow(__half, const uint32_t *r, int index)
{
    return __half2float(((const __half *)r)[index]);
}
static float narrow(__nv_bfloat16, const uint32_t *r, int index)
{
    return __bfloat162float(((const __nv_bfloat16 *)r)[index]);
}

/* Fragments as the instruction set manual lays them out: group g = lane / 4, thread t = lane % 4.
 */
template <typename T> static void multiply16(warp &w)
{
    float a[16][16], b[16][8];
    for (int l = 0; l < 32; l++) {
        const uint32_t *ra = (const uint32_t *)w.in[l][0], *rb = (const uint32_t *)w.in[l][1];
        for (int i = 0; i < 8; i++) {
            int row = i / 2 % 2 == 0 ? l / 4 : l / 4 + 8;
            a[row][l % 4 * 2 + i % 2 + (i >= 4 ? 8 : 0)] = narrow(T(0.0f), ra, i);
        }
        for (int i = 0; i < 4; i++)
            b[l % 4 * 2 + i % 2 + (i >= 2 ? 8 : 0)][l / 4] = narrow(T(0.0f), rb, i);
    }
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++) {
            int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
            for (int k = 0; k < 16; k++)
                ((float *)w.out[l])[i] += a[row][k] * b[k][column];
        }
}

static void multiply_tf32(warp &w)
{
    float a[16][8], b[8][8];
    for (int l = 0; l < 32; l++) {
        const float *ra = (const float *)w.in[l][0], *rb = (const float *)w.in[l][1];
        for (int i = 0; i < 4; i++)
            a[l / 4 + i % 2 * 8][l % 4 + i / 2 * 4] = ra[i];
        for (int i = 0; i < 2; i++)
            b[l % 4 + i * 4][l / 4] = rb[i];
    }
    for (int l = 0; l < 32; l++)
        for (int i = 0; i < 4; i++) {
            int row = l / 4 + i / 2 * 8, column = l % 4 * 2 + i % 2;
            for (int k = 0; k < 8; k++)
                ((float *)w.out[l])[i] += a[row][k] * b[k][column];
        }
}

template <typename F> static void multiply(float c[4], const void *a, const void *b, F how)
{
    int lane = current % 32;
    warp &w = warps[current / 32];
    w.out[lane] = c;
    w.in[lane][0] = a;
    w.in[lane][1] = b;
    meet(w.meets, 32, [&] { how(w); });
    if (emulation_fault_now == FAULT_FEWER_DIGITS)
        for (int i = 0; i < 4; i++)
            c[i] = __bfloat162float(__float2bfloat16(c[i]));
}

void device_multiply(__half, float c[4], const uint32_t a[4], const uint32_t b[2])
{
    multiply(c, a, b, multiply16<__half>);
}
void device_multiply(__nv_bfloat16, float c[4], const uint32_t a[4], const uint32_t b[2])
{
    multiply(c, a, b, multiply16<__nv_bfloat16>);
}
void device_multiply(float, float c[4], const uint32_t a[4], const uint32_t b[2])
{
    multiply(c, a, b, multiply_tf32);
}
