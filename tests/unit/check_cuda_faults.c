/* SPDX-License-Identifier: MIT */

/* Every entry of the CUDA backend with every one of its driver calls failing in
 * turn, with the driver gone, and inside a capture. */

#include "../support/emulator.h"
#include "../support/suite.h"
#include <runtime/cuda_driver.h>
#include <stdio.h>
#include <string.h>

#define PAGE ((size_t)2 << 20)
#define OUT 0x5a /* what out-parameters hold before a call */

static const kolk_backend *const cuda = &kolk_backend_cuda;

enum { HERE, THERE }; /* the caller's device, and the one the calls are about */

/* One of everything, all on the other device. */
typedef struct test_rig {
    void *stream;
    void *event;
    void *data;
    void *base; /* two pages: the first mapped, the second free */
    uint64_t mapped;
    uint64_t page;
    size_t held;
} test_rig;

typedef union test_outs {
    unsigned char bytes[sizeof(kolk_device_info)];
    kolk_device_info info;
    int count;
    size_t sizes[2];
    void *pointer;
    uint64_t word;
    bool flag;
} test_outs;

/* An entry, called on a rig, and how to take back what it did. */
typedef struct test_entry {
    const char *name;
    kolk_status (*call)(const test_rig *rig, test_outs *out);
    kolk_status (*undo)(const test_rig *rig,
                        const test_outs *out); /* NULL: nothing to do */
    bool releases; /* in vain, but not wrong, once the driver has gone */
} test_entry;

static kolk_status device_count(const test_rig *rig, test_outs *out)
{
    (void)rig;
    return cuda->device_count(&out->count);
}

static kolk_status device_describe(const test_rig *rig, test_outs *out)
{
    (void)rig;
    return cuda->device_describe(THERE, &out->info);
}

static kolk_status device_synchronize(const test_rig *rig, test_outs *out)
{
    (void)rig;
    (void)out;
    return cuda->device_synchronize(THERE);
}

static kolk_status memory_info(const test_rig *rig, test_outs *out)
{
    (void)rig;
    return cuda->memory_info(THERE, &out->sizes[0], &out->sizes[1]);
}

static kolk_status memory_alloc(const test_rig *rig, test_outs *out)
{
    (void)rig;
    return cuda->memory_alloc(THERE, PAGE, &out->pointer);
}

static kolk_status free_it(const test_rig *rig, const test_outs *out)
{
    (void)rig;
    return cuda->memory_free(THERE, out->pointer);
}

static kolk_status memory_free(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->memory_free(THERE, rig->data);
}

static kolk_status range_reserve(const test_rig *rig, test_outs *out)
{
    (void)rig;
    return cuda->range_reserve(THERE, PAGE, &out->pointer);
}

static kolk_status free_range(const test_rig *rig, const test_outs *out)
{
    (void)rig;
    return cuda->range_free(THERE, out->pointer, PAGE);
}

static kolk_status page_create(const test_rig *rig, test_outs *out)
{
    (void)rig;
    return cuda->page_create(THERE, PAGE, &out->word);
}

static kolk_status release_page(const test_rig *rig, const test_outs *out)
{
    (void)rig;
    return cuda->page_release(THERE, out->word, PAGE);
}

static kolk_status page_release(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->page_release(THERE, rig->page, PAGE);
}

static kolk_status page_map(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->page_map(THERE, (char *)rig->base + PAGE, PAGE, rig->page);
}

static kolk_status unmap_page(const test_rig *rig, const test_outs *out)
{
    (void)out;
    return cuda->page_unmap(THERE, (char *)rig->base + PAGE, PAGE);
}

static kolk_status page_unmap(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->page_unmap(THERE, rig->base, PAGE);
}

static kolk_status stream_create(const test_rig *rig, test_outs *out)
{
    (void)rig;
    return cuda->stream_create(THERE, &out->pointer);
}

static kolk_status destroy_stream(const test_rig *rig, const test_outs *out)
{
    (void)rig;
    return cuda->stream_destroy(THERE, out->pointer);
}

static kolk_status stream_destroy(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->stream_destroy(THERE, rig->stream);
}

static kolk_status stream_id(const test_rig *rig, test_outs *out)
{
    return cuda->stream_id(THERE, rig->stream, &out->word);
}

static kolk_status stream_synchronize(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->stream_synchronize(THERE, rig->stream);
}

static kolk_status stream_wait(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->stream_wait(THERE, rig->stream, rig->event);
}

static kolk_status stream_capture_id(const test_rig *rig, test_outs *out)
{
    return cuda->stream_capture_id(THERE, rig->stream, &out->word);
}

static kolk_status event_create(const test_rig *rig, test_outs *out)
{
    (void)rig;
    return cuda->event_create(THERE, &out->pointer);
}

static kolk_status destroy_event(const test_rig *rig, const test_outs *out)
{
    (void)rig;
    const kolk_status status = cuda->event_destroy(THERE, out->pointer);
    kolk_cuda_event_drain();
    return status;
}

static kolk_status event_destroy(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->event_destroy(THERE, rig->event);
}

static kolk_status event_record(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->event_record(THERE, rig->event, rig->stream);
}

static kolk_status event_query(const test_rig *rig, test_outs *out)
{
    return cuda->event_query(THERE, rig->event, &out->flag);
}

static kolk_status event_synchronize(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->event_synchronize(THERE, rig->event);
}

static kolk_status copy(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->copy(THERE, rig->data, rig->base, PAGE, rig->stream);
}

static kolk_status fill(const test_rig *rig, test_outs *out)
{
    (void)out;
    return cuda->fill(THERE, rig->data, 1, PAGE, rig->stream);
}

static const test_entry entries[] = {
#define E(entry) .name = #entry, .call = entry
    {E(device_count)},
    {E(device_describe)},
    {E(device_synchronize)},
    {E(memory_info)},
    {E(memory_alloc), .undo = free_it},
    {E(memory_free), .releases = true},
    {E(range_reserve), .undo = free_range},
    {E(page_create), .undo = release_page},
    {E(page_release), .releases = true},
    {E(page_map), .undo = unmap_page},
    {E(page_unmap), .releases = true},
    {E(stream_create), .undo = destroy_stream},
    {E(stream_destroy), .releases = true},
    {E(stream_id)},
    {E(stream_synchronize)},
    {E(stream_wait)},
    {E(stream_capture_id)},
    {E(event_create), .undo = destroy_event},
    {E(event_destroy), .releases = true},
    {E(event_record)},
    {E(event_query)},
    {E(event_synchronize)},
    {E(copy)},
    {E(fill)},
#undef E
};

enum { ENTRIES = sizeof entries / sizeof entries[0] };

/* ---- the rig ---- */

static test_rig rig_up(void)
{
    test_rig made = {0};
    kolk_cuda_event_drain();
    emu_reset(&(emu_config){.devices = 2, .capacity = 8 * PAGE});
    kolk_cuda_driver_forget();
    kolk_backend_install(KOLK_CUDA, NULL);
    ck_assert_ok(cuda->stream_create(THERE, &made.stream));
    ck_assert_ok(cuda->event_create(THERE, &made.event));
    ck_assert_ok(cuda->event_record(THERE, made.event, made.stream));
    ck_assert_ok(cuda->memory_alloc(THERE, PAGE, &made.data));
    ck_assert_ok(cuda->range_reserve(THERE, 2 * PAGE, &made.base));
    ck_assert_ok(cuda->page_create(THERE, PAGE, &made.mapped));
    ck_assert_ok(cuda->page_create(THERE, PAGE, &made.page));
    ck_assert_ok(cuda->page_map(THERE, made.base, PAGE, made.mapped));
    made.held = kolk_bookkeeping_size();
    kolk_cuda_driver_forget(); /* the lookups are to fail as well */
    return made;
}

/* The machine forgets its part at the next reset. */
static void rig_down(const test_rig *rig, bool event_is_gone)
{
    if (!event_is_gone)
        ck_assert_ok(cuda->event_destroy(THERE, rig->event));
    kolk_cuda_event_drain();
    ck_assert_uint_eq(kolk_bookkeeping_size(), 0);
}

static bool is_unused(const test_outs *out)
{
    for (size_t i = 0; i < sizeof out->bytes; i++)
        if (out->bytes[i] != OUT)
            return false;
    return true;
}

static enum cudaStreamCaptureMode mode_now(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    ck_assert_int_eq(cudaThreadExchangeStreamCaptureMode(&mode), 0);
    return mode;
}

static void assert_restored(const test_entry *entry, size_t nth)
{
    int device = 77;
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_int_eq(cudaGetDevice(&device), 0);
    ck_assert_msg(device == HERE, "%s left device %d when call %zu failed", entry->name,
                  device, nth);
    ck_assert_msg(mode_now() == cudaStreamCaptureModeGlobal,
                  "%s left its capture mode when call %zu failed", entry->name, nth);
}

static void assert_nothing_done(const test_entry *entry, const test_rig *rig,
                                emu_objects before, const test_outs *out, size_t nth)
{
    ck_assert_msg(emu_objects_equal(emu_objects_now(), before),
                  "%s left or lost an object when call %zu failed", entry->name, nth);
    ck_assert_msg(is_unused(out), "%s wrote its result when call %zu failed",
                  entry->name, nth);
    ck_assert_uint_eq(kolk_bookkeeping_size(), rig->held);
}

/* False: the entry makes fewer than `nth` calls. */
static bool survives(const test_entry *entry, size_t nth, int code)
{
    const test_rig rig = rig_up();
    const emu_objects before = emu_objects_now();
    test_outs out;
    memset(&out, OUT, sizeof out);
    emu_fail(EMU_ANY, nth, code);
    const kolk_status status = entry->call(&rig, &out);
    const bool has_failed = !emu_fail_is_armed();
    emu_fail(EMU_ANY, 0, 0);
    assert_restored(entry, nth);
    if (status == KOLK_OK && entry->undo != NULL)
        ck_assert_ok(entry->undo(&rig, &out));
    if (status != KOLK_OK) {
        ck_assert_int_eq(kolk_last_error()->native, code);
        assert_nothing_done(entry, &rig, before, &out, nth);
    } else if (!entry->releases) {
        ck_assert(emu_objects_equal(emu_objects_now(), before));
    }
    rig_down(&rig, entry->call == event_destroy && status == KOLK_OK);
    return has_failed;
}

START_TEST(each_call_may_fail)
{
    static const int codes[] = {cudaErrorUnknown, cudaErrorMemoryAllocation};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        size_t nth = 1;
        while (survives(&entries[_i], nth, codes[i]))
            nth++;
        ck_assert_uint_gt(nth, 1);
    }
}
END_TEST

START_TEST(a_driver_that_is_gone_has_nothing_to_release)
{
    const test_entry *const entry = &entries[_i];
    const test_rig rig = rig_up();
    test_outs out;
    memset(&out, OUT, sizeof out);
    emu_break(cudaErrorCudartUnloading);
    const kolk_status status = entry->call(&rig, &out);
    ck_assert_msg(status == (entry->releases ? KOLK_OK : KOLK_DEVICE), "%s is %s",
                  entry->name, kolk_status_name(status));
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorCudartUnloading);
    ck_assert(is_unused(&out));
    emu_break(0);
    assert_restored(entry, 1);
    rig_down(&rig, entry->call == event_destroy);
}
END_TEST

START_TEST(a_context_that_is_destroyed_is_a_failure)
{
    const test_rig rig = rig_up();
    test_outs out;
    memset(&out, OUT, sizeof out);
    emu_break(cudaErrorContextIsDestroyed);
    ck_assert_fails(entries[_i].call(&rig, &out), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorContextIsDestroyed);
    ck_assert(is_unused(&out));
    emu_break(0);
    assert_restored(&entries[_i], 1);
    rig_down(&rig, false);
}
END_TEST

/* ---- captures ---- */

static cudaStream_t begin_capture(unsigned kind)
{
    cudaStream_t stream = NULL;
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, kind), 0);
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), 0);
    return stream;
}

START_TEST(no_entry_breaks_a_capture)
{
    const test_entry *const entry = &entries[_i];
    const test_rig rig = rig_up();
    cudaGraph_t graph = NULL;
    test_outs out;
    const cudaStream_t capturing = begin_capture(cudaStreamNonBlocking);
    ck_assert_ok(entry->call(&rig, &out));
    ck_assert_int_eq(cudaStreamEndCapture(capturing, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
    assert_restored(entry, 0);
    if (entry->undo != NULL)
        ck_assert_ok(entry->undo(&rig, &out));
    rig_down(&rig, entry->call == event_destroy);
}
END_TEST

START_TEST(a_capture_has_an_id_of_its_own)
{
    uint64_t ids[3] = {77, 77, 77};
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    const test_rig rig = rig_up();
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal),
                         0);
        ck_assert_ok(cuda->stream_capture_id(HERE, stream, &ids[i]));
        ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), 0);
        ck_assert_int_eq(cudaGraphDestroy(graph), 0);
    }
    ck_assert_ok(cuda->stream_capture_id(HERE, stream, &ids[2]));
    ck_assert_uint_ne(ids[0], 0);
    ck_assert_uint_ne(ids[0], ids[1]);
    ck_assert_uint_eq(ids[2], 0);
    rig_down(&rig, false);
}
END_TEST

START_TEST(the_legacy_stream_cannot_be_used_beside_a_capture)
{
    uint64_t id = 77;
    cudaGraph_t graph = NULL;
    const test_rig rig = rig_up();
    const cudaStream_t capturing = begin_capture(cudaStreamDefault);
    ck_assert_fails(cuda->stream_capture_id(HERE, NULL, &id), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorStreamCaptureImplicit);
    ck_assert_uint_eq(id, 77);
    ck_assert_ok(cuda->stream_capture_id(THERE, NULL, &id));
    ck_assert_uint_eq(id, 0);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_int_eq(cudaStreamEndCapture(capturing, &graph), 0);
    ck_assert_int_eq(cudaGraphDestroy(graph), 0);
    rig_down(&rig, false);
}
END_TEST

START_TEST(a_broken_capture_has_no_id)
{
    uint64_t id = 77;
    const test_rig rig = rig_up();
    const cudaStream_t capturing = begin_capture(cudaStreamNonBlocking);
    ck_assert_int_eq(cudaStreamQuery(capturing), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorStreamCaptureUnsupported);
    ck_assert_fails(cuda->stream_capture_id(HERE, capturing, &id), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorStreamCaptureInvalidated);
    ck_assert_uint_eq(id, 77);
    rig_down(&rig, false);
}
END_TEST

START_TEST(a_captured_event_cannot_be_asked_and_is_not_used_again)
{
    bool complete = false;
    const test_rig rig = rig_up();
    ck_assert_int_eq(cudaStreamBeginCapture(rig.stream, cudaStreamCaptureModeGlobal),
                     0);
    ck_assert_ok(cuda->event_record(THERE, rig.event, rig.stream));
    ck_assert_fails(cuda->event_query(THERE, rig.event, &complete), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorCapturedEvent);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_ok(cuda->event_destroy(THERE, rig.event));
    ck_assert_uint_eq(emu_objects_now().events, 0);
    rig_down(&rig, true);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cuda_faults");
    TCase *const tests = tcase_create("faults");
    tcase_add_loop_test(tests, each_call_may_fail, 0, ENTRIES);
    tcase_add_loop_test(tests, a_driver_that_is_gone_has_nothing_to_release, 0,
                        ENTRIES);
    tcase_add_loop_test(tests, a_context_that_is_destroyed_is_a_failure, 0, ENTRIES);
    suite_add_tcase(suite, tests);
    TCase *const captures = tcase_create("captures");
    tcase_add_loop_test(captures, no_entry_breaks_a_capture, 0, ENTRIES);
    tcase_add_test(captures, a_capture_has_an_id_of_its_own);
    tcase_add_test(captures, the_legacy_stream_cannot_be_used_beside_a_capture);
    tcase_add_test(captures, a_broken_capture_has_no_id);
    tcase_add_test(captures, a_captured_event_cannot_be_asked_and_is_not_used_again);
    suite_add_tcase(suite, captures);
    return kolk_run_suite(suite);
}
