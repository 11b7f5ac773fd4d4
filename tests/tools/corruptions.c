/* SPDX-License-Identifier: MIT */

/* corruptions [count [seed [file]]]: so many random corruptions of a snapshot, a
 * fresh one unless it is given, each used as the tool would. Ends by a signal if
 * the tool would, and says how many could still be read. */

#include "corrupt.h"
#include "file.h"
#include "scene.h"
#include <inttypes.h>
#include <stdlib.h>

static char *make_snapshot(size_t *out_size)
{
    char *folder KOLK_AUTO(folder_remove) = folder_make();
    if (scene_write(path_in(folder, "scene"), 3, true) != KOLK_OK)
        return NULL;
    return file_read(path_in(folder, "scene"), out_size);
}

static uint64_t use_all(const char *text, size_t size, uint64_t count, uint64_t seed,
                        FILE *sink)
{
    uint64_t read = 0;
    for (uint64_t i = 0; i < count; i++) {
        corrupt_text t = corrupt(text, size, &seed);
        read += corrupt_use(t.data, t.size, sink);
        free(t.data);
    }
    return read;
}

int main(int argc, char **argv)
{
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 300;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    size_t size = 0;
    char *text KOLK_AUTO(text_free) =
        argc > 3 ? file_read(argv[3], &size) : make_snapshot(&size);
    FILE *const sink = fopen("/dev/null", "w");
    if (text == NULL || sink == NULL || !corrupt_use(text, size, sink))
        return EXIT_FAILURE;
    const uint64_t read = use_all(text, size, count, seed, sink);
    (void)fclose(sink);
    printf("%" PRIu64 " corruptions of %zu bytes, seed %" PRIu64 ": %" PRIu64
           " refused, %" PRIu64 " read\n",
           count, size, seed, count - read, read);
    return read > 0 && read < count ? EXIT_SUCCESS : EXIT_FAILURE;
}
