//! Pinned, registered and managed memory that the host accesses while devices use it.

use super::*;

pairs! {
    a_download_read_too_early: DataRace ["cuMemcpyDtoHAsync_v2 on stream 1", "host read on host"], |p, right| {
        let (stream, memory, host) = (p.stream(0), p.written(64), p.pinned(64));
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, stream));
        if right {
            ok!(p, cuStreamSynchronize(stream));
        }
        read(host);
    }
    an_upload_overwritten_too_early: DataRace ["cuMemcpyHtoDAsync_v2 on stream 1", "host write on host"], |p, right| {
        let (stream, memory, host) = (p.stream(0), p.alloc(64), p.pinned(64));
        ok!(p, cuMemcpyHtoDAsync_v2(memory, host.cast(), 64, stream));
        if right {
            ok!(p, cuCtxSynchronize());
        }
        write(host, 1);
    }
    an_event_recorded_before_the_download: DataRace ["cuMemcpyDtoHAsync_v2 on stream 1", "host read on host"], |p, right| {
        let (stream, memory, host, event) = (p.stream(0), p.written(64), p.pinned(64), p.event());
        ok!(p, cuEventRecord(event, stream));
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, stream));
        if right {
            ok!(p, cuEventRecord(event, stream));
        }
        ok!(p, cuEventSynchronize(event));
        read(host);
    }
    the_wrong_stream_waited_for: DataRace ["cuMemcpyDtoHAsync_v2 on stream 1", "host read on host"], |p, right| {
        let (one, two, memory, host) = (p.stream(0), p.stream(0), p.written(64), p.pinned(64));
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, one));
        if right {
            p.order(one, two);
        }
        ok!(p, cuStreamSynchronize(two));
        read(host);
    }
    managed_memory_read_while_it_is_filled: DataRace ["cuMemsetD8Async on stream 1", "host read on host"], |p, right| {
        let (stream, memory) = (p.stream(0), p.managed(5000));
        p.fill(memory, 1, 5000, stream);
        if right {
            ok!(p, cuStreamSynchronize(stream));
        }
        read(memory as *const u8);
    }
    managed_memory_written_while_it_is_copied: DataRace ["cuMemcpyAsync on stream 1", "host write on host"], |p, right| {
        let (stream, memory, copy) = (p.stream(NON_BLOCKING), p.managed(64), p.alloc(64));
        ok!(p, cuMemcpyAsync(copy, memory, 64, stream));
        ok!(p, cuStreamSynchronize(if right { stream } else { CUstream::NULL }));
        write(memory as *mut u8, 1);
    }
    one_buffer_for_two_uploads: DataRace ["cuMemcpyHtoDAsync_v2 on stream 1", "host write on host"], |p, right| {
        let (stream, memory, event) = (p.stream(0), p.alloc(8192), p.event());
        let host = p.pinned(4096);
        for half in [0, 4096] {
            write(host, 1);
            ok!(p, cuMemcpyHtoDAsync_v2(memory + half, host.cast(), 4096, stream));
            ok!(p, cuEventRecord(event, stream));
            if right {
                ok!(p, cuEventSynchronize(event));
            }
        }
    }
    download_into_the_source_of_a_pending_upload: DataRace ["cuMemcpyHtoDAsync_v2 on stream 1", "cuMemcpyDtoHAsync_v2 on stream 2"], |p, right| {
        let (one, two, memory, other, host) = (p.stream(0), p.stream(0), p.alloc(64), p.written(64), p.pinned(64));
        ok!(p, cuMemcpyHtoDAsync_v2(memory, host.cast(), 64, one));
        if right {
            p.order(one, two);
        }
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), other, 64, two));
    }
    mapped_memory_filled_and_read: DataRace ["cuMemsetD8Async on stream 1", "host read on host"], |p, right| {
        let (stream, host) = (p.stream(0), p.pinned(4096));
        let mut device = 0;
        ok!(p, cuMemHostGetDevicePointer_v2(&mut device, host.cast(), 0));
        p.fill(device, 1, 4096, stream);
        if right {
            ok!(p, cuCtxSynchronize());
        }
        read(host.wrapping_add(100));
    }
}
