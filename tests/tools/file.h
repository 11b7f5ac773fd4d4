/* SPDX-License-Identifier: MIT */
#ifndef KOLK_TESTS_FILE_H
#define KOLK_TESTS_FILE_H

/* Files and texts in tests. What cannot be done ends the test. */

#include <stdbool.h>
#include <stddef.h>

/* An empty folder of the test's own, and its removal. */
char *folder_make(void);
void folder_remove(char **folder);

/* Room for `folder`/`name`, valid until the next call. */
const char *path_in(const char *folder, const char *name);

/* Number of files in a folder. */
int folder_count(const char *folder);

/* The whole file, with a NUL after its last byte. To be freed. */
char *file_read(const char *path, size_t *out_size);
void file_write(const char *path, const char *text);

/* free() for KOLK_AUTO. */
void text_free(char **text);

/* A copy of `text` in which the value of `key`, the first one after `anchor`, is
 * `value`. To be freed. */
char *text_edit(const char *text, const char *anchor, const char *key,
                const char *value);

#endif
