//! Two devices, whose streams are unordered.

use super::*;

fn two(config: &mut Config) {
    config.devices = 2;
}

/// A context of the second device, with a stream and memory of that device.
fn second(p: &Program) -> (CUcontext, CUstream, CUdeviceptr) {
    let context = p.primary(1);
    ok!(p, cuCtxSetCurrent(context));
    let there = (context, p.stream(0), p.alloc(64));
    ok!(p, cuCtxSetCurrent(p.context));
    there
}

pairs! {
    a_peer_copy_from_memory_being_written: DataRace ["cuMemsetD8Async on stream 1", "cuMemcpyPeerAsync on stream 2 of device 1"] with two, |p, right| {
        let (stream, memory) = (p.stream(0), p.written(64));
        let (context, there, copy) = second(p);
        p.fill(memory, 1, 64, stream);
        if right {
            p.order(stream, there);
        }
        ok!(p, cuCtxSetCurrent(context));
        ok!(p, cuMemcpyPeerAsync(copy, context, memory, p.context, 64, there));
    }
    the_default_streams_of_two_devices: DataRace ["cuMemsetD8Async on legacy", "cuMemcpyDtoDAsync_v2 on legacy"] with two, |p, right| {
        let memory = p.written(64);
        let (context, _, copy) = second(p);
        p.fill(memory, 1, 64, CUstream::NULL);
        if right {
            ok!(p, cuStreamSynchronize(CUstream::NULL));
        }
        ok!(p, cuCtxSetCurrent(context));
        p.copy(copy, memory, 64, CUstream::NULL);
    }
    the_wrong_device_synchronized: DataRace ["cuMemsetD8Async on stream 1", "cuMemcpyDtoDAsync_v2 on stream 2 of device 1"] with two, |p, right| {
        let (stream, memory) = (p.stream(0), p.written(64));
        let (context, there, copy) = second(p);
        p.fill(memory, 1, 64, stream);
        if right {
            ok!(p, cuCtxSynchronize());
        }
        ok!(p, cuCtxSetCurrent(context));
        ok!(p, cuCtxSynchronize());
        p.copy(copy, memory, 64, there);
    }
    an_asynchronous_peer_copy_assumed_to_wait: DataRace ["cuMemsetD8Async on stream 1", "cuMemcpyPeerAsync on stream 2 of device 1"] with two, |p, right| {
        let (stream, memory) = (p.stream(0), p.written(64));
        let (context, there, copy) = second(p);
        p.fill(memory, 1, 64, stream);
        // A peer copy without a stream argument waits for both devices.
        if right {
            ok!(p, cuMemcpyPeer(copy, context, memory, p.context, 64));
        } else {
            ok!(p, cuCtxSetCurrent(context));
            ok!(p, cuMemcpyPeerAsync(copy, context, memory, p.context, 64, there));
        }
    }
    a_result_taken_back_too_early: DataRace ["cuMemcpyPeerAsync on stream 1 of device 1", "cuMemsetD8Async on stream 2"] with two, |p, right| {
        let (stream, memory) = (p.stream(0), p.written(64));
        let (context, there, copy) = second(p);
        ok!(p, cuCtxSetCurrent(context));
        p.copy(copy, copy, 64, there);
        ok!(p, cuMemcpyPeerAsync(copy, context, memory, p.context, 64, there));
        let event = p.event();
        ok!(p, cuEventRecord(event, there));
        ok!(p, cuCtxSetCurrent(p.context));
        p.fill(p.written(64), 1, 64, stream);
        if right {
            ok!(p, cuStreamWaitEvent(stream, event, 0));
        }
        p.fill(memory, 1, 64, stream);
    }
}
