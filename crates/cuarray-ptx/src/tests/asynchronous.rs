//! Asynchronous copies: they land when they are waited for, and race with accesses before that.

use super::*;
use crate::MisuseKind;
use crate::races::Wait;

/// Runs a kernel with 64 threads in each block. The first buffer holds results, the second the numbers from 0. `%t` is the
/// thread. `%in` and `%out` are the buffers, and `%own` is the address of the thread's word in the second one. `%s` and `%o`
/// are the offsets of its word and of its neighbour's in `tile`. `%v` is the result.
fn run(body: &str, blocks: u32) -> (Vec<u32>, Outcome) {
    let source = format!(
        ".visible .entry k(.param .u64 out, .param .u64 in) {{ .reg .pred %p, %q; .reg .b32 %t, %s, %o, %v, %w, %i, %b; .reg .b64 %out, %in, %own, %a, %c;\n\
         .shared .align 16 .b8 tile[4096]; .shared .align 8 .b64 gate[4];\n\
         ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %own, %in, %a;\n\
         mov.u32 %s, tile; mov.u32 %o, %s; mad.lo.u32 %s, %t, 4, %s; xor.b32 %v, %t, 33; mad.lo.u32 %o, %v, 4, %o; setp.eq.u32 %p, %t, 0;\n\
         mov.u32 %b, %ctaid.x; mov.u32 %v, 0;\n\
         {body}\n\
         mad.lo.u32 %t, %b, 64, %t; mul.wide.u32 %a, %t, 4; add.u64 %a, %out, %a; st.global.u32 [%a], %v; ret; }}"
    );
    let (mut out, mut numbers) = (vec![0_u64; 512], vec![0_u64; 512]);
    for (index, word) in numbers.iter_mut().enumerate() {
        *word = (index as u64 * 2) | ((index as u64 * 2 + 1) << 32);
    }
    let (grid, threads) = ([blocks, 1, 1], [64, 1, 1]);
    let cluster = (blocks > 1).then_some([blocks, 1, 1]);
    let run = Run { source: &source, grid, threads, cluster, budget: 1 << 19, ..Run::default() };
    let outcome = run.over(&mut [&mut out, &mut numbers]);
    let words = out.iter().flat_map(|word| [*word as u32, (word >> 32) as u32]).take(blocks as usize * 64);
    (words.collect(), outcome)
}

/// The waits that the races of a kernel lack; `None` for a race between accesses that have happened.
fn missing(body: &str, blocks: u32) -> Vec<Option<Wait>> {
    let (_, outcome) = run(body, blocks);
    assert_eq!(outcome.fault, None, "{body}");
    outcome.races.iter().map(|race| race.accesses[0].pending).collect()
}

const COPY: &str = "cp.async.ca.shared.global [%s], [%own], 4;";
const WAIT: &str = "cp.async.commit_group; cp.async.wait_group 0;";

#[test]
fn a_copy_lands_when_its_thread_waits() {
    let (values, outcome) = run(&format!("{COPY} {WAIT} bar.sync 0; ld.shared.u32 %v, [%o];"), 1);
    assert_eq!((outcome.fault, outcome.races, outcome.misuses), (None, vec![], vec![]));
    assert_eq!(values, (0..64).map(|thread| thread ^ 33).collect::<Vec<u32>>());
    // Without the wait, the target has its old bytes.
    let (values, outcome) = run(&format!("st.shared.u32 [%s], 7; {COPY} ld.shared.u32 %v, [%s]; {WAIT}"), 1);
    assert_eq!(values, [7; 64]);
    assert_eq!(outcome.races.len(), 1);
    assert_eq!(outcome.races[0].accesses.map(|access| access.writes), [true, false]);
    assert_eq!(outcome.races[0].accesses[0].thread, outcome.races[0].accesses[1].thread);
}

#[test]
fn planted_mistakes_with_copies_of_threads_are_found() {
    let read = "ld.shared.u32 %v, [%o];";
    let two = format!(
        "{COPY} cp.async.commit_group; cp.async.ca.shared.global [%s+1024], [%own+256], 4; cp.async.commit_group;"
    );
    for (body, expected) in [
        // The wait is missing, before the barrier and altogether.
        (format!("{COPY} cp.async.commit_group; bar.sync 0; {read} cp.async.wait_group 0;"), &[Some(Wait::Group)][..]),
        (format!("{COPY} bar.sync 0; {read}"), &[Some(Wait::Group)]),
        // The group is not committed.
        (format!("{COPY} cp.async.wait_group 0; bar.sync 0; {read}"), &[Some(Wait::Group)]),
        (format!("{COPY} cp.async.wait_all; bar.sync 0; {read}"), &[]),
        // The barrier after the wait is missing.
        (format!("{COPY} {WAIT} {read}"), &[None]),
        (format!("{COPY} {WAIT} bar.sync 0; {read}"), &[]),
        // The number of groups is wrong.
        (format!("{two} cp.async.wait_group 2; bar.sync 0; {read}"), &[Some(Wait::Group)]),
        (format!("{two} cp.async.wait_group 1; bar.sync 0; {read}"), &[]),
        (format!("{two} cp.async.wait_group 1; bar.sync 0; ld.shared.u32 %v, [%o+1024];"), &[Some(Wait::Group)]),
        // The source is written before the wait, and after it.
        (format!("{COPY} st.global.u32 [%own], 5; {WAIT} bar.sync 0; {read}"), &[Some(Wait::Group)]),
        (format!("{COPY} {WAIT} st.global.u32 [%own], 5; bar.sync 0; {read}"), &[]),
        // The target is written before the wait.
        (format!("{COPY} st.shared.u32 [%s], 5; {WAIT} bar.sync 0; {read}"), &[Some(Wait::Group)]),
        // Another thread still reads the target when the next copy starts.
        (format!("{COPY} {WAIT} bar.sync 0; {read} {COPY} {WAIT}"), &[None]),
        (format!("{COPY} {WAIT} bar.sync 0; {read} bar.sync 0; {COPY} {WAIT}"), &[]),
        // Two copies to one place.
        (
            format!("{COPY} cp.async.ca.shared.global [%s], [%own+256], 4; {WAIT} bar.sync 0; {read}"),
            &[Some(Wait::Group)],
        ),
        (format!("{COPY} {COPY} {WAIT} bar.sync 0; {read}"), &[]),
    ] {
        let mut found = missing(&body, 1);
        found.dedup();
        assert_eq!(found, expected, "{body}");
    }
}

#[test]
fn a_double_buffered_pipeline_has_no_races() {
    // Eight stages of 64 words over two buffers.
    let body = |kept: u32, barrier: &str| {
        format!(
            "{COPY} cp.async.commit_group; mov.u32 %i, 0;\n\
             L: add.u32 %i, %i, 1; setp.ge.u32 %q, %i, 8; @%q bra LAST; and.b32 %w, %i, 1; mad.lo.u32 %w, %w, 1024, %s; mul.wide.u32 %a, %i, 256; add.u64 %a, %own, %a;\n\
             cp.async.ca.shared.global [%w], [%a], 4;\n\
             LAST: cp.async.commit_group; cp.async.wait_group {kept}; {barrier}\n\
             not.b32 %w, %i; and.b32 %w, %w, 1; mad.lo.u32 %w, %w, 1024, %o; ld.shared.u32 %w, [%w]; add.u32 %v, %v, %w; {barrier}\n\
             setp.lt.u32 %q, %i, 8; @%q bra L;"
        )
    };
    let (values, outcome) = run(&body(1, "bar.sync 0;"), 1);
    assert_eq!((outcome.fault, outcome.races), (None, vec![]));
    assert_eq!(
        values,
        (0..64).map(|thread| (0..8).map(|stage| (thread ^ 33) + stage * 64).sum()).collect::<Vec<u32>>()
    );
    assert!(missing(&body(2, "bar.sync 0;"), 1).contains(&Some(Wait::Group)));
    assert!(missing(&body(1, ""), 1).contains(&None));
}

#[test]
fn the_source_is_read_when_the_copy_lands_and_the_rest_is_zero() {
    let (values, _) = run(&format!("{COPY} st.global.u32 [%own], 77; {WAIT} ld.shared.u32 %v, [%s];"), 1);
    assert_eq!(values, [77; 64]);
    let (values, outcome) = run(
        "setp.lt.u32 %q, %t, 32; cp.async.ca.shared.global [%s], [%own], 4, %q; cp.async.ca.shared.global [%s+1024], [%own], 4, 2;\n\
         cp.async.wait_all; ld.shared.u32 %v, [%s]; ld.shared.u32 %w, [%s+1024]; mad.lo.u32 %v, %w, 256, %v;",
        1,
    );
    assert_eq!(outcome.races, []);
    assert_eq!(values, (0..64).map(|thread| thread * 256 + if thread < 32 { 0 } else { thread }).collect::<Vec<u32>>());
}

#[test]
fn an_mbarrier_tracks_the_copies_of_threads() {
    let init = |count: u32| format!("@%p mbarrier.init.shared.b64 [gate], {count}; bar.sync 0;");
    let wait = "W: mbarrier.try_wait.parity.shared.b64 %q, [gate], 0; @!%q bra W;";
    let read = "ld.shared.u32 %v, [%o];";
    let noinc = "cp.async.mbarrier.arrive.noinc.shared.b64 [gate];";
    let inc = "cp.async.mbarrier.arrive.shared.b64 [gate]; mbarrier.arrive.shared.b64 _, [gate];";
    for (count, arrive) in [(64, noinc), (64, inc)] {
        let (values, outcome) = run(&format!("{} {COPY} {arrive} {wait} {read}", init(count)), 1);
        assert_eq!((outcome.fault, outcome.races), (None, vec![]), "{arrive}");
        assert_eq!(values, (0..64).map(|thread| thread ^ 33).collect::<Vec<u32>>());
    }
    // No thread waits, or each waits for the phase that is complete from the start.
    assert_eq!(missing(&format!("{} {COPY} {noinc} bar.sync 0; {read}", init(64)), 1), [Some(Wait::Group)]);
    let wrong = wait.replace("[gate], 0", "[gate], 1");
    assert_eq!(missing(&format!("{} {COPY} {noinc} {wrong} {read}", init(64)), 1), [Some(Wait::Group)]);
    // The arrival does not track the copy after it.
    assert_eq!(missing(&format!("{} {noinc} {COPY} {wait} {read}", init(64)), 1), [Some(Wait::Group)]);
}

const BULK: &str = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes";

#[test]
fn a_bulk_copy_completes_the_bytes_of_its_barrier() {
    let init = "@%p mbarrier.init.shared.b64 [gate], 1; fence.mbarrier_init.release.cluster; bar.sync 0;";
    let expect = "@%p mbarrier.arrive.expect_tx.shared.b64 _, [gate], 256;";
    let copy = format!("@%p {BULK} [tile], [%in], 256, [gate];");
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [gate], 0; @!%q bra W;";
    let read = "ld.shared.u32 %v, [%o];";
    let (values, outcome) = run(&format!("{init} {expect} {copy} {wait} {read}"), 1);
    assert_eq!((outcome.fault, outcome.races, outcome.misuses), (None, vec![], vec![]));
    assert_eq!(values, (0..64).map(|thread| thread ^ 33).collect::<Vec<u32>>());
    let wrong = wait.replace("[gate], 0", "[gate], 1");
    for (body, expected) in [
        (format!("{init} {expect} {copy} {read}"), &[Some(Wait::Barrier)][..]),
        (format!("{init} {expect} {copy} bar.sync 0; {read}"), &[Some(Wait::Barrier)]),
        (format!("{init} {expect} {copy} {wrong} {read}"), &[Some(Wait::Barrier)]),
        // The phase expects no bytes, so it does not wait for the copy.
        (format!("{init} @%p mbarrier.arrive.shared.b64 _, [gate]; {copy} {wait} {read}"), &[Some(Wait::Barrier)]),
        (format!("{init} {expect} {copy} @%p st.global.u32 [%in+64], 5; {wait} {read}"), &[Some(Wait::Barrier)]),
        (format!("{init} {expect} {copy} {wait} {read} bar.sync 0; @%p st.global.u32 [%in+64], 5;"), &[]),
        // Other threads still read the buffer when it is filled again.
        (format!("{init} {expect} {copy} {wait} {read} {expect} {copy}"), &[Some(Wait::Barrier)]),
    ] {
        assert_eq!(missing(&body, 1), expected, "{body}");
    }
    // More bytes are expected than are copied.
    let (_, outcome) = run(&format!("{init} {} {copy} {wait}", expect.replace("256", "272")), 1);
    assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::Deadlock));
    let (_, outcome) =
        run(&format!("{init} {expect} {}", copy.replace("256", "%w").replace("@%p", "mov.u32 %w, 264; @%p")), 1);
    assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::Misaligned));
}

#[test]
fn a_bulk_copy_to_global_memory_belongs_to_a_group() {
    let store = "st.shared.u32 [%s], %t; fence.proxy.async.shared::cta; bar.sync 0;";
    let copy = "@%p cp.async.bulk.global.shared::cta.bulk_group [%in], [tile], 256; @%p cp.async.bulk.commit_group;";
    let wait = |form: &str| format!("@%p cp.async.bulk.wait_group{form} 0; bar.sync 0;");
    let read = "ld.global.u32 %v, [%own];";
    let (values, outcome) = run(&format!("{store} {copy} {} {read}", wait("")).replace("%t;", "%o;"), 1);
    assert_eq!((outcome.fault, outcome.races), (None, vec![]));
    assert_eq!(values, (0..64).map(|thread| (thread ^ 33) * 4).collect::<Vec<u32>>());
    let again = "st.shared.u32 [%s], 9;";
    for (body, expected) in [
        (format!("{store} {copy} {} {read}", wait("")), &[][..]),
        (format!("{store} {copy} bar.sync 0; {read}"), &[Some(Wait::BulkGroup)]),
        (format!("{store} {copy} {} {read}", wait(".read")), &[Some(Wait::BulkGroup)]),
        // The source may be written once it was read.
        (format!("{store} {copy} {} {again}", wait(".read")), &[]),
        (format!("{store} {copy} bar.sync 0; {again}"), &[Some(Wait::BulkGroup)]),
        (format!("{store} {copy} {again}"), &[Some(Wait::BulkGroup)]),
    ] {
        assert_eq!(missing(&body, 1), expected, "{body}");
    }
    // A copy without a wait lands when its block ends, which is too late for its source.
    let (_, outcome) = run(&format!("{store} {copy}"), 1);
    assert_eq!((outcome.fault, outcome.races), (None, vec![]));
    assert_eq!(outcome.misuses.iter().map(|misuse| misuse.kind).collect::<Vec<_>>(), [MisuseKind::SourceOfEndedBlock]);
}

const CLUSTER: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

#[test]
fn copies_between_blocks_of_a_cluster_signal_a_remote_barrier() {
    // Each block sends to the other one, and waits for what it receives.
    let init = format!("@%p mbarrier.init.shared.b64 [gate], 1; fence.mbarrier_init.release.cluster; {CLUSTER}");
    let expect = |bytes: u32| format!("@%p mbarrier.arrive.expect_tx.relaxed.cta.shared::cta.b64 _, [gate], {bytes};");
    let far = "xor.b32 %i, %b, 1; mov.u32 %w, tile; mapa.shared::cluster.u32 %w, %w, %i; mov.u32 %v, gate; mapa.shared::cluster.u32 %i, %v, %i;";
    let wait = "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [gate], 0, 1000; @!%q bra W;";
    let completes = "shared::cluster.mbarrier::complete_tx::bytes";
    let fill = "mad.lo.u32 %v, %b, 1000, %t; st.shared.u32 [%s+1024], %v; fence.proxy.async; bar.sync 0;";
    let send =
        "@%p cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%w], [tile+1024], 256, [%i];";
    let store =
        format!("mad.lo.u32 %o, %t, 4, %w; mad.lo.u32 %v, %b, 1000, %t; st.async.weak.{completes}.u32 [%o], %v, [%i];");
    let read = "ld.shared.u32 %v, [%s];";
    let expected: Vec<u32> = (0..128).map(|index| (1 - index / 64) * 1000 + index % 64).collect();
    for body in [
        format!("{init} {} {fill} {far} {send} {wait} {read} {CLUSTER}", expect(256)),
        format!("{init} {} {far} {store} {wait} {read} {CLUSTER}", expect(256)),
    ] {
        let (values, outcome) = run(&body, 2);
        assert_eq!((outcome.fault, outcome.races), (None, vec![]), "{body}");
        assert_eq!(values, expected, "{body}");
        let without = body.replace(wait, "");
        assert!(missing(&without, 2).contains(&Some(Wait::Barrier)), "{without}");
    }
    // Reductions: 64 threads of the other block add, and one copy adds its words.
    let zero = format!("st.shared.u32 [%s], 5; {CLUSTER}");
    let add = format!("red.async.relaxed.cluster.{completes}.add.u32 [%w], %t, [%i];");
    let (values, outcome) =
        run(&format!("{init} {zero} {} {far} {add} {wait} ld.shared.u32 %v, [tile]; {CLUSTER}", expect(256)), 2);
    assert_eq!((outcome.fault, outcome.races), (None, vec![]));
    assert_eq!(values, [5 + 63 * 32; 128]);
    let reduce = "@%p cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%w], [tile+1024], 256, [%i];";
    let (values, outcome) =
        run(&format!("{init} {zero} {} {fill} {far} {reduce} {wait} {read} {CLUSTER}", expect(256)), 2);
    assert_eq!((outcome.fault, outcome.races), (None, vec![]));
    assert_eq!(values, expected.iter().map(|value| value + 5).collect::<Vec<_>>());
}

#[test]
fn a_multicast_fills_each_block_and_signals_each_barrier() {
    let init = format!(
        "@%p mbarrier.init.shared.b64 [gate], 1; fence.mbarrier_init.release.cluster; @%p mbarrier.arrive.expect_tx.shared.b64 _, [gate], 256; {CLUSTER}"
    );
    let copy = format!(
        "setp.eq.u32 %q, %b, 1; and.pred %q, %q, %p; .reg .b16 %m; mov.b16 %m, 3; @%q {BULK}.multicast::cluster [tile], [%in], 256, [gate], %m;"
    );
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %q, [gate], 0; @!%q bra W;";
    let (values, outcome) = run(&format!("{init} {copy} {wait} ld.shared.u32 %v, [%o]; {CLUSTER}"), 2);
    assert_eq!((outcome.fault, outcome.races), (None, vec![]));
    assert_eq!(values, (0..128).map(|thread| (thread % 64) ^ 33).collect::<Vec<u32>>());
}

#[test]
fn bulk_reductions_into_global_memory_add_elements() {
    let store = |ty: &str, value: &str| {
        format!("mov.b32 %v, {value}; st.shared.{ty} [%s], %v; fence.proxy.async.shared::cta; bar.sync 0;")
    };
    let reduce = |operation: &str| {
        format!(
            "@%p cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%in], [tile], 256;\n\
             @%p cp.async.bulk.commit_group; @%p cp.async.bulk.wait_group 0; bar.sync 0; ld.global.u32 %v, [%own];"
        )
    };
    for (operation, value, expected) in [
        ("add.u32", "%t", (|thread: u32| thread * 2) as fn(u32) -> u32),
        ("max.s32", "30", |thread| thread.max(30)),
        ("and.b32", "3", |thread| thread & 3),
        ("inc.u32", "40", |thread| if thread >= 40 { 0 } else { thread + 1 }),
        ("add.noftz.f16", "0x40004000", |_| 0x4000_4000),
        ("add.f32", "0f40000000", |_| 0x4000_0000),
    ] {
        let (values, outcome) = run(&format!("{} {}", store("b32", value), reduce(operation)), 1);
        assert_eq!((outcome.fault, outcome.races), (None, vec![]), "{operation}");
        assert_eq!(values, (0..64).map(expected).collect::<Vec<_>>(), "{operation}");
    }
}

#[test]
fn a_bulk_fill_writes_zeros_at_once() {
    let fill = "mov.u64 %a, tile; mov.u64 %c, 128; @%p st.bulk.weak.shared::cta [%a], %c, 0;";
    let (values, outcome) =
        run(&format!("st.shared.u32 [%s], 9; bar.sync 0; {fill} bar.sync 0; ld.shared.u32 %v, [%o];"), 1);
    assert_eq!((outcome.fault, outcome.races), (None, vec![]));
    assert_eq!(values, (0..64).map(|thread| if (thread ^ 33) < 32 { 0 } else { 9 }).collect::<Vec<u32>>());
    assert_eq!(missing(&format!("{fill} ld.shared.u32 %v, [%o];"), 1), [None]);
    let (_, outcome) = run(&fill.replace("128", "132"), 1);
    assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::Misaligned));
}
