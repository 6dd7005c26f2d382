//! Host threads that only driver objects order.

use super::*;

fn strict(config: &mut Config) {
    config.host_order = HostOrder::Driver;
}

pairs! {
    a_wait_in_another_thread: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"] with strict, |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64));
        p.fill(memory, 1, 64, one);
        ok!(p, cuStreamSynchronize(one));
        // A wait in one thread does not order another thread.
        p.in_thread(|p| {
            if right {
                ok!(p, cuStreamSynchronize(one));
            }
            p.fill(memory, 2, 64, two);
        });
    }
    an_event_of_another_thread: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"] with strict, |p, right| {
        let (one, two, event, memory) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.event(), p.alloc(64));
        p.fill(memory, 1, 64, one);
        ok!(p, cuEventRecord(event, one));
        p.in_thread(|p| {
            if right {
                ok!(p, cuEventSynchronize(event));
            }
            p.fill(memory, 2, 64, two);
        });
    }
    the_same_streams_by_two_threads: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64));
        p.in_thread(|p| {
            p.fill(memory, 1, 64, one);
            if right {
                ok!(p, cuStreamSynchronize(one));
            }
        });
        p.in_thread(|p| p.fill(memory, 2, 64, two));
    }
}
