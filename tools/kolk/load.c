/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "command.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A block takes about a hundred bytes: more than five million of them. */
enum { MOST_BYTES = 512 << 20, FIRST_BYTES = 64 << 10 };

typedef struct text {
    char *data;
    size_t size, capacity;
} text;

static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static bool grow(text *t)
{
    const size_t capacity = t->capacity == 0 ? FIRST_BYTES : t->capacity * 2;
    char *const data = realloc(t->data, capacity);
    if (data == NULL)
        return false;
    t->data = data;
    t->capacity = capacity;
    return true;
}

/* Reads to the end of `file`; false with errno set. */
static bool read_all(int file, text *t)
{
    for (;;) {
        if (t->size == t->capacity && !grow(t))
            return false;
        const ssize_t got = read(file, t->data + t->size, t->capacity - t->size);
        if (got == 0)
            return true;
        if (got < 0 && errno != EINTR)
            return false;
        if (got > 0)
            t->size += (size_t)got;
        if (t->size > MOST_BYTES) {
            errno = EFBIG;
            return false;
        }
    }
}

static bool read_path(const char *path, text *t)
{
    if (strcmp(path, "-") == 0)
        return read_all(STDIN_FILENO, t);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const bool is_read = read_all(file, t);
    const int code = errno;
    (void)close(file);
    errno = code;
    return is_read;
}

/* The reason may quote the file, so it is printed with care. */
static void complain_of(const char *path, const kolk_complaint *why)
{
    const kolk_page page = {.file = stderr};
    fprintf(stderr, "kolk: %s: offset %zu: ", name_of(path), why->offset);
    kolk_page_text(&page, why->reason, sizeof why->reason);
    putc('\n', stderr);
}

kolk_snapshot *kolk_load(const char *path)
{
    text t = {0};
    kolk_complaint why = {0};
    kolk_snapshot *snapshot = NULL;
    if (!read_path(path, &t)) {
        kolk_complain("%s: %s", name_of(path), strerror(errno));
    } else {
        snapshot = kolk_snapshot_parse(t.data, t.size, &why);
        if (snapshot == NULL)
            complain_of(path, &why);
    }
    free(t.data);
    return snapshot;
}
