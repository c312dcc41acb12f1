/* SPDX-License-Identifier: Apache-2.0
 *
 * gemm on one core: the five loops around the register tile with packed panels, and a way without
 * packing for operands that stay in the caches. The including file defines BLOCK_ROWS,
 * BLOCK_COLUMNS and BLOCK_DEPTH: a block of A (rows x depth) stays in L2, a panel of B (depth x
 * TILE_COLUMNS) in L1, a block of B (depth x columns) in L3.
 */
#include "kernels/cpu/tile_template.h"

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t round_up(int64_t x, int64_t step)
{
    return (x + step - 1) / step * step;
}

/* Size of equal parts that are at most `most`. */
static int64_t even_part(int64_t total, int64_t most, int64_t step)
{
    int64_t parts = (total + most - 1) / most;
    return round_up((total + parts - 1) / parts, step);
}

static const real *element(struct blas_matrix x, int64_t i, int64_t j)
{
    return (const real *)x.base + i * x.row + j * x.column;
}

/* What goes into a panel: `depth` steps of `lanes` elements, step p and lane i at from + p step +
 * i apart. */
struct panel {
    const real *from;
    int64_t step, apart, lanes, depth;
};

/* Columns to ask for ahead of use: the processor does not see by itself that columns far apart
 * follow each other. */
enum { AHEAD = 4, LINE = 64 / (REAL_BITS / 8) };

SIMD_INLINE void ask_for(const real *from, int64_t count)
{
    for (int64_t i = 0; i < count; i += LINE)
        __builtin_prefetch(from + i);
}

/* One step whose lanes are contiguous, as whole vectors: the lanes behind the end become zero. */
SIMD_INLINE void copy_step(real *to, const real *from, int64_t lanes)
{
    for (; lanes >= VL; lanes -= VL, to += VL, from += VL)
        vec_store(to, vec_load(from));
    if (lanes > 0)
        vec_store(to, vec_load_part(from, vec_first(lanes)));
}

/* VL steps of VL lanes whose steps are contiguous: x[p] becomes step p. */
SIMD_INLINE void turn_load(vec x[VL], struct panel in, int64_t p, int64_t lane)
{
    const real *from = in.from + lane * in.apart + p;
    int64_t lanes = smaller(in.lanes - lane, VL);
    if (p % LINE == 0)
        for (int64_t i = 0; i < lanes; i++)
            __builtin_prefetch(from + (lanes + i) * in.apart);
    if (in.lanes - lane >= VL && in.depth - p >= VL) {
        SIMD_FOR (i, VL)
            x[i] = vec_load(from + i * in.apart);
    } else {
        vec_mask mask = vec_first(in.depth - p);
        SIMD_FOR (i, VL)
            x[i] = lane + i < in.lanes ? vec_load_part(from + i * in.apart, mask) : vec_all(0);
    }
    vec_transpose(x);
}

/* A panel whose steps are contiguous in memory: turn squares of VL x VL. Steps are written in order
 * and as `vectors` whole vectors, `width` apart, so what runs over is overwritten by the next. */
SIMD_INLINE void turn_panel(real *to, int64_t width, const int vectors, struct panel in)
{
    for (int64_t p = 0; p < in.depth; p += VL) {
        vec x[2][VL];
        SIMD_FOR (v, vectors)
            turn_load(x[v], in, p, v * VL);
        int64_t steps = smaller(in.depth - p, VL);
        SIMD_FOR (s, VL)
            if (s < steps)
                SIMD_FOR (v, vectors)
                    vec_store(to + (p + s) * width + v * VL, x[v][s]);
    }
}

/* One panel of A with its steps contiguous in memory: lanes are padded to whole vectors. */
static void turn_rows(real *to, struct panel in)
{
    int64_t width = tile_vectors(in.lanes) * VL;
    for (int64_t lane = 0; lane < in.lanes; lane += VL) {
        struct panel part = in;
        part.from += lane * in.apart;
        part.lanes -= lane;
        turn_panel(to + lane, width, 1, part);
    }
}

/* Panels of A: TILE_VECTORS vectors wide (fewer in the last one), the panel of row i at i depth. */
static void pack_a(real *to, struct blas_matrix a, struct panel in)
{
    if (a.row != 1) {
        for (int64_t i = 0; i < in.lanes; i += TILE_ROWS) {
            struct panel part = in;
            part.from += i * in.apart;
            part.lanes = smaller(in.lanes - i, TILE_ROWS);
            turn_rows(to + i * in.depth, part);
        }
        return;
    }
    /* Through memory in its own order, a column at a time; the panels are in L2 anyway. */
    for (int64_t p = 0; p < in.depth; p++)
        for (int64_t i = 0; i < in.lanes; i += TILE_ROWS) {
            int64_t lanes = smaller(in.lanes - i, TILE_ROWS);
            ask_for(in.from + (p + AHEAD) * in.step + i, TILE_ROWS);
            copy_step(to + i * in.depth + p * tile_vectors(lanes) * VL, in.from + p * in.step + i,
                      lanes);
        }
}

/* Where the panel of tile `index`, which begins at column j, lies in a packed block of B: behind
 * each panel is room for a vector, because its last step runs over. */
static int64_t b_panel_at(int64_t index, int64_t j, int64_t depth)
{
    return j * depth + index * VL;
}

/* Panels of B, each exactly as wide as its tile. */
static void pack_b(real *to, struct blas_matrix b, struct panel in)
{
    struct tile_split split = tile_split_of(in.lanes);
    bool turn = b.column != 1;
    for (int64_t j = 0, t = 0; turn && j < in.lanes; j += tile_width(split, t), t++) {
        struct panel part = in;
        part.from += j * in.apart;
        part.lanes = tile_width(split, t);
        real *panel = to + b_panel_at(t, j, in.depth);
        if (part.lanes > VL)
            turn_panel(panel, part.lanes, 2, part);
        else
            turn_panel(panel, part.lanes, 1, part);
    }
    for (int64_t p = 0; !turn && p < in.depth; p++)
        for (int64_t j = 0, t = 0; j < in.lanes; j += tile_width(split, t), t++) {
            int64_t lanes = tile_width(split, t);
            copy_step(to + b_panel_at(t, j, in.depth) + p * lanes, in.from + p * in.step + j,
                      lanes);
        }
}

/* All tiles of one packed block of A against one of B. */
static void macro_kernel(struct tile tile, const real *a, const real *b, int64_t rows,
                         int64_t columns)
{
    struct tile_split split = tile_split_of(columns);
    real *c = tile.c;
    for (int64_t j = 0, t = 0; j < columns; j += tile_width(split, t), t++) {
        int64_t width = tile_width(split, t);
        tile.b = b + b_panel_at(t, j, tile.k);
        for (int64_t i = 0; i < rows; i += TILE_ROWS) {
            tile.rows = smaller(rows - i, TILE_ROWS);
            tile.a = a + i * tile.k;
            tile.c = c + i + j * tile.ldc;
            tile_table[TILE_PACKED][tile_vectors(tile.rows)][width](&tile);
        }
    }
}

struct blocks {
    int64_t rows, columns, depth;
};

static struct blocks blocks_of(int64_t m, int64_t n, int64_t k)
{
    return (struct blocks){
        .rows = even_part(m, BLOCK_ROWS, TILE_ROWS),
        .columns = even_part(n, BLOCK_COLUMNS, 1),
        .depth = even_part(k, BLOCK_DEPTH, 1),
    };
}

static int64_t packed_a_elements(struct blocks block)
{
    return round_up(round_up(block.rows, TILE_ROWS) * block.depth, 64);
}

/* Not less than any part of this shape needs: blocks of a part can be larger than even ones of the
 * whole. */
static size_t gemm_packed_bytes(int64_t m, int64_t n, int64_t k)
{
    struct blocks most = { .rows = smaller(round_up(m, TILE_ROWS), BLOCK_ROWS),
                           .columns = smaller(n, BLOCK_COLUMNS),
                           .depth = smaller(k, BLOCK_DEPTH) };
    int64_t tiles = (most.columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    int64_t b = most.columns * most.depth + (tiles + 1) * VL;
    return (size_t)(packed_a_elements(most) + b) * sizeof(real);
}

/* Rows [0, m) of one block of k against one packed block of B. */
static void rows_loop(const struct blas_call *call, struct blocks block, struct tile tile,
                      struct panel a, real *scratch)
{
    real *b = scratch + packed_a_elements(block), *c = tile.c;
    for (int64_t i = 0; i < call->m; i += block.rows) {
        struct panel part = a;
        part.from += i * a.apart;
        part.lanes = smaller(call->m - i, block.rows);
        pack_a(scratch, call->a, part);
        tile.c = c + i;
        macro_kernel(tile, scratch, b, part.lanes, a.lanes);
    }
}

static void gemm_packed(const struct blas_call *call, void *scratch)
{
    struct blocks block = blocks_of(call->m, call->n, call->k);
    real *b_block = (real *)scratch + packed_a_elements(block);
    struct tile tile = { .ldc = call->c.column, .alpha = (real)call->alpha };
    for (int64_t j = 0; j < call->n; j += block.columns)
        for (int64_t p = 0; p < call->k; p += block.depth) {
            int64_t columns = smaller(call->n - j, block.columns);
            tile.k = smaller(call->k - p, block.depth);
            tile.beta = p == 0 ? (real)call->beta : 1;
            tile.c = (real *)call->c.base + j * tile.ldc;
            struct panel b = { element(call->b, p, j), call->b.row, call->b.column, columns,
                               tile.k };
            struct panel a = { element(call->a, 0, p), call->a.column, call->a.row, columns,
                               tile.k };
            pack_b(b_block, call->b, b);
            rows_loop(call, block, tile, a, scratch);
        }
}

static size_t gemm_direct_bytes(int64_t k)
{
    return (size_t)(k * TILE_ROWS) * sizeof(real);
}

/* One panel of rows against all columns of B. */
static void direct_rows(struct tile *tile, int64_t vectors, const struct blas_call *call,
                        struct tile_split split)
{
    bool columns = call->b.row == 1;
    tile_fn *const *table = tile_table[columns ? TILE_COLS_B : TILE_ROWS_B][vectors];
    tile->b_step = columns ? call->b.column : call->b.row;
    tile->b = (const real *)call->b.base;
    for (int64_t j = 0, t = 0, width; j < call->n; j += width, t++) {
        width = tile_width(split, t);
        table[width](tile);
        tile->b += width * call->b.column;
        tile->c += width * tile->ldc;
    }
}

static void gemm_direct(const struct blas_call *call, void *scratch)
{
    struct tile_split split = tile_split_of(call->n);
    struct tile tile = {
        .k = call->k, .ldc = call->c.column, .alpha = (real)call->alpha, .beta = (real)call->beta
    };
    bool turn = call->a.row != 1;
    for (int64_t i = 0, vectors; i < call->m; i += vectors * VL) {
        int64_t left = call->m - i;
        vectors = turn ? tile_vectors(left) : tile_tall_vectors(left, call->n);
        tile.rows = smaller(left, vectors * VL);
        tile.a = element(call->a, i, 0);
        tile.a_step = turn ? vectors * VL : call->a.column;
        tile.c = (real *)call->c.base + i;
        if (turn) {
            turn_rows(scratch, (struct panel){ tile.a, 1, call->a.row, tile.rows, call->k });
            tile.a = scratch;
        }
        direct_rows(&tile, vectors, call, split);
    }
}
