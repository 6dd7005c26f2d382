//! Host functions that access memory in their stream's order.

use super::*;

extern "C" fn reads(data: *mut c_void) {
    read(data.cast());
}

extern "C" fn writes(data: *mut c_void) {
    write(data.cast(), 1);
}

unsafe extern "C" fn reads_back(_: CUstream, _: CUresult, data: *mut c_void) {
    read(data.cast());
}

pairs! {
    function_in_another_stream_than_the_download: DataRace ["cuMemcpyDtoHAsync_v2 on stream 1", "host read on stream 2"], |p, right| {
        let (one, two, memory, host) = (p.stream(0), p.stream(0), p.written(64), p.pinned(64));
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, one));
        if right {
            p.order(one, two);
        }
        ok!(p, cuLaunchHostFunc(two, Some(reads), host.cast()));
        ok!(p, cuStreamSynchronize(two));
    }
    function_that_overwrites_the_source_of_an_upload: DataRace ["cuMemcpyHtoDAsync_v2 on stream 1", "host write on stream 2"], |p, right| {
        let (one, two, memory, host) = (p.stream(0), p.stream(0), p.alloc(64), p.pinned(64));
        ok!(p, cuMemcpyHtoDAsync_v2(memory, host.cast(), 64, one));
        if right {
            p.order(one, two);
        }
        ok!(p, cuLaunchHostFunc(two, Some(writes), host.cast()));
        ok!(p, cuStreamSynchronize(two));
    }
    callback_in_another_stream_than_the_download: DataRace ["cuMemcpyDtoHAsync_v2 on stream 1", "host read on stream 2"], |p, right| {
        let (one, two, memory, host) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.written(64), p.pinned(64));
        ok!(p, cuMemcpyDtoHAsync_v2(host.cast(), memory, 64, one));
        ok!(p, cuStreamAddCallback(if right { one } else { two }, Some(reads_back), host.cast(), 0));
        ok!(p, cuStreamSynchronize(one));
        ok!(p, cuStreamSynchronize(two));
    }
}
