/* SPDX-License-Identifier: MIT */
#include "failure.h"
#include "host.h"
#include "text.h"
#include "utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct bytes {
    uint8_t *at;
    size_t size, capacity;
} bytes;

static void grow(bytes *buffer)
{
    buffer->capacity = buffer->capacity ? 2 * buffer->capacity : 1 << 16;
    buffer->at = train_realloc(buffer->at, buffer->capacity);
}

/* One byte more than the limit, which tells whether the file goes on. */
static kolk_status fill(FILE *file, const char *path, size_t limit, bytes *buffer)
{
    while (buffer->size <= limit && !feof(file)) {
        if (buffer->size == buffer->capacity)
            grow(buffer);
        size_t room = buffer->capacity - buffer->size;
        if (room > limit + 1 - buffer->size)
            room = limit + 1 - buffer->size;
        buffer->size += fread(buffer->at + buffer->size, 1, room, file);
        if (ferror(file))
            return train_fail(KOLK_IO, "%s: %s", path, strerror(errno));
    }
    return KOLK_OK;
}

static kolk_status parse_within(const char *path, size_t limit, const bytes *buffer,
                                train_text *out)
{
    size_t size = buffer->size;
    if (size > limit)
        size = train_utf8_whole(buffer->at, limit);
    return train_text_parse(path, buffer->at, size, out);
}

kolk_status train_text_read(const char *path, int64_t limit, train_text *out)
{
    FILE *const file = fopen(path, "rb");
    if (!file)
        return train_fail(KOLK_IO, "%s: %s", path, strerror(errno));
    bytes buffer = {0};
    kolk_status status = fill(file, path, (size_t)limit, &buffer);
    (void)fclose(file);
    if (status == KOLK_OK)
        status = parse_within(path, (size_t)limit, &buffer, out);
    free(buffer.at);
    return status;
}
