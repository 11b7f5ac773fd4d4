/* SPDX-License-Identifier: MIT */

/* libFuzzer's entry: any bytes, used as the tool would use a file of them. */

#include "../tools/corrupt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *sink;
    if (sink == NULL)
        sink = fopen("/dev/null", "w");
    if (sink != NULL)
        (void)corrupt_use((const char *)data, size, sink);
    return 0;
}
