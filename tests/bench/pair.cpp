/* SPDX-License-Identifier: MIT */

/* What one cached allocation and its free cost: 64 KiB, one stream, nothing
 * else live, statistics on.
 *
 *     pair                     a table: nanoseconds, median of rounds
 *     pair --only NAME COUNT   COUNT pairs of one contender and nothing else, for
 *                              counting instructions
 *     pair --names             the contenders, one a line
 *
 * The device contenders run on the CUDA emulator, so that they all pay the same
 * for a driver call; malloc, of the same size and of one that its thread cache
 * holds, is there for scale. Rounds of the contenders alternate, since the machine may
 * be busy with other things. */

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cub/util_allocator.cuh>
#include <kolk/cuda.h>
#include <kolk/kolk.h>

extern "C" {
#include "emulator.h"
}

namespace
{

constexpr size_t SIZE = 64 << 10;
constexpr int ROUNDS = 11;
constexpr int PAIRS = 100000;

void demand(bool held, const char *what)
{
    if (held)
        return;
    std::fprintf(stderr, "pair: %s: %s\n", what, kolk_last_error()->message);
    std::exit(1);
}

kolk_pool *pool;
kolk_stream *stream;
cudaStream_t native;
cub::CachingDeviceAllocator *cub_pool;

void kolk_handle()
{
    kolk_block *block = nullptr;
    demand(kolk_block_alloc(pool, SIZE, stream, &block) == KOLK_OK, "kolk_block_alloc");
    kolk_block_free(&block);
}

void kolk_pointer()
{
    void *const data = kolk_malloc(pool, SIZE, stream);
    demand(data && kolk_free(pool, data, stream) == KOLK_OK, "kolk_malloc");
}

void cub_caching()
{
    void *data = nullptr;
    demand(cub_pool->DeviceAllocate(&data, SIZE, native) == cudaSuccess, "cub");
    demand(cub_pool->DeviceFree(data) == cudaSuccess, "cub");
}

template <size_t size> void host_malloc()
{
    void *volatile data = std::malloc(size);
    demand(data != nullptr, "malloc");
    std::free(data);
}

struct contender {
    const char *name;
    void (*pair)();
    double nanoseconds[ROUNDS];
    size_t calls;
};

contender contenders[] = {{"kolk-handle", kolk_handle, {}, 0},
                          {"kolk-pointer", kolk_pointer, {}, 0},
                          {"cub", cub_caching, {}, 0},
                          {"jemalloc", host_malloc<SIZE>, {}, 0},
                          {"jemalloc-512B", host_malloc<512>, {}, 0}};

void run(const contender &who, int count)
{
    for (int i = 0; i < count; i++)
        who.pair();
}

double round_of(contender &who)
{
    using clock = std::chrono::steady_clock;
    const size_t before = emu_calls(EMU_ANY);
    const auto start = clock::now();
    run(who, PAIRS);
    const std::chrono::duration<double, std::nano> taken = clock::now() - start;
    who.calls = emu_calls(EMU_ANY) - before;
    return taken.count() / PAIRS;
}

double median(contender &who)
{
    std::sort(who.nanoseconds, who.nanoseconds + ROUNDS);
    return who.nanoseconds[ROUNDS / 2];
}

void table()
{
    for (int round = 0; round < ROUNDS; round++)
        for (contender &who : contenders)
            who.nanoseconds[round] = round_of(who);
    for (contender &who : contenders)
        std::printf("%s %.1f %.2f\n", who.name, median(who),
                    static_cast<double>(who.calls) / PAIRS);
}

/* The first pair is not a cached one. */
int only(const char *name, int count)
{
    for (const contender &who : contenders)
        if (!std::strcmp(who.name, name)) {
            run(who, 1 + count);
            return 0;
        }
    std::fprintf(stderr, "pair: no contender is called \"%s\"\n", name);
    return 2;
}

void set_up()
{
    emu_reset(nullptr);
    demand(kolk_stream_create(kolk_cuda(0), &stream) == KOLK_OK, "kolk_stream_create");
    demand(kolk_pool_create(kolk_cuda(0), nullptr, &pool) == KOLK_OK,
           "kolk_pool_create");
    native = kolk_stream_cuda(stream);
    cub_pool = new cub::CachingDeviceAllocator();
}

} /* namespace */

int main(int count, char **arguments)
{
    if (count == 2 && !std::strcmp(arguments[1], "--names")) {
        for (const contender &who : contenders)
            std::puts(who.name);
        return 0;
    }
    set_up();
    if (count == 4 && !std::strcmp(arguments[1], "--only"))
        return only(arguments[2], std::atoi(arguments[3]));
    if (count == 1)
        table();
    return count == 1 ? 0 : 2;
}
