/* SPDX-License-Identifier: MIT */
#include "fault.h"
#include <runtime/fail.h>
#include <stdatomic.h>

enum { NATIVE_OUT_OF_MEMORY = 2, NATIVE_UNKNOWN = 999 };

typedef enum object_kind {
    NOTHING,
    MEMORY,
    RANGE,
    PAGE,
    MAPPING,
    STREAM,
    EVENT,
    OBJECTS
} object_kind;

static const kolk_backend *inner;
static kolk_device_kind inner_kind;
static atomic_size_t made[FAULT_CALLS];
static atomic_long living[OBJECTS];

static atomic_int wanted;       /* the fault_call to refuse */
static atomic_long countdown;   /* calls until the refusal; 0: none to come */
static atomic_bool stays;       /* and all that follow */
static atomic_int refused;      /* the fault_call that was; FAULT_ANY: none yet */
static kolk_status said_status; /* KOLK_OK: the usual */
static int said_native;

/* ---- what to refuse ---- */

static void request(fault_call call, size_t nth, bool for_ever)
{
    atomic_store(&refused, FAULT_ANY);
    atomic_store(&stays, for_ever);
    atomic_store(&wanted, call);
    atomic_store(&countdown, (long)nth);
}

void fault_at(fault_call call, size_t nth)
{
    request(call, nth, false);
}

void fault_from(fault_call call, size_t nth)
{
    request(call, nth, true);
}

void fault_say(kolk_status status, int native)
{
    said_status = status;
    said_native = native;
}

fault_call fault_refused(void)
{
    return (fault_call)atomic_load(&refused);
}

static bool is_wanted(fault_call call)
{
    const int kind = atomic_load(&wanted);
    return kind == FAULT_ANY || kind == (int)call;
}

static bool refuses(fault_call call)
{
    atomic_fetch_add(&made[FAULT_ANY], 1);
    atomic_fetch_add(&made[call], 1);
    if (!is_wanted(call))
        return false;
    if (atomic_load(&refused) != FAULT_ANY && atomic_load(&stays))
        return true;
    if (atomic_load(&countdown) <= 0 || atomic_fetch_sub(&countdown, 1) != 1)
        return false;
    atomic_store(&refused, call);
    return true;
}

static kolk_status refuse(fault_call call)
{
    const char *const name = fault_call_name(call);
    if (said_status != KOLK_OK)
        return kolk_fail_at(name, said_status, said_native, "%s was refused", name);
    if (call == FAULT_memory_alloc || call == FAULT_page_create)
        return kolk_fail_at(name, KOLK_OUT_OF_MEMORY, NATIVE_OUT_OF_MEMORY,
                            "%s was refused: out of memory", name);
    return kolk_fail_at(name, KOLK_DEVICE, NATIVE_UNKNOWN, "%s was refused", name);
}

/* ---- what lives ---- */

static const struct {
    object_kind object;
    int change;
} effects[FAULT_CALLS] = {
    [FAULT_memory_alloc] = {MEMORY, +1},  [FAULT_memory_free] = {MEMORY, -1},
    [FAULT_range_reserve] = {RANGE, +1},  [FAULT_range_free] = {RANGE, -1},
    [FAULT_page_create] = {PAGE, +1},     [FAULT_page_release] = {PAGE, -1},
    [FAULT_page_map] = {MAPPING, +1},     [FAULT_page_unmap] = {MAPPING, -1},
    [FAULT_stream_create] = {STREAM, +1}, [FAULT_stream_destroy] = {STREAM, -1},
    [FAULT_event_create] = {EVENT, +1},   [FAULT_event_destroy] = {EVENT, -1},
};

static kolk_status settle(fault_call call, kolk_status status)
{
    if (status == KOLK_OK)
        atomic_fetch_add(&living[effects[call].object], effects[call].change);
    return status;
}

fault_objects fault_objects_now(void)
{
    return (fault_objects){.memories = living[MEMORY],
                           .ranges = living[RANGE],
                           .pages = living[PAGE],
                           .mappings = living[MAPPING],
                           .streams = living[STREAM],
                           .events = living[EVENT]};
}

bool fault_nothing_lives(void)
{
    for (int object = NOTHING + 1; object < OBJECTS; object++)
        if (living[object] != 0)
            return false;
    return true;
}

size_t fault_calls(fault_call call)
{
    return atomic_load(&made[call]);
}

const char *fault_call_name(fault_call call)
{
    static const char *const names[FAULT_CALLS] = {[FAULT_ANY] = "any",
#define X(name, parameters, arguments) [FAULT_##name] = #name,
                                                   FAULT_CALL_LIST(X)
#undef X
    };
    return names[call];
}

/* ---- the table ---- */

static bool cannot_be_repeated(fault_call call)
{
    return call == FAULT_stream_destroy || call == FAULT_event_destroy;
}

#define X(name, parameters, arguments)                                          \
    static kolk_status refusable_##name parameters                              \
    {                                                                           \
        const bool is_refused = refuses(FAULT_##name);                          \
        if (is_refused && !cannot_be_repeated(FAULT_##name))                    \
            return refuse(FAULT_##name);                                        \
        const kolk_status status = settle(FAULT_##name, inner->name arguments); \
        return is_refused ? refuse(FAULT_##name) : status;                      \
    }
FAULT_CALL_LIST(X)
#undef X

static const kolk_backend refusable = {.name = "fault",
#define X(entry, parameters, arguments) .entry = refusable_##entry,
                                       FAULT_CALL_LIST(X)
#undef X
};

void fault_install(kolk_device_kind kind)
{
    inner = kolk_backend_of(kind);
    inner_kind = kind;
    for (int call = 0; call < FAULT_CALLS; call++)
        atomic_store(&made[call], 0);
    for (int object = 0; object < OBJECTS; object++)
        atomic_store(&living[object], 0);
    fault_say(KOLK_OK, 0);
    fault_at(FAULT_ANY, 0);
    kolk_backend_install(kind, &refusable);
}

void fault_remove(void)
{
    if (inner != NULL)
        kolk_backend_install(inner_kind, inner);
    inner = NULL;
}
