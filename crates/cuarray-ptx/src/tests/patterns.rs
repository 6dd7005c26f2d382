//! Accesses with every pattern of addresses, compared with a byte-by-byte model: the values, the recorded ranges and
//! the races.

use super::random::cases;
use super::*;
use crate::machine::AccessKind;
use std::collections::BTreeSet;

/// The size of the memory.
const BYTES: usize = 4096;
const THREADS: usize = 96;

/// Reproducible pseudo-random numbers (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    /// The offset of each lane's access, in units of the access; `None` for lanes without one.
    fn offsets(&mut self, warp: u64) -> [Option<u64>; 32] {
        let (kind, base) = (self.below(9), self.below(BYTES as u64) + self.below(2) * 64 * warp);
        let steps = self.below(4) + 1;
        let mut offsets = std::array::from_fn(|lane| {
            let lane = lane as u64;
            match kind {
                0 => base,
                1 | 2 => base + lane,
                3 => base + 31 - lane,
                4 => base + lane % 16,
                5 => base + lane / 16,
                6 => base + lane * steps,
                7 => base + lane * lane % 61,
                _ => self.below(BYTES as u64 / 16),
            }
        })
        .map(Some);
        let mask = match self.below(8) {
            0 => self.below(1 << 31) << 1 | 1,
            3..=5 => 1 << self.below(32),
            1 => u64::from(u32::MAX) >> self.below(32),
            2 => u64::from(u32::MAX) << self.below(32),
            _ => u64::MAX,
        };
        (0..32).filter(|lane| mask >> lane & 1 == 0).for_each(|lane| offsets[lane] = None);
        offsets
    }
}

/// A store and a load by each thread: their offsets, sizes in bytes and order.
struct Case {
    load_first: bool,
    sizes: [usize; 2],
    offsets: Vec<[Option<usize>; 2]>,
}

impl Case {
    fn new(numbers: &mut Numbers) -> Case {
        let sizes = [0, 1].map(|_| 1 << numbers.below(4));
        let (load_first, shift) = (numbers.below(2) == 0, numbers.below(256));
        let mut offsets = Vec::new();
        for warp in 0..THREADS as u64 / 32 {
            // Most loads are from another place, so that some cases have no race.
            let far = if numbers.below(3) > 0 { BYTES / 2 } else { 0 };
            let private = numbers.below(3) > 0;
            let (stores, loads) = (numbers.offsets(warp), numbers.offsets(warp));
            for lane in 0..32 {
                let thread = warp * 32 + lane as u64;
                let store = if private { stores[lane].map(|_| thread + shift) } else { stores[lane] };
                offsets.push([
                    store.map(|offset| offset as usize * sizes[0] % (BYTES / 2)),
                    loads[lane].map(|offset| offset as usize * sizes[1] % (BYTES / 2) + far),
                ]);
            }
        }
        if numbers.below(3) > 0 {
            // One thread stores to an address that another thread loads. The loading thread is the first of a page,
            // or any thread. The storing thread is the loading thread itself, the first of its warp, or any thread.
            let starts_page = |thread: &usize| offsets[*thread][1].is_some_and(|offset| offset % 1024 == 0);
            let edge = (0..THREADS).find(starts_page).filter(|_| numbers.below(2) == 0);
            let loading = edge.unwrap_or(numbers.below(THREADS as u64) as usize);
            let first = (loading / 32 * 32..THREADS).find(|thread| offsets[*thread][1].is_some());
            let any = numbers.below(THREADS as u64) as usize;
            let storing = [loading, first.unwrap_or(any), any][numbers.below(3) as usize];
            let place = offsets[loading][1].map(|offset| offset / sizes[0] * sizes[0]);
            offsets.iter_mut().for_each(|[store, _]| *store = None);
            offsets[storing][0] = place;
        }
        Case { load_first, sizes, offsets }
    }

    /// The kernel with accesses of a space: `.global`, `.shared` or none. Shared memory is filled before, and read
    /// afterwards.
    fn source(&self, space: &str, shared: bool) -> String {
        let [store, load] = self.sizes.map(|size| size * 8);
        let (at, fill, empty) = if shared {
            let window = if space.is_empty() { "cvta.shared.u64 %at, %at;" } else { "" };
            let copy = |from: &str, to: &str| {
                format!(
                    "mov.u32 %i, %t; L{from}: mul.wide.u32 %o, %i, 8; add.u64 %x, %o, {from}; ld.u64 %v, [%x]; add.u64 %x, %o, {to}; st.u64 [%x], %v;\n\
                     add.u32 %i, %i, {THREADS}; setp.lt.u32 %p, %i, {}; @%p bra L{from}; bar.sync 0;\n",
                    BYTES / 8
                )
                .replace("L%", "L")
            };
            let generic = "mov.u64 %g, s; cvta.shared.u64 %g, %g;";
            (
                format!("mov.u64 %at, s; {window}"),
                format!("{generic} {}", copy("%out", "%g")),
                format!("bar.sync 0; {}", copy("%g", "%out")),
            )
        } else {
            ("mov.u64 %at, %out;".to_owned(), String::new(), String::new())
        };
        let stores = format!("cvt.u64.u32 %o, %s; add.u64 %x, %at, %o; @%p st{space}.u{store} [%x], %v;");
        let loads = format!("cvt.u64.u32 %o, %l; add.u64 %x, %at, %o; @%q ld{space}.u{load} %w, [%x];");
        let accesses = if self.load_first { loads + &stores } else { stores + &loads };
        format!(
            ".visible .entry k(.param .u64 out, .param .u64 table, .param .u64 results) {{ .shared .align 8 .b8 s[{BYTES}];\n\
             .reg .pred %p, %q; .reg .b32 %t, %s, %l, %i; .reg .b64 %out, %table, %results, %o, %x, %v, %w, %at, %g;\n\
             ld.param.u64 %out, [out]; ld.param.u64 %table, [table]; ld.param.u64 %results, [results]; mov.u32 %t, %tid.x;\n\
             {fill}\n\
             mul.wide.u32 %o, %t, 8; add.u64 %table, %table, %o; add.u64 %results, %results, %o;\n\
             ld.global.v2.u32 {{%s, %l}}, [%table]; setp.ne.u32 %p, %s, -1; setp.ne.u32 %q, %l, -1;\n\
             {at} cvt.u64.u32 %v, %t; add.u64 %v, %v, 1; mul.lo.u64 %v, %v, 0x0101010101010101; mov.u64 %w, 0;\n\
             {accesses}\n\
             st.global.u64 [%results], %w; {empty} ret; }}"
        )
    }
}

/// The effects of a case, computed thread by thread and byte by byte.
struct Model {
    memory: Vec<u8>,
    loaded: Vec<u64>,
    read: BTreeSet<usize>,
    written: BTreeSet<usize>,
    updated: BTreeSet<usize>,
    races: bool,
}

impl Model {
    fn new(case: &Case, memory: &[u64]) -> Model {
        let mut memory: Vec<u8> = memory.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (mut readers, mut writers) = (vec![BTreeSet::new(); BYTES], vec![BTreeSet::new(); BYTES]);
        let (mut loaded, mut first) = (vec![0; THREADS], BTreeSet::new());
        for warp in 0..THREADS / 32 {
            let threads = warp * 32..warp * 32 + 32;
            for stores in [!case.load_first, case.load_first] {
                for thread in threads.clone() {
                    let [store, load] = case.offsets[thread];
                    let (start, size) = if stores { (store, case.sizes[0]) } else { (load, case.sizes[1]) };
                    for (index, at) in start.into_iter().flat_map(|start| start..start + size).enumerate() {
                        if stores {
                            memory[at] = thread as u8 + 1;
                            writers[at].insert(thread);
                        } else {
                            if writers[at].is_empty() {
                                first.insert(at);
                            }
                            loaded[thread] |= u64::from(memory[at]) << (8 * index);
                            readers[at].insert(thread);
                        }
                    }
                }
            }
        }
        let races = writers.iter().zip(&readers).any(|(writers, readers)| {
            writers.len() > 1 || writers.first().is_some_and(|writer| readers.iter().any(|reader| reader != writer))
        });
        let touched = |threads: &[BTreeSet<usize>]| (0..BYTES).filter(|at| !threads[*at].is_empty()).collect();
        let written = touched(&writers);
        let updated = first.intersection(&written).copied().collect();
        Model { memory, loaded, read: touched(&readers), written, updated, races }
    }
}

#[test]
fn every_address_pattern_agrees_with_the_model() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut races = [0; 2];
    let cases = cases(900) as usize;
    for index in 0..cases {
        let case = Case::new(&mut numbers);
        let (space, shared) = [(".global", false), ("", false), (".shared", true), ("", true)][index % 4];
        let start: Vec<u64> =
            (0..BYTES as u64 / 8).map(|_| numbers.below(1 << 31) << 33 | numbers.below(1 << 31)).collect();
        let offset = |offset: Option<usize>| offset.map_or(u64::from(u32::MAX), |offset| offset as u64);
        let mut table: Vec<u64> =
            case.offsets.iter().map(|[store, load]| offset(*store) | offset(*load) << 32).collect();
        let (mut memory, mut results) = (start.clone(), vec![0; THREADS]);
        let source = case.source(space, shared);
        let run = Run { source: &source, threads: [THREADS as u32, 1, 1], workers: 1, ..Run::default() };
        let outcome = run.over(&mut [&mut memory, &mut table, &mut results]);
        let model = Model::new(&case, &start);
        let what = || format!("case {index}: {:?}\n{source}", case.offsets);
        assert_eq!(outcome.fault, None, "{}", what());
        // After a barrier the warp that arrived last continues first, so another access may win a race.
        if !shared || !model.races {
            let mut bytes = memory.iter().flat_map(|word| word.to_le_bytes()).zip(&model.memory);
            assert_eq!(bytes.position(|(found, expected)| found != *expected), None, "{}", what());
            assert_eq!(results, model.loaded, "{}", what());
        }
        assert_eq!(!outcome.races.is_empty(), model.races, "{:?} {}", outcome.races, what());
        races[usize::from(model.races)] += 1;
        if !shared {
            let kinds = [
                (AccessKind::Read, &model.read),
                (AccessKind::Write, &model.written),
                (AccessKind::Update, &model.updated),
            ];
            for (kind, expected) in kinds {
                let ranges = outcome.touched.iter().filter(|range| range.kind == kind && range.start < BASE + APART);
                let bytes = ranges.flat_map(crate::TouchedRange::pieces).flat_map(|(start, end)| start..end);
                let bytes: BTreeSet<usize> = bytes.map(|at| (at - BASE) as usize).collect();
                assert_eq!(&bytes, expected, "{}", what());
            }
        }
    }
    assert!(races.iter().all(|count| *count > cases / 9), "too few cases (without races, with races): {races:?}");
}

#[test]
fn addresses_that_two_lanes_would_continue_below_a_buffer_do_not_lead_there() {
    // The buffers start at multiples of 2^32. A row through lanes 14 and 15 has the address of lane 0 in the buffer below.
    let source = ".visible .entry k(.param .u64 out, .param .u64 in) {
        .reg .b64 %out, %in, %at, %value; .reg .b32 %lane, %k; .reg .pred %p, %again;
        ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %lane, %laneid; mov.u32 %k, 0;
        add.s32 %k, %lane, -14; mul.wide.s32 %at, %k, 64; add.s64 %in, %in, %at;
        mul.wide.u32 %at, %lane, 8; add.s64 %out, %out, %at; mov.u64 %value, 0;
        setp.eq.u32 %p, %lane, 14; setp.eq.or.u32 %p, %lane, 15, %p; mov.u32 %k, 0;
        L: @%p ld.global.u64 %value, [%in]; add.u32 %k, %k, 1; setp.lt.u32 %again, %k, 100; @%again bra L;
        st.global.u64 [%out], %value; ret; }";
    let (mut out, mut read) = ([7_u64; 32], [0_u64; 64]);
    (0..).zip(&mut read).for_each(|(index, word)| *word = 1000 + index);
    let outcome = Run { source, ..Run::default() }.over(&mut [&mut out, &mut read]);
    assert_eq!(outcome.fault, None);
    let expected: [u64; 32] = std::array::from_fn(|lane| match lane {
        14 => 1000,
        15 => 1008,
        _ => 0,
    });
    assert_eq!(out, expected);
}
