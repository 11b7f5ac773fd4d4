/* SPDX-License-Identifier: MIT */
#include "cuda_rig.h"
#include <runtime/cuda_driver.h>

static const kolk_backend *const cuda = &kolk_backend_cuda;

static kolk_status device_count(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    return cuda->device_count(&out->count);
}

static kolk_status device_describe(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    return cuda->device_describe(THERE, &out->info);
}

static kolk_status device_synchronize(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    (void)out;
    return cuda->device_synchronize(THERE);
}

static kolk_status memory_info(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    return cuda->memory_info(THERE, &out->sizes[0], &out->sizes[1]);
}

static kolk_status memory_alloc(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    return cuda->memory_alloc(THERE, CUDA_RIG_PAGE, &out->pointer);
}

static kolk_status free_it(const cuda_rig *rig, const cuda_outs *out)
{
    (void)rig;
    return cuda->memory_free(THERE, out->pointer);
}

static kolk_status memory_free(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->memory_free(THERE, rig->data);
}

static kolk_status range_reserve(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    return cuda->range_reserve(THERE, CUDA_RIG_PAGE, &out->pointer);
}

static kolk_status free_range(const cuda_rig *rig, const cuda_outs *out)
{
    (void)rig;
    return cuda->range_free(THERE, out->pointer, CUDA_RIG_PAGE);
}

static kolk_status page_create(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    return cuda->page_create(THERE, CUDA_RIG_PAGE, &out->word);
}

static kolk_status release_page(const cuda_rig *rig, const cuda_outs *out)
{
    (void)rig;
    return cuda->page_release(THERE, out->word, CUDA_RIG_PAGE);
}

static kolk_status page_release(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->page_release(THERE, rig->page, CUDA_RIG_PAGE);
}

static kolk_status page_map(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->page_map(THERE, (char *)rig->base + CUDA_RIG_PAGE, CUDA_RIG_PAGE,
                          rig->page);
}

static kolk_status unmap_page(const cuda_rig *rig, const cuda_outs *out)
{
    (void)out;
    return cuda->page_unmap(THERE, (char *)rig->base + CUDA_RIG_PAGE, CUDA_RIG_PAGE);
}

static kolk_status page_unmap(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->page_unmap(THERE, rig->base, CUDA_RIG_PAGE);
}

static kolk_status stream_create(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    return cuda->stream_create(THERE, &out->pointer);
}

static kolk_status destroy_stream(const cuda_rig *rig, const cuda_outs *out)
{
    (void)rig;
    return cuda->stream_destroy(THERE, out->pointer);
}

static kolk_status stream_destroy(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->stream_destroy(THERE, rig->stream);
}

static kolk_status stream_id(const cuda_rig *rig, cuda_outs *out)
{
    return cuda->stream_id(THERE, rig->stream, &out->word);
}

static kolk_status stream_synchronize(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->stream_synchronize(THERE, rig->stream);
}

static kolk_status stream_wait(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->stream_wait(THERE, rig->stream, rig->event);
}

static kolk_status stream_capture_id(const cuda_rig *rig, cuda_outs *out)
{
    return cuda->stream_capture_id(THERE, rig->stream, &out->word);
}

static kolk_status event_create(const cuda_rig *rig, cuda_outs *out)
{
    (void)rig;
    return cuda->event_create(THERE, &out->pointer);
}

static kolk_status destroy_event(const cuda_rig *rig, const cuda_outs *out)
{
    (void)rig;
    const kolk_status status = cuda->event_destroy(THERE, out->pointer);
    kolk_cuda_event_drain();
    return status;
}

static kolk_status event_destroy(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->event_destroy(THERE, rig->event);
}

static kolk_status event_record(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->event_record(THERE, rig->event, rig->stream);
}

static kolk_status event_query(const cuda_rig *rig, cuda_outs *out)
{
    return cuda->event_query(THERE, rig->event, &out->flag);
}

static kolk_status event_synchronize(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->event_synchronize(THERE, rig->event);
}

static kolk_status copy(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->copy(THERE, rig->data, rig->base, CUDA_RIG_PAGE, rig->stream);
}

static kolk_status fill(const cuda_rig *rig, cuda_outs *out)
{
    (void)out;
    return cuda->fill(THERE, rig->data, 1, CUDA_RIG_PAGE, rig->stream);
}

const cuda_entry cuda_entries[CUDA_ENTRIES] = {
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

cuda_rig cuda_rig_up(void)
{
    cuda_rig made = {0};
    kolk_cuda_event_drain();
    emu_reset(&(emu_config){.devices = 2, .capacity = 8 * CUDA_RIG_PAGE});
    kolk_cuda_driver_forget();
    kolk_backend_install(KOLK_CUDA, NULL);
    ck_assert_ok(cuda->stream_create(THERE, &made.stream));
    ck_assert_ok(cuda->event_create(THERE, &made.event));
    ck_assert_ok(cuda->event_record(THERE, made.event, made.stream));
    ck_assert_ok(cuda->memory_alloc(THERE, CUDA_RIG_PAGE, &made.data));
    ck_assert_ok(cuda->range_reserve(THERE, 2 * CUDA_RIG_PAGE, &made.base));
    ck_assert_ok(cuda->page_create(THERE, CUDA_RIG_PAGE, &made.mapped));
    ck_assert_ok(cuda->page_create(THERE, CUDA_RIG_PAGE, &made.page));
    ck_assert_ok(cuda->page_map(THERE, made.base, CUDA_RIG_PAGE, made.mapped));
    made.held = kolk_bookkeeping_size();
    kolk_cuda_driver_forget(); /* the lookups are to fail as well */
    return made;
}

void cuda_rig_down(const cuda_rig *rig, bool event_is_gone)
{
    if (!event_is_gone)
        ck_assert_ok(cuda->event_destroy(THERE, rig->event));
    kolk_cuda_event_drain();
    ck_assert_uint_eq(kolk_bookkeeping_size(), 0);
}

bool cuda_entry_destroys_event(const cuda_entry *entry)
{
    return entry->call == event_destroy;
}

bool cuda_outs_are_unused(const cuda_outs *out)
{
    for (size_t i = 0; i < sizeof out->bytes; i++)
        if (out->bytes[i] != CUDA_RIG_OUT)
            return false;
    return true;
}

static enum cudaStreamCaptureMode mode_now(void)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    ck_assert_int_eq(cudaThreadExchangeStreamCaptureMode(&mode), 0);
    return mode;
}

void cuda_assert_restored(const cuda_entry *entry, size_t nth)
{
    int device = 77;
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_int_eq(cudaGetDevice(&device), 0);
    ck_assert_msg(device == HERE, "%s left device %d when call %zu failed", entry->name,
                  device, nth);
    ck_assert_msg(mode_now() == cudaStreamCaptureModeGlobal,
                  "%s left its capture mode when call %zu failed", entry->name, nth);
}
