/* SPDX-License-Identifier: MIT */

/* The record of a request that could not be served, and its sentence. */

#include "counters.h"
#include "driver.h"
#include "ladder.h"
#include <runtime/fail.h>
#include <stdarg.h>
#include <stdio.h>

static _Thread_local kolk_oom last;

const kolk_oom *kolk_last_oom(void)
{
    return &last;
}

/* A probe that fails only leaves its line out. */
static void ask_device(kolk_oom *oom, kolk_pool *pool)
{
    oom->has_device =
        kolk_driver_memory_info(pool, &oom->device_free, &oom->device_total) == KOLK_OK;
    if (!oom->has_device)
        oom->device_free = oom->device_total = 0;
}

kolk_oom kolk_oom_of(const kolk_request *request)
{
    kolk_pool *const pool = request->pool;
    kolk_oom oom = {.requested = request->size,
                    .rounded = kolk_bytes_of(request->units),
                    .limit = atomic_load(&pool->limit),
                    .native = request->native,
                    .rungs = request->rungs};
    if (!request->units)
        oom.rounded = request->size;
    oom.allocated = (size_t)kolk_read(&pool->counters.allocated.current);
    oom.active = (size_t)kolk_read(&pool->counters.active.current);
    oom.reserved = (size_t)kolk_read(&pool->counters.reserved.current);
    oom.free = oom.reserved > oom.active ? oom.reserved - oom.active : 0;
    kolk_lock_acquire(&pool->heap.lock);
    oom.largest_free = kolk_bytes_of(kolk_largest_free(pool));
    kolk_lock_release(&pool->heap.lock);
    ask_device(&oom, pool);
    return oom;
}

static const char *rung_text(int rung)
{
    static const char *const texts[] = {
#define X(name, value, text) [value] = text,
        KOLK_RUNG_LIST(X)
#undef X
    };
    return texts[rung];
}

struct sentence {
    char text[sizeof((kolk_error *)NULL)->message];
    size_t length;
};

static void KOLK_PRINTF(2, 3) say(struct sentence *sentence, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const size_t room = sizeof sentence->text - sentence->length;
    const int more =
        vsnprintf(sentence->text + sentence->length, room, format, arguments);
    va_end(arguments);
    if (more > 0)
        sentence->length += (size_t)more < room ? (size_t)more : room - 1;
}

static struct sentence describe(const kolk_oom *oom, const char *name)
{
    struct sentence out = {.length = 0};
    say(&out, "pool%s%s: no room for %zu bytes (%zu rounded): reserved %zu",
        *name ? " " : "", name, oom->requested, oom->rounded, oom->reserved);
    if (oom->limit)
        say(&out, " of a limit of %zu", oom->limit);
    say(&out, ", allocated %zu, active %zu, free %zu, largest free %zu", oom->allocated,
        oom->active, oom->free, oom->largest_free);
    if (oom->has_device)
        say(&out, "; the device has %zu of %zu free", oom->device_free,
            oom->device_total);
    if (oom->native)
        say(&out, "; the driver refused with code %d", oom->native);
    for (int rung = KOLK_RUNG_WAIT; rung >= 0; rung--)
        if (oom->rungs >> rung & 1U) {
            say(&out, "; last %s", rung_text(rung));
            break;
        }
    return out;
}

kolk_status kolk_oom_fail(kolk_request *request)
{
    const kolk_oom oom = kolk_oom_of(request);
    const struct sentence text = describe(&oom, request->pool->config.name);
    kolk_bump(&request->pool->counters.ooms, 1);
    last = oom;
    return kolk_fail_at("kolk_block_alloc", KOLK_OUT_OF_MEMORY, oom.native, "%s",
                        text.text);
}
