/* SPDX-License-Identifier: Apache-2.0
 *
 * The examples of FIPS 180-4, and every length around the padding against sha256sum.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/sha256.h"

static const char *digest_of(const void *data, size_t bytes)
{
    static char text[2 * SHA256_BYTES + 1];
    uint8_t digest[SHA256_BYTES];
    sha256(data, bytes, digest);
    for (int i = 0; i < SHA256_BYTES; i++)
        sprintf(text + 2 * i, "%02x", digest[i]);
    return text;
}

Test(sha256, published_examples)
{
    cr_expect_str_eq(digest_of("", 0),
                     "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    cr_expect_str_eq(digest_of("abc", 3),
                     "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const char *two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    cr_expect_str_eq(digest_of(two, strlen(two)),
                     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *million = malloc(1000000);
    memset(million, 'a', 1000000);
    cr_expect_str_eq(digest_of(million, 1000000),
                     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

Test(sha256, every_length_around_a_block)
{
    char directory[] = "/tmp/tilewise-sha256-XXXXXX", command[256], line[256];
    uint8_t data[130];
    cr_assert_not_null(mkdtemp(directory));
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 37 + 1);
    for (size_t bytes = 0; bytes <= sizeof data; bytes++) {
        snprintf(command, sizeof command, "%s/%03zu", directory, bytes);
        FILE *file = fopen(command, "wb");
        cr_assert_not_null(file);
        fwrite(data, 1, bytes, file);
        fclose(file);
    }
    snprintf(command, sizeof command, "sha256sum %s/*", directory);
    FILE *sums = popen(command, "r");
    cr_assert_not_null(sums);
    for (size_t bytes = 0; bytes <= sizeof data; bytes++) {
        cr_assert_not_null(fgets(line, sizeof line, sums));
        cr_expect_eq(strncmp(line, digest_of(data, bytes), 64), 0, "%zu bytes", bytes);
    }
    cr_assert_eq(pclose(sums), 0);
    snprintf(command, sizeof command, "rm -r %s", directory);
    cr_assert_eq(system(command), 0);
}
