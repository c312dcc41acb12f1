/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/cards.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512, TEXT_BYTES = 2048 };

/* "Model: \t\t NVIDIA H200" */
static bool read_model(int folder, const char *card, char *model, size_t bytes)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    if ((size_t)snprintf(path, sizeof path, "%s/information", card) >= sizeof path)
        return false;
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return false;
    text[got] = '\0';
    const char *line = strstr(text, "Model:");
    if (!line)
        return false;
    line += strlen("Model:");
    line += strspn(line, " \t");
    size_t length = strcspn(line, "\n");
    if (length == 0 || length >= bytes)
        return false;
    memcpy(model, line, length);
    model[length] = '\0';
    return true;
}

bool cards_model(const char *folder, char *model, size_t bytes)
{
    char other[PATH_BYTES];
    unsigned found = 0;
    bool same = true;
    DIR *cards = opendir(folder);
    if (!cards)
        return false;
    for (struct dirent *card = readdir(cards); card && same; card = readdir(cards)) {
        if (card->d_name[0] == '.')
            continue;
        char *text = found ? other : model;
        if (read_model(dirfd(cards), card->d_name, text, found ? sizeof other : bytes))
            same = found++ == 0 || strcmp(model, other) == 0;
    }
    closedir(cards);
    return found > 0 && same;
}
