//! Data that one grid passes to another through a flag: the fences, their scopes and their places.
//!
//! The flag is the first parameter, the data the second. Every consumer reads the data only behind the set flag, so a missing
//! fence shows only if the producer runs first. The pairs run eagerly for that. The right programs run in every order below.

use super::small_kernels::*;
use super::*;

fn eager(config: &mut Config) {
    config.schedule = Schedule::Eager;
}

/// Runs one thread in each of several unordered streams, in the order of the bodies.
fn run(p: &Program, bodies: &[String]) {
    let (flags, data) = (p.written(256), p.written(256));
    for body in bodies {
        kernel(p, &one_thread(body)).run(p, flags, data, p.stream(NON_BLOCKING));
    }
    ok!(p, cuCtxSynchronize());
}

fn produce(fence: &str) -> String {
    format!("st.global.u32 [%data], 7; {fence} st.relaxed.gpu.global.u32 [%out], 1;")
}

fn consume(fence: &str) -> String {
    format!(
        "ld.relaxed.gpu.global.u32 %v, [%out]; {fence} setp.eq.u32 %p, %v, 0; @%p bra END; ld.global.u32 %v, [%data];"
    )
}

const FENCE: &str = "fence.acq_rel.gpu;";
const NARROW: &str = "fence.acq_rel.cta;";

fn produce_by(store: &str) -> String {
    format!("st.global.u32 [%data], 7; {store} [%out], 1;")
}

fn consume_by(load: &str) -> String {
    format!("{load} %v, [%out]; setp.eq.u32 %p, %v, 0; @%p bra END; ld.global.u32 %v, [%data];")
}

/// A producer, a launch that passes the data on with a second flag, and a consumer.
fn pass_on(first_fence: &str) -> [String; 3] {
    [
        produce(first_fence),
        format!(
            "ld.relaxed.gpu.global.u32 %v, [%out]; {FENCE} setp.eq.u32 %p, %v, 0; @%p bra END; \
            st.relaxed.gpu.global.u32 [%out + 4], 1;"
        ),
        format!(
            "ld.relaxed.gpu.global.u32 %v, [%out + 4]; {FENCE} setp.eq.u32 %p, %v, 0; @%p bra END; \
            ld.global.u32 %v, [%data];"
        ),
    ]
}

/// Adds one under a lock, if the lock is free.
fn locked(fence: &str) -> String {
    format!(
        "atom.relaxed.gpu.global.cas.b32 %v, [%out], 0, 1; setp.ne.u32 %p, %v, 0; @%p bra END; {fence} \
        ld.global.u32 %v, [%data]; add.u32 %v, %v, 1; st.global.u32 [%data], %v; {fence} \
        atom.relaxed.gpu.global.exch.b32 %v, [%out], 0;"
    )
}

pairs! {
    no_fence_in_the_producer: DataRace LAUNCHES with eager, |p, right| {
        run(p, &[produce(if right { FENCE } else { "" }), consume(FENCE)]);
    }
    a_fence_of_the_block_in_the_producer: DataRace LAUNCHES with eager, |p, right| {
        run(p, &[produce(if right { FENCE } else { NARROW }), consume(FENCE)]);
    }
    no_fence_in_the_consumer: DataRace LAUNCHES with eager, |p, right| {
        run(p, &[produce(FENCE), consume(if right { FENCE } else { "" })]);
    }
    a_fence_of_the_block_in_the_consumer: DataRace LAUNCHES with eager, |p, right| {
        run(p, &[produce(FENCE), consume(if right { FENCE } else { NARROW })]);
    }
    a_release_of_the_block: DataRace LAUNCHES with eager, |p, right| {
        // The flag races too, in the same two calls.
        let store = if right { "st.release.gpu.global.u32" } else { "st.release.cta.global.u32" };
        run(p, &[produce_by(store), consume_by("ld.acquire.gpu.global.u32")]);
    }
    a_relaxed_read_in_the_place_of_an_acquire: DataRace LAUNCHES with eager, |p, right| {
        let load = if right { "ld.acquire.gpu.global.u32" } else { "ld.relaxed.gpu.global.u32" };
        run(p, &[produce_by("st.release.gpu.global.u32"), consume_by(load)]);
    }
    data_behind_the_flag: DataRace LAUNCHES with eager, |p, right| {
        let late = format!("st.global.u32 [%data], 7; {FENCE} st.relaxed.gpu.global.u32 [%out], 1; st.global.u32 [%data], 8;");
        run(p, &[if right { produce(FENCE) } else { late }, consume(FENCE)]);
    }
    data_read_before_the_flag: DataRace LAUNCHES with eager, |p, right| {
        let early = format!("ld.global.u32 %n, [%data]; {}", consume(FENCE));
        run(p, &[produce(FENCE), if right { consume(FENCE) } else { early }]);
    }
    a_fence_behind_the_flag: DataRace LAUNCHES with eager, |p, right| {
        let late = format!("st.global.u32 [%data], 7; st.relaxed.gpu.global.u32 [%out], 1; {FENCE}");
        run(p, &[if right { produce(FENCE) } else { late }, consume(FENCE)]);
    }
    a_volatile_flag: DataRace LAUNCHES with eager, |p, right| {
        let fence = if right { "membar.gl;" } else { "" };
        let produce = format!("st.global.u32 [%data], 7; {fence} st.volatile.global.u32 [%out], 1;");
        let consume = "ld.volatile.global.u32 %v, [%out]; membar.gl; setp.eq.u32 %p, %v, 0; @%p bra END; \
            ld.global.u32 %v, [%data];";
        run(p, &[produce, consume.to_owned()]);
    }
    data_passed_on_by_a_third_launch: DataRace ["cuLaunchKernel on stream 1", "cuLaunchKernel on stream 3"] with eager, |p, right| {
        let [produce, pass, consume] = pass_on(FENCE);
        let early = "ld.global.u32 %n, [%data];".to_owned();
        run(p, &[produce, pass, if right { consume } else { format!("{early} {consume}") }]);
    }
    a_lock_without_fences: DataRace LAUNCHES with eager, |p, right| {
        let body = locked(if right { FENCE } else { "" });
        run(p, &[body.clone(), body]);
    }
}

#[test]
fn right_programs_have_no_findings_in_any_order_of_launches() {
    let (release, acquire) = (produce_by("st.release.gpu.global.u32"), consume_by("ld.acquire.gpu.global.u32"));
    let programs: [Vec<String>; 4] =
        [vec![produce(FENCE), consume(FENCE)], vec![release, acquire], pass_on(FENCE).to_vec(), vec![locked(FENCE); 3]];
    for mut bodies in programs {
        for _ in 0..bodies.len() {
            bodies.rotate_left(1);
            for schedule in schedules() {
                let program = Program::with(Config { schedule, ..Config::default() });
                run(&program, &bodies);
                assert_eq!(program.sim.report().text(false), "", "{bodies:?}");
            }
        }
    }
}
