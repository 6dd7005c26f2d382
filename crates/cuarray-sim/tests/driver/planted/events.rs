//! Events: recorded too early, too late, twice, or never.

use super::*;

pairs! {
    recorded_before_the_work: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, event, memory) = (p.stream(0), p.stream(0), p.event(), p.alloc(64));
        if !right {
            ok!(p, cuEventRecord(event, one));
        }
        p.fill(memory, 1, 64, one);
        if right {
            ok!(p, cuEventRecord(event, one));
        }
        ok!(p, cuStreamWaitEvent(two, event, 0));
        p.fill(memory, 2, 64, two);
    }
    a_query_of_an_event_recorded_before_the_work: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64));
        let (start, end, mut milliseconds) = (p.event(), p.event(), 0.0);
        ok!(p, cuEventRecord(start, one));
        p.fill(memory, 1, 64, one);
        ok!(p, cuEventRecord(end, one));
        let queried = if right { end } else { start };
        while call!(p, cuEventElapsedTime(&mut milliseconds, start, queried)) == CUresult::CUDA_ERROR_NOT_READY {}
        p.fill(memory, 2, 64, two);
    }
    waited_for_before_it_is_recorded: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, event, memory) = (p.stream(0), p.stream(0), p.event(), p.alloc(64));
        p.fill(memory, 1, 64, one);
        if !right {
            ok!(p, cuStreamWaitEvent(two, event, 0));
        }
        ok!(p, cuEventRecord(event, one));
        if right {
            ok!(p, cuStreamWaitEvent(two, event, 0));
        }
        p.fill(memory, 2, 64, two);
    }
    waited_for_in_the_wrong_stream: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 3"], |p, right| {
        let (one, two, three, event, memory) = (p.stream(0), p.stream(0), p.stream(0), p.event(), p.alloc(64));
        p.fill(memory, 1, 64, one);
        ok!(p, cuEventRecord(event, one));
        ok!(p, cuStreamWaitEvent(if right { two } else { three }, event, 0));
        p.fill(memory, 2, 64, two);
    }
    recorded_again_elsewhere_before_the_wait: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 3"], |p, right| {
        let (one, two, three, memory, other) = (p.stream(0), p.stream(0), p.stream(0), p.alloc(64), p.alloc(64));
        let (first, second) = (p.event(), p.event());
        p.fill(memory, 1, 64, one);
        ok!(p, cuEventRecord(first, one));
        p.fill(other, 1, 64, three);
        ok!(p, cuEventRecord(if right { second } else { first }, three));
        ok!(p, cuStreamWaitEvent(two, first, 0));
        p.fill(memory, 2, 64, two);
    }
    recorded_again_after_the_wait: DataRace ["cuMemsetD8Async on stream 1", "cuMemcpyDtoDAsync_v2 on stream 2"], |p, right| {
        let (one, two, event, memory, copy) = (p.stream(0), p.stream(0), p.event(), p.written(64), p.alloc(64));
        p.fill(memory, 1, 64, one);
        ok!(p, cuEventRecord(event, one));
        ok!(p, cuStreamWaitEvent(two, event, 0));
        p.fill(memory, 2, 64, one);
        ok!(p, cuEventRecord(event, one));
        if right {
            ok!(p, cuStreamWaitEvent(two, event, 0));
        }
        p.copy(copy, memory, 64, two);
    }
    synchronized_before_it_is_recorded: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, event, memory) = (p.stream(0), p.stream(0), p.event(), p.alloc(64));
        p.fill(memory, 1, 64, one);
        if right {
            ok!(p, cuEventRecord(event, one));
        }
        ok!(p, cuEventSynchronize(event));
        p.fill(memory, 2, 64, two);
    }
    synchronized_with_an_older_recording: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, event, memory) = (p.stream(0), p.stream(0), p.event(), p.alloc(64));
        ok!(p, cuEventRecord(event, one));
        p.fill(memory, 1, 64, one);
        if right {
            ok!(p, cuEventRecord(event, one));
        }
        ok!(p, cuEventSynchronize(event));
        p.fill(memory, 2, 64, two);
    }
    recorded_in_the_default_stream_for_a_non_blocking_one: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two) = (p.stream(if right { 0 } else { NON_BLOCKING }), p.stream(NON_BLOCKING));
        let memory = p.alloc(64);
        p.fill(memory, 1, 64, one);
        p.order(CUstream::NULL, two);
        p.fill(memory, 2, 64, two);
    }
    a_missing_edge_from_consumer_to_producer: DataRace ["cuMemcpyDtoDAsync_v2 on stream 2", "cuMemsetD8Async on stream 1"], |p, right| {
        // The consumer waits for its producer, but the producer does not wait for its consumer.
        let (producer, consumer, memory, copy) = (p.stream(0), p.stream(0), p.written(64), p.alloc(64));
        p.fill(memory, 1, 64, producer);
        p.order(producer, consumer);
        p.copy(copy, memory, 64, consumer);
        if right {
            p.order(consumer, producer);
        }
        p.fill(memory, 2, 64, producer);
    }
    destroyed_and_another_made_in_between: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64));
        let first = p.event();
        p.fill(memory, 1, 64, one);
        ok!(p, cuEventRecord(first, one));
        let second = p.event();
        // A wait stays valid after its event is destroyed.
        ok!(p, cuStreamWaitEvent(two, if right { first } else { second }, 0));
        ok!(p, cuEventDestroy_v2(first));
        p.fill(memory, 2, 64, two);
    }
}
