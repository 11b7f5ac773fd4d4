/* SPDX-License-Identifier: MIT */

/* Which devices there are.
 *
 * How many devices a kind has is asked once. The answer (a count, or the reason
 * why there is none) is kept with the table that gave it. Nobody holds a lock
 * while a backend is asked, so two threads may both ask; the first answer stays.
 *
 * A driver does not survive fork(). In the child a kind that the parent had
 * asked for looks like a kind without devices, whose reason is the fork. */

#include "backend.h"
#include "fail.h"
#include "fork.h"
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum {
    KINDS = KOLK_CUDA + 1,
    CACHED_DEVICES = 64, /* further ones are asked for their page each time */
    NOT_INITIALIZED = 3, /* what CUDA itself says in the child of a fork */
};

typedef enum knowledge { UNASKED, ASKING, KNOWN } knowledge;

typedef struct kind_state {
    _Atomic(const kolk_backend *) table;
    _Atomic(knowledge) knowledge; /* the rest is written before it says KNOWN */
    int count;
    kolk_error reason;
    bool forked;
    atomic_size_t page[CACHED_DEVICES]; /* 0: not asked yet, or without pages */
} kind_state;

#ifdef KOLK_HAVE_CUDA
#define CUDA_TABLE kolk_backend_cuda
#else
static kolk_status built_without(int *out)
{
    (void)out;
    return kolk_fail_at("kolk_device_count", KOLK_UNSUPPORTED, 0, "built without CUDA");
}

/* With a count of 0 nothing else of a table is ever called. */
static const kolk_backend no_backend = {.name = "cuda", .device_count = built_without};
#define CUDA_TABLE no_backend
#endif

static kind_state states[KINDS] = {
    [KOLK_HOST] = {.table = &kolk_backend_host},
    [KOLK_CUDA] = {.table = &CUDA_TABLE},
};

static const kolk_backend *const own_tables[KINDS] = {
    [KOLK_HOST] = &kolk_backend_host,
    [KOLK_CUDA] = &CUDA_TABLE,
};

const char *kolk_device_kind_name(kolk_device_kind kind)
{
    static const char *const names[KINDS] = {
        [KOLK_HOST] = "host", [KOLK_CUDA] = "cuda"};
    return names[kind];
}

const kolk_backend *kolk_backend_of(kolk_device_kind kind)
{
    return atomic_load(&states[kind].table);
}

void kolk_backend_install(kolk_device_kind kind, const kolk_backend *backend)
{
    kind_state *const state = &states[kind];
    memset(state, 0, sizeof *state);
    atomic_store(&state->table, backend != NULL ? backend : own_tables[kind]);
}

/* ---- how many, and why none ---- */

static kolk_status ask_backend(const kolk_backend *backend, int *out)
{
    KOLK_TRY(kolk_fork_register());
    KOLK_TRY(backend->device_count(out));
    assert(*out > 0);
    return KOLK_OK;
}

static void keep_answer(kind_state *state, int count, const kolk_error *reason)
{
    kolk_lock_acquire(&kolk_runtime_lock);
    if (atomic_load(&state->knowledge) != KNOWN) {
        state->count = count;
        state->reason = *reason;
        atomic_store(&state->knowledge, KNOWN);
    }
    kolk_lock_release(&kolk_runtime_lock);
}

static void ask(kind_state *state)
{
    const kolk_error before = *kolk_last_error();
    int count = 0;
    kolk_error reason = {.status = KOLK_OK};
    knowledge expected = UNASKED;
    atomic_compare_exchange_strong(&state->knowledge, &expected, ASKING);
    if (ask_backend(atomic_load(&state->table), &count) != KOLK_OK)
        reason = *kolk_last_error();
    keep_answer(state, count, &reason);
    kolk_error_restore(&before);
}

static const kind_state *known(kolk_device_kind kind)
{
    kind_state *const state = &states[kind];
    if (atomic_load_explicit(&state->knowledge, memory_order_acquire) != KNOWN)
        ask(state);
    return state;
}

static bool is_kind(kolk_device_kind kind)
{
    return (unsigned)kind < KINDS;
}

int kolk_device_count(kolk_device_kind kind)
{
    return is_kind(kind) ? known(kind)->count : 0;
}

const kolk_error *kolk_device_reason(kolk_device_kind kind)
{
    static const kolk_error no_kind = {.status = KOLK_INVALID_ARGUMENT,
                                       .where = "kolk_device_reason",
                                       .message = "there is no such kind of device"};
    return is_kind(kind) ? &known(kind)->reason : &no_kind;
}

bool kolk_device_is_forked(kolk_device device)
{
    return is_kind(device.kind) && states[device.kind].forked;
}

static void close_door(kind_state *state)
{
    state->forked = true;
    state->count = 0;
    state->reason = (kolk_error){
        .status = KOLK_DEVICE,
        .native = NOT_INITIALIZED,
        .where = "kolk_device_count",
        .message = "the parent of this process used CUDA before fork(), after which "
                   "a child cannot use it (code 3: initialization error)"};
    atomic_store(&state->knowledge, KNOWN);
}

void kolk_backend_forked(void)
{
    kind_state *const cuda = &states[KOLK_CUDA];
    const knowledge now = atomic_load(&cuda->knowledge);
    if (now == ASKING || (now == KNOWN && cuda->count > 0))
        close_door(cuda);
}

/* ---- reaching one ---- */

static kolk_status no_device(const char *where, const kolk_error *reason)
{
    const kolk_status status = reason->status;
    assert(status != KOLK_OK);
    return kolk_fail_at(where, status, reason->native, "%s", reason->message);
}

kolk_status kolk_backend_reach(const char *where, kolk_device device,
                               const kolk_backend **out)
{
    if (!is_kind(device.kind))
        return kolk_fail_at(where, KOLK_INVALID_ARGUMENT, 0,
                            "device kind %d is neither host (0) nor cuda (1)",
                            (int)device.kind);
    const kind_state *const state = known(device.kind);
    if (state->count == 0)
        return no_device(where, &state->reason);
    if (device.ordinal < 0 || device.ordinal >= state->count)
        return kolk_fail_at(where, KOLK_OUT_OF_RANGE, 0,
                            "%s:%d is out of range: the count of %s devices is %d",
                            kolk_device_kind_name(device.kind), device.ordinal,
                            kolk_device_kind_name(device.kind), state->count);
    *out = atomic_load(&state->table);
    return KOLK_OK;
}

kolk_status kolk_device_must_equal(const char *where, kolk_device device,
                                   kolk_device expected)
{
    if (kolk_device_equal(device, expected))
        return KOLK_OK;
    return kolk_fail_at(where, KOLK_DEVICE_MISMATCH, 0, "%s:%d is not %s:%d",
                        kolk_device_kind_name(device.kind), device.ordinal,
                        kolk_device_kind_name(expected.kind), expected.ordinal);
}

static kolk_status ask_page(const kolk_backend *backend, int ordinal, size_t *out)
{
    kolk_device_info info;
    KOLK_TRY(backend->device_describe(ordinal, &info));
    *out = info.page_size;
    return KOLK_OK;
}

kolk_status kolk_backend_page(const kolk_backend *backend, kolk_device device,
                              size_t *out)
{
    if (device.ordinal >= CACHED_DEVICES)
        return ask_page(backend, device.ordinal, out);
    atomic_size_t *const cached = &states[device.kind].page[device.ordinal];
    size_t page = atomic_load_explicit(cached, memory_order_relaxed);
    if (page == 0)
        KOLK_TRY(ask_page(backend, device.ordinal, &page));
    atomic_store_explicit(cached, page, memory_order_relaxed);
    *out = page;
    return KOLK_OK;
}

void kolk_backend_destroy(kolk_status (*destroy)(int device, void *handle),
                          kolk_device device, void *handle)
{
    if (kolk_device_is_forked(device))
        return;
    const kolk_error before = *kolk_last_error();
    if (destroy(device.ordinal, handle) != KOLK_OK)
        kolk_error_restore(&before);
}

void kolk_device_trim(kolk_device device)
{
    if (kolk_device_is_forked(device))
        return;
    const kolk_error before = *kolk_last_error();
    if (kolk_backend_of(device.kind)->device_trim(device.ordinal) != KOLK_OK)
        kolk_error_restore(&before);
}

kolk_status kolk_device_describe(kolk_device device, kolk_device_info *out)
{
    assert(out != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, device, &backend));
    return backend->device_describe(device.ordinal, out);
}

kolk_status kolk_device_memory(kolk_device device, size_t *out_free, size_t *out_total)
{
    assert(out_free != NULL && out_total != NULL);
    const kolk_backend *backend;
    KOLK_TRY(kolk_backend_reach(__func__, device, &backend));
    return backend->memory_info(device.ordinal, out_free, out_total);
}
