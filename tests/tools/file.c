/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "file.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Also used by programs that are not Check's, so it does not assert with it. */
static void must(bool holds, const char *what, const char *name)
{
    if (holds)
        return;
    fprintf(stderr, "cannot %s %s\n", what, name);
    abort();
}

char *folder_make(void)
{
    const char *const parent = getenv("TMPDIR");
    char *folder = NULL;
    must(asprintf(&folder, "%s/kolk-XXXXXX", parent != NULL ? parent : "/tmp") > 0,
         "name", "a folder");
    must(mkdtemp(folder) != NULL, "make", folder);
    return folder;
}

const char *path_in(const char *folder, const char *name)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Calls `visit` for each file, if it is there; returns how many. */
static int each_file(const char *folder, int (*visit)(const char *path))
{
    int count = 0;
    DIR *const open = opendir(folder);
    must(open != NULL, "open", folder);
    for (const struct dirent *entry; (entry = readdir(open)) != NULL;)
        if (entry->d_name[0] != '.') {
            count++;
            if (visit != NULL)
                (void)visit(path_in(folder, entry->d_name));
        }
    (void)closedir(open);
    return count;
}

int folder_count(const char *folder)
{
    return each_file(folder, NULL);
}

void folder_remove(char **folder)
{
    if (*folder == NULL)
        return;
    (void)each_file(*folder, unlink);
    (void)rmdir(*folder);
    free(*folder);
    *folder = NULL;
}

char *file_read(const char *path, size_t *out_size)
{
    FILE *const file = fopen(path, "rb");
    must(file != NULL, "open", path);
    must(fseek(file, 0, SEEK_END) == 0, "seek in", path);
    const long size = ftell(file);
    must(size >= 0 && fseek(file, 0, SEEK_SET) == 0, "seek in", path);
    char *const text = malloc((size_t)size + 1);
    must(text != NULL, "make room for", path);
    must(fread(text, 1, (size_t)size, file) == (size_t)size, "read", path);
    text[size] = '\0';
    (void)fclose(file);
    if (out_size != NULL)
        *out_size = (size_t)size;
    return text;
}

void file_write(const char *path, const char *text)
{
    FILE *const file = fopen(path, "wb");
    must(file != NULL, "make", path);
    must(fputs(text, file) >= 0 && fclose(file) == 0, "write", path);
}

void text_free(char **text)
{
    free(*text);
    *text = NULL;
}

/* Behind the value that starts at `text`: a word, a string or an object. */
static const char *value_end(const char *text)
{
    if (*text == '"')
        return strchr(text + 1, '"') + 1;
    if (*text == '{' || *text == '[')
        return strchr(text, *text == '{' ? '}' : ']') + 1;
    return text + strcspn(text, ",}]\n");
}

char *text_edit(const char *text, const char *anchor, const char *key,
                const char *value)
{
    char quoted[64];
    char *edited = NULL;
    const char *at = strstr(text, anchor);
    must(at != NULL, "find", anchor);
    (void)snprintf(quoted, sizeof quoted, "\"%s\":", key);
    at = strstr(at, quoted);
    must(at != NULL, "find", key);
    at += strlen(quoted);
    must(asprintf(&edited, "%.*s%s%s", (int)(at - text), text, value, value_end(at)) >
             0,
         "edit", key);
    return edited;
}
