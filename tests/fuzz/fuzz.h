/* SPDX-License-Identifier: Apache-2.0
 *
 * What fuzz targets share. With libFuzzer: run.sh. Without (FUZZ_REPLAY): every file named on the
 * command line once, for a corpus under any compiler and sanitizer.
 */
#ifndef TILEWISE_TESTS_FUZZ_H
#define TILEWISE_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static inline void require(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

#ifdef FUZZ_REPLAY
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            fprintf(stderr, "fuzz: %s cannot be opened\n", argv[i]);
            return 2;
        }
        static uint8_t bytes[1 << 20];
        size_t count = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        uint8_t *exact = malloc(count ? count : 1); /* a sanitizer sees one byte too many */
        if (!exact)
            return 2;
        memcpy(exact, bytes, count);
        LLVMFuzzerTestOneInput(exact, count);
        free(exact);
    }
    printf("1..1\nok 1 - %d inputs\n", argc - 1);
    return 0;
}
#endif
#endif
