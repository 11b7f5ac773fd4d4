/* SPDX-License-Identifier: MIT */

/* The CUDA backend beside a stream capture, and inside one. */

#include "../support/cuda_rig.h"

static const kolk_backend *const cuda = &kolk_backend_cuda;

static cudaStream_t begin_capture(unsigned kind)
{
    cudaStream_t stream = NULL;
    ck_assert_int_eq(cudaStreamCreateWithFlags(&stream, kind), 0);
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), 0);
    return stream;
}

START_TEST(no_entry_breaks_a_capture)
{
    const cuda_entry *const entry = &cuda_entries[_i];
    const cuda_rig rig = cuda_rig_up();
    cudaGraph_t graph = NULL;
    cuda_outs out;
    const cudaStream_t capturing = begin_capture(cudaStreamNonBlocking);
    ck_assert_ok(entry->call(&rig, &out));
    ck_assert_int_eq(cudaStreamEndCapture(capturing, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
    cuda_assert_restored(entry, 0);
    if (entry->undo != NULL)
        ck_assert_ok(entry->undo(&rig, &out));
    cuda_rig_down(&rig, cuda_entry_destroys_event(entry));
}
END_TEST

START_TEST(a_capture_has_an_id_of_its_own)
{
    uint64_t ids[3] = {77, 77, 77};
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    const cuda_rig rig = cuda_rig_up();
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
    cuda_rig_down(&rig, false);
}
END_TEST

START_TEST(the_legacy_stream_cannot_be_used_beside_a_capture)
{
    uint64_t id = 77;
    cudaGraph_t graph = NULL;
    const cuda_rig rig = cuda_rig_up();
    const cudaStream_t capturing = begin_capture(cudaStreamDefault);
    ck_assert_fails(cuda->stream_capture_id(HERE, NULL, &id), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorStreamCaptureImplicit);
    ck_assert_uint_eq(id, 77);
    ck_assert_ok(cuda->stream_capture_id(THERE, NULL, &id));
    ck_assert_uint_eq(id, 0);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_int_eq(cudaStreamEndCapture(capturing, &graph), 0);
    ck_assert_int_eq(cudaGraphDestroy(graph), 0);
    cuda_rig_down(&rig, false);
}
END_TEST

START_TEST(a_broken_capture_has_no_id)
{
    uint64_t id = 77;
    const cuda_rig rig = cuda_rig_up();
    const cudaStream_t capturing = begin_capture(cudaStreamNonBlocking);
    ck_assert_int_eq(cudaStreamQuery(capturing), cudaErrorStreamCaptureUnsupported);
    ck_assert_int_eq(cudaGetLastError(), cudaErrorStreamCaptureUnsupported);
    ck_assert_fails(cuda->stream_capture_id(HERE, capturing, &id), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorStreamCaptureInvalidated);
    ck_assert_uint_eq(id, 77);
    cuda_rig_down(&rig, false);
}
END_TEST

START_TEST(a_captured_event_cannot_be_asked_and_is_not_used_again)
{
    bool complete = false;
    const cuda_rig rig = cuda_rig_up();
    ck_assert_int_eq(cudaStreamBeginCapture(rig.stream, cudaStreamCaptureModeGlobal),
                     0);
    ck_assert_ok(cuda->event_record(THERE, rig.event, rig.stream));
    ck_assert_fails(cuda->event_query(THERE, rig.event, &complete), KOLK_DEVICE);
    ck_assert_int_eq(kolk_last_error()->native, cudaErrorCapturedEvent);
    ck_assert_int_eq(cudaPeekAtLastError(), cudaSuccess);
    ck_assert_ok(cuda->event_destroy(THERE, rig.event));
    ck_assert_uint_eq(emu_objects_now().events, 0);
    cuda_rig_down(&rig, true);
}
END_TEST

int main(void)
{
    Suite *const suite = suite_create("cuda_capture");
    TCase *const captures = tcase_create("captures");
    tcase_add_loop_test(captures, no_entry_breaks_a_capture, 0, CUDA_ENTRIES);
    tcase_add_test(captures, a_capture_has_an_id_of_its_own);
    tcase_add_test(captures, the_legacy_stream_cannot_be_used_beside_a_capture);
    tcase_add_test(captures, a_broken_capture_has_no_id);
    tcase_add_test(captures, a_captured_event_cannot_be_asked_and_is_not_used_again);
    suite_add_tcase(suite, captures);
    return kolk_run_suite(suite);
}
