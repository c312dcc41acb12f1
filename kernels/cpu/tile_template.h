/* SPDX-License-Identifier: Apache-2.0
 *
 * The register tile: up to TILE_VECTORS vectors of rows by TILE_COLUMNS columns of C stay in
 * registers over all of k; where there are few columns, up to TILE_TALLEST vectors. Every smaller
 * tile is its own function, so that the edges of C run at the same speed per element and no lane of
 * the column direction is wasted.
 */
#include "kernels/cpu/simd.h"

enum { TILE_ROWS = TILE_VECTORS * VL, TILE_TALLEST = 8 };

/* How A and B lie in memory. */
enum tile_mode {
    TILE_PACKED, /* A and B in panels of exactly this tile's width */
    TILE_ROWS_B, /* A in columns a_step apart; row p of B at b + p b_step */
    TILE_COLS_B, /* A in columns a_step apart; column j of B at b + j b_step */
    TILE_MODES,
};

struct tile {
    int64_t k;
    const real *a, *b;
    int64_t a_step, b_step; /* elements; not used for TILE_PACKED */
    real *c;
    int64_t ldc, rows; /* rows of C in this tile: the last vector may be partial */
    real alpha, beta;
};

typedef void tile_fn(const struct tile *t);

typedef vec tile_sums[TILE_COLUMNS][TILE_TALLEST];

SIMD_INLINE void tile_store(const struct tile *t, tile_sums sum, const int vectors,
                            const int columns)
{
    vec alpha = vec_all(t->alpha), beta = vec_all(t->beta);
    int64_t tail = t->rows - (vectors - 1) * VL;
    vec_mask mask = vec_first(tail);
    SIMD_FOR (j, columns)
        SIMD_FOR (v, vectors) {
            real *c = t->c + j * t->ldc + v * VL;
            bool full = v < vectors - 1 || tail == VL;
            vec out = alpha * sum[j][v];
            if (t->beta != 0)
                out = vec_fma(beta, full ? vec_load(c) : vec_load_part(c, mask), out);
            if (full)
                vec_store(c, out);
            else
                vec_store_part(c, mask, out);
        }
}

SIMD_INLINE void tile_step(tile_sums sum, const vec a[TILE_TALLEST], const real *b, int64_t apart,
                           const int vectors, const int columns)
{
    SIMD_FOR (j, columns) {
        vec x = vec_all(b[j * apart]);
        SIMD_FOR (v, vectors)
            sum[j][v] = vec_fma(a[v], x, sum[j][v]);
    }
}

SIMD_INLINE void tile_sum(const struct tile *t, tile_sums sum, const int vectors, const int columns,
                          const enum tile_mode mode)
{
    const bool packed = mode == TILE_PACKED;
    const int64_t a_step = packed ? vectors * VL : t->a_step;
    const int64_t b_step = packed ? columns : mode == TILE_ROWS_B ? t->b_step : 1;
    const int64_t apart = mode == TILE_COLS_B ? t->b_step : 1;
    vec_mask mask = vec_first(t->rows - (vectors - 1) * VL);
    const real *a = t->a, *b = t->b;
    SIMD_UNROLL_BY_4
    for (int64_t p = 0; p < t->k; p++, a += a_step, b += b_step) {
        vec x[TILE_TALLEST];
        SIMD_FOR (v, vectors)
            x[v] =
                packed || v < vectors - 1 ? vec_load(a + v * VL) : vec_load_part(a + v * VL, mask);
        tile_step(sum, x, b, apart, vectors, columns);
    }
}

SIMD_INLINE void tile_run(const struct tile *t, const int vectors, const int columns,
                          const enum tile_mode mode)
{
    tile_sums sum;
    SIMD_FOR (j, columns)
        SIMD_FOR (v, vectors) {
            sum[j][v] = vec_all(0);
            if (mode == TILE_PACKED) /* C comes from far away: ask for it now */
                __builtin_prefetch(t->c + j * t->ldc + v * VL, 1);
        }
    tile_sum(t, sum, vectors, columns, mode);
    tile_store(t, sum, vectors, columns);
}

/* clang-format off */
#if TILE_COLUMNS == 14
#define TILE_COLUMNS_LIST(X, m, v) X(m, v, 1) X(m, v, 2) X(m, v, 3) X(m, v, 4) X(m, v, 5) X(m, v, 6) \
    X(m, v, 7) X(m, v, 8) X(m, v, 9) X(m, v, 10) X(m, v, 11) X(m, v, 12) X(m, v, 13) X(m, v, 14)
#define TILE_TALL_LIST(X, m) X(m, 4, 1) X(m, 4, 2) X(m, 4, 3) X(m, 4, 4) X(m, 4, 5) X(m, 4, 6)     \
    X(m, 8, 1) X(m, 8, 2) X(m, 8, 3)
enum { TALL_4 = 6, TALL_8 = 3 }; /* columns, at most, of tiles of 4 and of 8 vectors */
#elif TILE_COLUMNS == 6
#define TILE_COLUMNS_LIST(X, m, v) X(m, v, 1) X(m, v, 2) X(m, v, 3) X(m, v, 4) X(m, v, 5) X(m, v, 6)
#define TILE_TALL_LIST(X, m) X(m, 4, 1) X(m, 4, 2) X(m, 4, 3) X(m, 8, 1)
enum { TALL_4 = 3, TALL_8 = 1 };
#else
#define TILE_COLUMNS_LIST(X, m, v) X(m, v, 1) X(m, v, 2) X(m, v, 3) X(m, v, 4)
#define TILE_TALL_LIST(X, m) X(m, 4, 1) X(m, 4, 2) X(m, 8, 1)
enum { TALL_4 = 2, TALL_8 = 1 };
#endif
#define TILE_LIST(X)                                                                               \
    TILE_COLUMNS_LIST(X, TILE_PACKED, 1) TILE_COLUMNS_LIST(X, TILE_PACKED, 2)                      \
    TILE_COLUMNS_LIST(X, TILE_ROWS_B, 1) TILE_COLUMNS_LIST(X, TILE_ROWS_B, 2)                      \
    TILE_COLUMNS_LIST(X, TILE_COLS_B, 1) TILE_COLUMNS_LIST(X, TILE_COLS_B, 2)                      \
    TILE_TALL_LIST(X, TILE_ROWS_B) TILE_TALL_LIST(X, TILE_COLS_B)

#define X(mode, vectors, columns)                                                                  \
    static void tile_##mode##_##vectors##_##columns(const struct tile *t)                          \
    {                                                                                              \
        tile_run(t, vectors, columns, mode);                                                       \
    }
TILE_LIST(X)
#undef X

static tile_fn *const tile_table[TILE_MODES][TILE_TALLEST + 1][TILE_COLUMNS + 1] = {
#define X(mode, vectors, columns)                                                                  \
    [mode][vectors][columns] = tile_##mode##_##vectors##_##columns,
    TILE_LIST(X)
#undef X
};
/* clang-format on */

/* Columns are dealt out evenly: 16 are 8 + 8, not 14 + 2. */
struct tile_split {
    int64_t width, wide; /* the first `wide` tiles have width + 1 */
};

static struct tile_split tile_split_of(int64_t columns)
{
    int64_t tiles = (columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    if (tiles == 1)
        return (struct tile_split){ columns, 0 };
    return (struct tile_split){ columns / tiles, columns % tiles };
}

static int64_t tile_width(struct tile_split split, int64_t index)
{
    return split.width + (index < split.wide);
}

/* Vectors of a panel of A. */
static int64_t tile_vectors(int64_t rows)
{
    return rows >= TILE_ROWS ? TILE_VECTORS : (rows + VL - 1) / VL;
}

/* Vectors of the next tile where A is read in place: few columns leave registers for more rows,
 * which is what keeps both multipliers busy. */
static int64_t tile_tall_vectors(int64_t rows, int64_t columns)
{
    if (columns <= TALL_8 && rows > 4 * VL)
        return 8 * VL <= rows + VL - 1 ? 8 : 4;
    if (columns <= TALL_4 && 4 * VL <= rows + VL - 1)
        return 4;
    return tile_vectors(rows);
}
