/* SPDX-License-Identifier: Apache-2.0
 *
 * tile_host M...: a program that calls tile.h once for each M, row-major M x 384 x 128, and prints
 * "M tile" or "M library" as it went, then why a table is not obeyed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/tile.h"

static float a[4096 * 128], b[128 * 384], c[4096 * 384];

int main(int argc, char **argv)
{
    struct tilewise_tile_counts before = { 0 }, now;
    for (int i = 1; i < argc; i++) {
        long m = strtol(argv[i], NULL, 10);
        if (m < 1 || m > 4096 ||
            tilewise_sgemm(TILEWISE_CALL_ROW_MAJOR, TILEWISE_CALL_N, TILEWISE_CALL_N, m, 384, 128,
                           1, a, 128, b, 384, 0, c, 384) != 0)
            return EXIT_FAILURE;
        tilewise_tile_count(&now);
        printf("%ld %s\n", m, now.tile > before.tile ? "tile" : "library");
        before = now;
    }
    printf("%s\n", tilewise_tile_problem());
    return EXIT_SUCCESS;
}
