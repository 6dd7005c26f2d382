//! Clusters: shared memory of other blocks, barriers, special registers, and races between the blocks.

use super::Run;
use crate::machine::FaultKind;
use crate::machine::Outcome;

/// Runs a kernel in clusters of `size` blocks, with one buffer of `words` words of 64 bits.
fn run(source: &str, grid: [u32; 3], size: [u32; 3], threads: u32, words: usize) -> (Outcome, Vec<u64>) {
    let mut out = vec![0; words];
    let run = Run { source, grid, cluster: Some(size), threads: [threads, 1, 1], ..Run::default() };
    let outcome = run.over(&mut [&mut out]);
    (outcome, out)
}

/// Each thread writes its number to shared memory, and reads the number of the next block's thread. `between` runs
/// before the read, `after` at the end.
fn neighbour(between: &str, after: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{
         .reg .u64 %out, %at; .reg .u32 %t, %b, %rank, %count, %next, %own, %far, %value, %n; .reg .pred %p;
         .shared .align 4 .u32 box[32];
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mov.u32 %n, %ntid.x;
         mov.u32 %rank, %cluster_ctarank; mov.u32 %count, %cluster_nctarank;
         mad.lo.u32 %value, %b, 100, %t; mov.u32 %own, box; mad.lo.u32 %own, %t, 4, %own;
         st.shared.u32 [%own], %value;
         {between}
         add.u32 %next, %rank, 1; rem.u32 %next, %next, %count;
         mapa.shared::cluster.u32 %far, %own, %next;
         ld.shared::cluster.u32 %value, [%far];
         mad.lo.u32 %b, %b, %n, %t; mad.wide.u32 %at, %b, 8, %out; cvt.u64.u32 %out, %value; st.global.u64 [%at], %out;
         {after} ret; }}"
    )
}

const BARRIER: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

#[test]
fn block_reads_the_shared_memory_of_its_neighbour_after_a_cluster_barrier() {
    for workers in [1, 2] {
        let source = neighbour(BARRIER, BARRIER);
        let mut out = vec![0; 8 * 32];
        let run = Run { source: &source, grid: [8, 1, 1], cluster: Some([4, 1, 1]), workers, ..Run::default() };
        let outcome = run.over(&mut [&mut out]);
        assert_eq!((outcome.fault, outcome.races), (None, Vec::new()));
        for block in 0..8_u64 {
            let next = block / 4 * 4 + (block + 1) % 4;
            for thread in 0..32 {
                assert_eq!(out[(block * 32 + thread) as usize], next * 100 + thread);
            }
        }
    }
}

#[test]
fn split_cluster_barrier_orders_the_blocks() {
    let between = "barrier.cluster.arrive; add.u32 %n, %n, 0; barrier.cluster.wait;";
    let (outcome, out) = run(&neighbour(between, BARRIER), [2, 1, 1], [2, 1, 1], 32, 64);
    assert_eq!((outcome.fault, outcome.races, out[3], out[35]), (None, Vec::new(), 103, 3));
}

#[test]
fn read_of_another_block_without_a_cluster_barrier_is_a_race() {
    for between in ["bar.sync 0;", "", "barrier.cluster.arrive;"] {
        let after = if between.contains("cluster") { "barrier.cluster.wait;" } else { BARRIER };
        let (outcome, _) = run(&neighbour(between, after), [2, 1, 1], [2, 1, 1], 32, 64);
        assert_eq!(outcome.fault, None);
        let [race] = outcome.races[..] else { panic!("{between}: {:?}", outcome.races) };
        assert!(race.shared && race.accesses[0].block != race.accesses[1].block, "{race:?}");
        assert_eq!(race.accesses.map(|access| access.writes).into_iter().filter(|writes| *writes).count(), 1);
    }
}

#[test]
fn write_after_the_last_cluster_barrier_races_with_the_read_of_another_block() {
    let (outcome, _) =
        run(&neighbour(BARRIER, &format!("st.shared.u32 [%own], %n; {BARRIER}")), [2, 1, 1], [2, 1, 1], 32, 64);
    assert_eq!((outcome.fault, outcome.races.len()), (None, 1));
    let after = format!("{BARRIER} st.shared.u32 [%own], %n; {BARRIER}");
    let (outcome, _) = run(&neighbour(BARRIER, &after), [2, 1, 1], [2, 1, 1], 32, 64);
    assert_eq!((outcome.fault, outcome.races), (None, Vec::new()));
}

#[test]
fn read_of_a_block_that_has_ended_fails() {
    let (outcome, _) = run(&neighbour(BARRIER, ""), [4, 1, 1], [4, 1, 1], 32, 128);
    assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::BlockEnded));
}

#[test]
fn read_beyond_the_cluster_or_the_shared_memory_fails() {
    for (far, at) in [(4, 0), (0, 128), (3, 124 + 4), (255, 0)] {
        let source = format!(
            ".visible .entry k(.param .u64 out) {{ .reg .u32 %a, %b; .shared .u32 box[32];
             mov.u32 %b, {far}; mov.u32 %a, box; mapa.shared::cluster.u32 %a, %a, %b;
             ld.shared::cluster.u32 %b, [%a+{at}]; {BARRIER} ret; }}"
        );
        let (outcome, _) = run(&source, [4, 1, 1], [4, 1, 1], 1, 1);
        assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::IllegalAddress), "{far} {at}");
    }
}

#[test]
fn special_registers_describe_the_cluster() {
    let names = [
        "%clusterid.x",
        "%clusterid.y",
        "%clusterid.z",
        "%nclusterid.x",
        "%nclusterid.y",
        "%nclusterid.z",
        "%cluster_ctaid.x",
        "%cluster_ctaid.y",
        "%cluster_ctaid.z",
        "%cluster_nctaid.x",
        "%cluster_nctaid.y",
        "%cluster_nctaid.z",
        "%cluster_ctarank",
        "%cluster_nctarank",
        "%ctaid.x",
        "%ctaid.y",
    ];
    let stores: String = names
        .iter()
        .enumerate()
        .map(|(index, name)| {
            format!("mov.u32 %v, {name}; cvt.u64.u32 %w, %v; st.global.u64 [%at+{}], %w;\n", index * 8)
        })
        .collect();
    let source = format!(
        ".visible .entry k(.param .u64 out) {{ .reg .u64 %out, %at, %w; .reg .u32 %v, %x, %y, %n; .reg .pred %p;
         ld.param.u64 %out, [out]; mov.u32 %x, %ctaid.x; mov.u32 %y, %ctaid.y; mov.u32 %n, %nctaid.x;
         mad.lo.u32 %x, %y, %n, %x; mad.wide.u32 %at, %x, 136, %out; {stores}
         mov.pred %p, %is_explicit_cluster; selp.u64 %w, 1, 0, %p; st.global.u64 [%at+128], %w; ret; }}"
    );
    let (outcome, out) = run(&source, [4, 4, 1], [2, 2, 1], 1, 16 * 17);
    assert_eq!((outcome.fault, outcome.races), (None, Vec::new()));
    for (block, seen) in out.chunks(17).enumerate() {
        let (x, y) = (block as u64 % 4, block as u64 / 4);
        let rank = x % 2 + 2 * (y % 2);
        assert_eq!(seen, [x / 2, y / 2, 0, 2, 2, 1, x % 2, y % 2, 0, 2, 2, 1, rank, 4, x, y, 1]);
    }
    let mut out = vec![0; 17];
    let run = Run { source: &source, threads: [1, 1, 1], ..Run::default() };
    assert_eq!(run.over(&mut [&mut out]).fault, None);
    assert_eq!(out, [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0]);
}

#[test]
fn generic_addresses_of_the_cluster_name_the_rank() {
    let source = format!(
        ".visible .entry k(.param .u64 out) {{ .reg .u64 %out, %a, %far, %w; .reg .u32 %r, %s, %b; .reg .pred %p, %q;
         .shared .align 8 .u64 box; .shared .align 8 .u64 spare;
         ld.param.u64 %out, [out]; mov.u32 %b, %ctaid.x; mad.wide.u32 %out, %b, 40, %out;
         mov.u64 %w, 0; st.shared.u64 [box], %w; {BARRIER}
         mov.u64 %a, box; cvta.shared::cta.u64 %a, %a; xor.b32 %b, %b, 1; mapa.u64 %far, %a, %b;
         atom.add.u64 %w, [%far], 5; red.release.cluster.add.u64 [%far], 2; {BARRIER}
         ld.u64 %w, [%far]; st.global.u64 [%out], %w; ld.shared.u64 %w, [box]; st.global.u64 [%out+8], %w;
         getctarank.u64 %r, %far; getctarank.u64 %s, %a; mad.lo.u32 %r, %r, 10, %s;
         cvt.u64.u32 %w, %r; st.global.u64 [%out+16], %w;
         isspacep.shared %p, %far; isspacep.shared::cluster %q, %far; selp.u32 %r, 1, 0, %p; selp.u32 %s, 2, 0, %q;
         add.u32 %r, %r, %s; cvt.u64.u32 %w, %r; st.global.u64 [%out+24], %w;
         isspacep.shared::cta %p, %a; isspacep.global %q, %a; selp.u32 %r, 1, 0, %p; selp.u32 %s, 2, 0, %q;
         add.u32 %r, %r, %s; cvt.u64.u32 %w, %r; st.global.u64 [%out+32], %w; {BARRIER} ret; }}"
    );
    let (outcome, out) = run(&source, [2, 1, 1], [2, 1, 1], 1, 10);
    assert_eq!((outcome.fault, outcome.races), (None, Vec::new()));
    assert_eq!(out, [7, 7, 10, 2, 1, 7, 7, 1, 2, 1]);
}

#[test]
fn cluster_barrier_orders_global_memory_within_a_cluster_only() {
    let source = |between: &str, shift: u32| {
        format!(
            ".visible .entry k(.param .u64 out) {{ .reg .u64 %out, %a; .reg .u32 %b, %v;
             ld.param.u64 %out, [out]; mov.u32 %b, %ctaid.x; mad.wide.u32 %a, %b, 8, %out; st.global.u32 [%a], %b;
             {between} add.u32 %b, %b, {shift}; rem.u32 %b, %b, 4; mad.wide.u32 %a, %b, 8, %out;
             ld.global.u32 %v, [%a]; {BARRIER} ret; }}"
        )
    };
    let races = |between, shift, size| {
        let (outcome, _) = run(&source(between, shift), [4, 1, 1], [size, 1, 1], 1, 4);
        assert_eq!(outcome.fault, None);
        outcome.races.len()
    };
    assert_eq!(races(BARRIER, 1, 4), 0, "one cluster");
    assert_eq!(races("bar.sync 0;", 1, 4), 1, "a barrier of the block");
    assert_eq!(races(BARRIER, 2, 2), 1, "different clusters");
    assert_eq!(races(BARRIER, 4, 2), 0, "the own word");
}

#[test]
fn blocks_of_a_cluster_wait_for_a_remote_mbarrier_arrival() {
    let source = format!(
        ".visible .entry k(.param .u64 out) {{ .reg .u64 %out, %w; .reg .u32 %r, %far, %v; .reg .pred %p, %q;
         .shared .align 8 .u64 gate; .shared .u32 box;
         ld.param.u64 %out, [out]; mov.u32 %r, %cluster_ctarank; setp.eq.u32 %p, %r, 0;
         @%p mbarrier.init.shared::cta.b64 [gate], 1; {BARRIER} @%p bra owner;
         mov.u32 %v, box; mapa.shared::cluster.u32 %far, %v, 0; st.shared::cluster.u32 [%far], 77;
         mov.u32 %v, gate; mapa.shared::cluster.u32 %far, %v, 0;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%far]; bra end;
         owner: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [gate], 0; @!%q bra owner;
         ld.shared.u32 %v, [box]; cvt.u64.u32 %w, %v; st.global.u64 [%out], %w;
         end: {BARRIER} ret; }}"
    );
    let (outcome, out) = run(&source, [2, 1, 1], [2, 1, 1], 1, 1);
    assert_eq!((outcome.fault, outcome.races, out[0]), (None, Vec::new(), 77));
}

#[test]
fn exited_threads_count_as_arrived_at_a_cluster_barrier() {
    let source = format!(
        ".visible .entry k(.param .u64 out) {{ .reg .u64 %out, %a; .reg .u32 %t, %b; .reg .pred %p;
         ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; setp.gt.u32 %p, %t, 3; @%p exit;
         setp.eq.u32 %p, %b, 1; @%p bra early; {BARRIER} {BARRIER}
         mad.wide.u32 %a, %t, 8, %out; st.global.u64 [%a], 1; ret;
         early: barrier.cluster.arrive; ret; }}"
    );
    let (outcome, out) = run(&source, [2, 1, 1], [2, 1, 1], 40, 5);
    assert_eq!((outcome.fault, out), (None, vec![1, 1, 1, 1, 0]));
}

#[test]
fn kernel_with_ordered_blocks_runs_in_clusters() {
    let source = neighbour(BARRIER, &format!("atom.global.add.u32 %n, [%at], 0; {BARRIER}"));
    let (outcome, out) = run(&source, [6, 1, 1], [2, 1, 1], 32, 6 * 32);
    assert_eq!((outcome.fault, outcome.races, out[0], out[5 * 32]), (None, Vec::new(), 100, 400));
}

#[test]
fn misused_cluster_barrier_fails_the_launch() {
    for body in ["barrier.cluster.wait;", "barrier.cluster.arrive; barrier.cluster.arrive;"] {
        let source = format!(".visible .entry k(.param .u64 out) {{ {body} ret; }}");
        let (outcome, _) = run(&source, [2, 1, 1], [2, 1, 1], 1, 1);
        assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::IllegalInstruction), "{body}");
    }
    let source = ".visible .entry k(.param .u64 out) { .reg .u32 %b; .reg .pred %p; mov.u32 %b, %ctaid.x;
        setp.eq.u32 %p, %b, 0; @%p bra other; barrier.cluster.arrive; barrier.cluster.wait; ret;
        other: bar.sync 1, 64; ret; }";
    let (outcome, _) = run(source, [2, 1, 1], [2, 1, 1], 32, 1);
    assert_eq!(outcome.fault.map(|fault| fault.kind), Some(FaultKind::Deadlock));
}

#[test]
fn cluster_barrier_orders_the_threads_of_a_block() {
    let source = |between: &str| {
        format!(
            ".visible .entry k(.param .u64 out) {{ .reg .u32 %t, %a, %v; .shared .u32 box[64];
             mov.u32 %t, %tid.x; mov.u32 %a, box; mad.lo.u32 %a, %t, 4, %a; st.shared.u32 [%a], %t;
             {between} xor.b32 %t, %t, 32; mov.u32 %a, box; mad.lo.u32 %a, %t, 4, %a; ld.shared.u32 %v, [%a]; ret; }}"
        )
    };
    let races = |between| run(&source(between), [2, 1, 1], [2, 1, 1], 64, 1).0.races.len();
    assert_eq!(races(BARRIER), 0);
    assert_eq!(races("barrier.cluster.arrive; barrier.cluster.wait;"), 0);
    assert_eq!(races(""), 1);
}

#[test]
fn directives_of_clusters_are_read() {
    let source = ".visible .entry k() .explicitcluster .reqnctapercluster 2, 4 .maxclusterrank 8 { ret; }
                  .visible .entry plain() .reqntid 32 { ret; }";
    let program = super::load(source).unwrap();
    let of = |name: &str| program.functions()[program.kernels()[name] as usize].cluster;
    let cluster = of("k");
    assert_eq!((cluster.size, cluster.explicit, cluster.max_blocks), (Some([2, 4, 1]), true, Some(8)));
    assert_eq!(of("plain"), crate::ClusterDirectives::default());
}

#[test]
fn block_without_a_cluster_maps_its_own_shared_memory() {
    let source = neighbour(BARRIER, BARRIER);
    let mut out = vec![0; 64];
    let run = Run { source: &source, grid: [2, 1, 1], ..Run::default() };
    let outcome = run.over(&mut [&mut out]);
    assert_eq!((outcome.fault, outcome.races, out[5], out[37]), (None, Vec::new(), 5, 105));
}

#[test]
fn relaxed_arrival_at_the_cluster_barrier_orders_no_memory() {
    let races = |before: &str, arrive: &str, strict| {
        let between = format!("{before} barrier.cluster.arrive{arrive}; barrier.cluster.wait;");
        let source = neighbour(&between, BARRIER);
        let mut out = vec![0; 64];
        let (grid, cluster) = ([2, 1, 1], Some([2, 1, 1]));
        let outcome = Run { source: &source, grid, cluster, strict, ..Run::default() }.over(&mut [&mut out]);
        assert_eq!(outcome.fault, None);
        outcome.races.len()
    };
    for strict in [false, true] {
        assert_eq!(races("", "", strict), 0);
        assert_eq!(races("", ".release.aligned", strict), 0);
        assert!(races("", ".relaxed", strict) > 0);
        assert!(races("fence.acq_rel.cta;", ".relaxed", strict) > 0);
        assert_eq!(races("fence.acq_rel.cluster;", ".relaxed", strict), 0);
    }
}
