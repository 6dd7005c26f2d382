//! Created streams, and missing edges between them.

use super::*;

pairs! {
    two_writers: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64));
        p.fill(memory, 1, 64, one);
        if right {
            p.order(one, two);
        }
        p.fill(memory, 2, 64, two);
    }
    a_result_read_before_it_is_there: DataRace ["cuMemsetD8Async on stream 1", "cuMemcpyDtoDAsync_v2 on stream 2"], |p, right| {
        let (one, two, memory, copy) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.written(64), p.alloc(64));
        p.fill(memory, 1, 64, one);
        if right {
            p.order(one, two);
        }
        p.copy(copy, memory, 64, two);
    }
    an_input_overwritten_while_it_is_read: DataRace ["cuMemcpyDtoDAsync_v2 on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory, copy) = (p.stream(0), p.stream(0), p.written(64), p.alloc(64));
        p.copy(copy, memory, 64, one);
        if right {
            p.order(one, two);
        }
        p.fill(memory, 1, 64, two);
    }
    a_stream_that_is_destroyed_is_not_waited_for: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(NON_BLOCKING), p.stream(NON_BLOCKING), p.alloc(64));
        p.fill(memory, 1, 64, one);
        ok!(p, cuStreamDestroy_v2(one));
        if right {
            ok!(p, cuCtxSynchronize());
        }
        p.fill(memory, 2, 64, two);
    }
    parts_that_overlap_by_a_byte: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64));
        p.fill(memory, 1, if right { 32 } else { 33 }, one);
        p.fill(memory + 32, 2, 32, two);
    }
    the_edge_the_wrong_way_round: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64));
        p.fill(memory, 1, 64, one);
        if right {
            p.order(one, two);
        } else {
            p.order(two, one);
        }
        p.fill(memory, 2, 64, two);
    }
    a_third_stream_without_an_edge: DataRace ["cuMemsetD8Async on stream 2", "cuMemcpyDtoDAsync_v2 on stream 3"], |p, right| {
        let (one, two, three) = (p.stream(0), p.stream(0), p.stream(0));
        let (memory, copy) = (p.written(64), p.alloc(64));
        p.fill(memory, 1, 64, one);
        p.order(one, two);
        p.order(one, three);
        p.fill(memory, 2, 64, two);
        if right {
            p.order(two, three);
        }
        p.copy(copy, memory, 64, three);
    }
    the_wrong_stream_synchronized: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64));
        p.fill(memory, 1, 64, one);
        ok!(p, cuStreamSynchronize(if right { one } else { two }));
        p.fill(memory, 2, 64, two);
    }
    a_chain_with_a_link_missing: DataRace ["cuMemsetD8Async on stream 1", "cuMemsetD8Async on stream 3"], |p, right| {
        let (one, two, three, memory, other) = (p.stream(0), p.stream(0), p.stream(0), p.alloc(64), p.alloc(64));
        p.fill(memory, 1, 64, one);
        if right {
            p.order(one, two);
        }
        p.fill(other, 1, 64, two);
        p.order(two, three);
        p.fill(memory, 3, 64, three);
    }
    columns_that_overlap: DataRace ["cuMemsetD2D8Async on stream 1", "cuMemsetD2D8Async on stream 2"], |p, right| {
        let (one, two, memory) = (p.stream(0), p.stream(0), p.alloc(64 * 8));
        ok!(p, cuMemsetD2D8Async(memory, 64, 1, if right { 32 } else { 40 }, 8, one));
        ok!(p, cuMemsetD2D8Async(memory + 32, 64, 2, 32, 8, two));
    }
    a_join_of_only_one_of_two_streams: DataRace ["cuMemsetD8Async on stream 2", "cuMemcpyDtoDAsync_v2 on stream 3"], |p, right| {
        let (one, two, three) = (p.stream(0), p.stream(0), p.stream(0));
        let (memory, copy) = (p.written(64), p.alloc(64));
        p.fill(memory, 1, 32, one);
        p.fill(memory + 32, 2, 32, two);
        p.order(one, three);
        if right {
            p.order(two, three);
        }
        p.copy(copy, memory, 64, three);
    }
}
