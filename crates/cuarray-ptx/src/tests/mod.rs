//! Tests that execute kernels over their own buffers.

mod address_spaces;
mod arithmetic;
mod asynchronous;
mod barrier_objects;
mod clusters;
mod control_flow;
mod cooperative;
mod deadlocks;
mod dependent;
mod device_runtime;
mod forms;
mod generated;
mod inner_products;
mod linear;
mod matrices;
mod member_masks;
mod memory_model;
mod mutated;
mod orders;
mod padded_tiles;
mod patterns;
mod polls;
mod proxies;
pub(crate) mod random;
mod recent;
mod rounding;
mod shared_shapes;
mod special_registers;
mod state_spaces;
mod stray_reads;
mod stray_stores;
mod surfaces;
mod texture_objects;
mod textures;
mod thread_races;
mod undefined;
mod words;

use crate::Error;
use crate::grammar::parse;
use crate::machine::program::Program;
use crate::machine::{Code, FaultKind, KernelOrder, Launch, NoService, Outcome, Outlook, Region, Service, execute};
use crate::resolve::resolve;
use crate::texture::Textures;

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

fn load(source: &str) -> Result<Program, Error> {
    load_for(HEAD, source)
}

fn load_for(head: &str, source: &str) -> Result<Program, Error> {
    let source = format!("{head}{source}");
    let module = parse(&source)?;
    resolve(std::slice::from_ref(&module))
}

/// The device address of the first buffer; it differs from the host's addresses.
const BASE: u64 = 0x10_0000_0000;
/// The distance between the buffers.
const APART: u64 = 0x1_0000_0000;

/// A way to execute a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// With everything recorded.
    Recorded,
    Unrecorded,
    /// As `Unrecorded`, by generated code where that is possible.
    Generated,
    /// As `Recorded`, by generated code.
    GeneratedRecorded,
    /// Recorded, without direct accesses and linear values.
    LaneByLane,
    /// As `LaneByLane`, and undefined values are followed from the start.
    Followed,
}

/// A launch over buffers, whose addresses are the kernel's first parameters.
struct Run<'a> {
    head: &'a str,
    source: &'a str,
    grid: [u32; 3],
    threads: [u32; 3],
    cluster: Option<[u32; 3]>,
    dynamic_shared: u32,
    more: Vec<u64>,
    budget: u64,
    cooperative: bool,
    dependent: bool,
    strict: bool,
    poisons: bool,
    order: KernelOrder,
    resident_blocks: usize,
    workers: usize,
    textures: Textures,
    /// The group of the buffers.
    group: u64,
    /// The range of device memory that nothing has written.
    unwritten: (u64, u64),
}

/// A service that knows one range of unwritten memory.
struct Memory((u64, u64));

impl Service for Memory {
    fn allocate(&self, _: u64) -> u64 {
        0
    }
    fn free(&self, _: u64) -> u64 {
        0
    }
    fn assertion(&self, _: &str) {}
    fn set_condition(&self, _: u64, _: u32) {}
    fn unwritten(&self, start: u64, end: u64) -> Vec<(u64, u64)> {
        let (first, behind) = (start.max(self.0.0), end.min(self.0.1));
        if first < behind { vec![(first, behind)] } else { vec![] }
    }
    fn outlook(&self, addresses: &[u64]) -> Outlook {
        NoService.outlook(addresses)
    }
    fn tick(&self, pc: u32, finished: u64) -> Option<FaultKind> {
        NoService.tick(pc, finished)
    }
}

impl Default for Run<'_> {
    fn default() -> Self {
        let (grid, threads) = ([1; 3], [32, 1, 1]);
        Run {
            head: HEAD,
            source: "",
            grid,
            threads,
            cluster: None,
            dynamic_shared: 0,
            more: Vec::new(),
            budget: 1 << 24,
            cooperative: false,
            dependent: false,
            strict: false,
            poisons: false,
            order: KernelOrder::Forward,
            resident_blocks: 4096,
            workers: 2,
            textures: Textures::default(),
            group: 0,
            unwritten: (0, 0),
        }
    }
}

impl Run<'_> {
    /// Executes the kernel with everything recorded. Other ways give the same results: without records on more cores, and
    /// without direct accesses or with undefined values followed on one core, which gives the same records too.
    fn over(&self, buffers: &mut [&mut [u64]]) -> Outcome {
        let before: Vec<Vec<u64>> = buffers.iter().map(|buffer| buffer.to_vec()).collect();
        let outcome = self.executed(buffers, Way::Recorded, self.workers);
        let again = |way: Way, workers: usize| {
            let mut copies = before.clone();
            let mut slices: Vec<&mut [u64]> = copies.iter_mut().map(Vec::as_mut_slice).collect();
            let other = self.executed(&mut slices, way, workers);
            let without_writers = |outcome: &Outcome| {
                // Only the search for races knows them.
                let mut fault = outcome.fault.clone();
                fault
                    .iter_mut()
                    .flat_map(|fault| &mut fault.waiting)
                    .for_each(|group| (group.writer, group.beside) = (None, None));
                fault
            };
            assert_eq!(without_writers(&other), without_writers(&outcome), "{way:?}");
            assert_eq!(other.printed, outcome.printed, "{way:?}");
            if outcome.fault.is_none() {
                assert_eq!(other.instructions, outcome.instructions, "{way:?}");
                // The results of a race may differ.
                let equal = copies.iter().zip(&*buffers).all(|(copy, buffer)| copy == buffer);
                assert!(equal || !outcome.races.is_empty(), "other results: {way:?}");
            }
            other
        };
        again(Way::Unrecorded, 8);
        again(Way::Generated, 8);
        // Blocks that race on several cores decide by their order which bytes are read first.
        let alone = (!outcome.races.is_empty()).then(|| again(Way::Recorded, 1));
        let Outcome { touched, before_wait, undefined, .. } = alone.as_ref().unwrap_or(&outcome);
        let lanes = again(Way::LaneByLane, 1);
        assert_eq!((&lanes.races, &lanes.misuses), (&outcome.races, &outcome.misuses), "lane by lane");
        assert_eq!((&lanes.touched, &lanes.before_wait), (touched, before_wait), "lane by lane");
        assert_eq!(&lanes.undefined, undefined, "lane by lane");
        let generated = again(Way::GeneratedRecorded, 1);
        assert_eq!((&generated.races, &generated.misuses), (&outcome.races, &outcome.misuses), "generated");
        assert_eq!((&generated.touched, &generated.before_wait), (touched, before_wait), "generated");
        assert_eq!(&generated.undefined, undefined, "generated");
        // Without optimization, a long launch would take minutes.
        if outcome.instructions > 1 << 24 {
            return outcome;
        }
        let followed = again(Way::Followed, 1);
        assert_eq!((&followed.races, &followed.misuses), (&outcome.races, &outcome.misuses), "followed");
        assert_eq!((&followed.touched, &followed.before_wait), (touched, before_wait), "followed");
        assert_eq!(&followed.undefined, undefined, "followed");
        outcome
    }

    fn executed(&self, buffers: &mut [&mut [u64]], way: Way, workers: usize) -> Outcome {
        let mut program = load_for(self.head, self.source).unwrap_or_else(|error| panic!("{error}"));
        if way == Way::LaneByLane {
            program.direct = false;
            program.compute_by_lanes();
        }
        if way == Way::Followed {
            (program.direct, program.follows) = (false, true);
        }
        let record = !matches!(way, Way::Unrecorded | Way::Generated);
        let regions: Vec<Region> = buffers
            .iter_mut()
            .enumerate()
            .map(|(index, buffer)| {
                let start = BASE + index as u64 * APART;
                let end = start + size_of_val(*buffer) as u64;
                Region { start, end, host: buffer.as_mut_ptr() as u64, writable: true, slack: 0, group: self.group }
            })
            .collect();
        let mut parameters: Vec<u64> = regions.iter().map(|region| region.start).collect();
        parameters.extend(&self.more);
        // The module's variables, one after another in a further buffer.
        let variables: u64 = program.variables.iter().map(|variable| variable.size.next_multiple_of(16)).sum();
        let mut storage = vec![0_u64; variables as usize / 8 + 2];
        let start = BASE + 100 * APART;
        let mut places = vec![0; program.variables.len()];
        let mut at = 0_u64;
        for (variable, place) in program.variables.iter().zip(&mut places) {
            *place = start + at;
            at += variable.size.next_multiple_of(16);
        }
        for (variable, place) in program.variables.iter().zip(&places) {
            let bytes = program.initial_bytes(variable, |number| places[number as usize]);
            for (index, byte) in bytes.iter().take(variable.size as usize).enumerate() {
                let place = (place - start) as usize + index;
                storage[place / 8] |= u64::from(*byte) << (place % 8 * 8);
            }
        }
        let mut regions = regions;
        let end = start + storage.len() as u64 * 8;
        regions.push(Region { start, end, host: storage.as_mut_ptr() as u64, writable: true, slack: 0, group: 0 });
        let constants = program.constants(|number| places[number as usize]);
        let kernels = &program.kernels;
        let kernel = *kernels.get("k").or(kernels.values().next()).expect("the source has a kernel");
        let words = program.parameter_bytes(kernel).div_ceil(8) as usize;
        assert!(words <= parameters.len(), "the kernel needs {words} words of parameters");
        let launch = Launch {
            program: &program,
            kernel,
            constants: &constants,
            grid: self.grid,
            threads: self.threads,
            cluster: self.cluster,
            dynamic_shared: self.dynamic_shared,
            parameters: &parameters,
            regions: &regions,
            aliases: &[],
            record,
            races: record,
            searched: u64::MAX,
            dependent: self.dependent && record,
            guesses: false,
            strict: self.strict,
            order: self.order,
            budget: self.budget,
            cooperative: self.cooperative,
            time: 0,
            clock_rate: 1_000_000,
            poisons: self.poisons,
            resident_warps: 48,
            multiprocessors: 20,
            resident_blocks: self.resident_blocks,
            number: 7,
            workers,
            code: match way {
                Way::Generated | Way::GeneratedRecorded => Code::Generated,
                _ => Code::Interpreted,
            },
            textures: &self.textures,
            service: &Memory(self.unwritten),
        };
        // SAFETY: the regions are the borrowed buffers and the storage, in ascending order.
        unsafe { execute(&launch) }
    }
}

/// Executes instructions for one thread. `%a`, `%b` and `%c` (64 bits each) are the inputs, and `%d` is the result.
fn computed(declarations: &str, body: &str, inputs: [u64; 3]) -> u64 {
    let source = format!(
        ".visible .entry k(.param .u64 out, .param .u64 p0, .param .u64 p1, .param .u64 p2) {{\n\
         .reg .b64 %a, %b, %c, %d, %out; {declarations}\n\
         ld.param.u64 %out, [out]; ld.param.u64 %a, [p0]; ld.param.u64 %b, [p1]; ld.param.u64 %c, [p2]; mov.u64 %d, 0;\n\
         {body}\n st.global.u64 [%out], %d; ret; }}"
    );
    let mut out = [0_u64; 1];
    let run = Run { source: &source, threads: [1, 1, 1], more: inputs.to_vec(), ..Run::default() };
    let outcome = run.over(&mut [&mut out]);
    assert_eq!(outcome.fault, None, "{body}");
    out[0]
}
