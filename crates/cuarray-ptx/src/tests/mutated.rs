//! Malformed PTX: thousands of mutated modules of real compilers.
//!
//! Loading returns a program or an error, and every loaded kernel can be launched. Neither crashes or hangs, and a
//! kernel that does not end stops with a fault.

use super::random::cases;
use super::*;
use crate::Image;
use crate::load as load_image;
use crate::texture::Textures;

/// Modules of real compilers. From numba-cuda: a matrix product, `print` with local memory, `sin`, `exp` and `pow`,
/// and a debug build. From NVRTC: reductions, virtual functions and recursion. The others are kernels of the
/// differential tests.
const MODULES: [&str; 9] = [
    include_str!("modules/matmul.ptx"),
    include_str!("modules/local.ptx"),
    include_str!("modules/sincos.ptx"),
    include_str!("modules/dbg.ptx"),
    include_str!("modules/nvrtc.ptx"),
    include_str!("modules/families.ptx"),
    include_str!("modules/memory.ptx"),
    include_str!("modules/threads.ptx"),
    include_str!("modules/shapes.ptx"),
];

/// Texts to insert.
const PIECES: [&str; 24] = [
    "",
    ";",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    "@%p1 ",
    "%r1",
    "%rd1",
    "0xffffffffffffffff",
    "-1",
    ".v4",
    ".f64",
    ".pred",
    "bra ",
    "ret;",
    "call ",
    ".shared ",
    "4294967296",
    "bar.sync 0;",
    "\u{0}",
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// Mutates a module: removes, inserts, duplicates or swaps pieces, or changes numbers.
fn mutated(source: &str, random: &mut Random) -> String {
    let mut pieces: Vec<&str> = source.split_inclusive([' ', '\t', '\n', ',', ';', '.', '[', ']', '+']).collect();
    let changes = if random.below(3) == 0 { 1 + random.below(4) } else { 1 };
    for _ in 0..changes {
        let at = random.below(pieces.len());
        match random.below(8) {
            0 => drop(pieces.remove(at)),
            1 => pieces.insert(at, PIECES[random.below(PIECES.len())]),
            2 => pieces[at] = PIECES[random.below(PIECES.len())],
            3 => {
                let other = random.below(pieces.len());
                pieces.swap(at, other);
            }
            4 => pieces.insert(at, pieces[random.below(pieces.len())]),
            // A register, label or number of another instruction most often yields a module that loads.
            _ => {
                let alike = |piece: &&str| piece.get(..2) == pieces[at].get(..2);
                let others: Vec<&str> = pieces.iter().copied().filter(alike).collect();
                pieces[at] = others[random.below(others.len())];
            }
        }
        if pieces.is_empty() {
            break;
        }
    }
    let mut text = pieces.concat();
    if random.below(20) == 0 {
        let mut end = random.below(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}

/// Launches a kernel over a buffer; its parameters are addresses of the buffer, or numbers.
fn launch(program: &Program, kernel: u32) {
    let mut buffer = vec![1_u64; 512];
    let end = BASE + 4096;
    let mut regions =
        vec![Region { start: BASE, end, host: buffer.as_mut_ptr() as u64, writable: true, slack: 0, group: 0 }];
    let size: u64 = program.variables.iter().map(|variable| variable.size.min(1 << 20).next_multiple_of(16)).sum();
    let mut storage = vec![0_u64; size as usize / 8 + 2];
    let start = BASE + APART;
    let host = storage.as_mut_ptr() as u64;
    regions.push(Region { start, end: start + size + 16, host, writable: true, slack: 0, group: 0 });
    let constants = program.constants(|_| start);
    let words = program.parameter_bytes(kernel).div_ceil(8) as usize;
    let parameters: Vec<u64> = (0..words).map(|index| if index % 7 == 4 { BASE } else { 8 }).collect();
    let launch = Launch {
        program,
        kernel,
        constants: &constants,
        grid: [2, 1, 1],
        threads: [33, 2, 1],
        cluster: Some([2, 1, 1]),
        dynamic_shared: 64,
        parameters: &parameters,
        regions: &regions,
        aliases: &[],
        races: true,
        dependent: true,
        searched: u64::MAX,
        guesses: false,
        strict: false,
        order: crate::KernelOrder::Forward,
        record: true,
        budget: 20_000,
        cooperative: false,
        time: 0,
        clock_rate: 1_000_000,
        poisons: false,
        resident_warps: 64,
        multiprocessors: 132,
        resident_blocks: 4096,
        number: 1,
        workers: 2,
        code: crate::Code::Interpreted,
        textures: Textures::NONE,
        service: &crate::NoService,
    };
    // SAFETY: the regions are the two buffers above, in ascending order.
    unsafe { execute(&launch) };
}

/// Loads and launches mutated modules; equal seeds give equal modules.
fn load_and_launch(seed: u64, rounds: usize) {
    let mut random = Random(seed);
    let (mut loaded, mut refused) = (0, 0);
    for round in 0..rounds {
        let source = MODULES[round % MODULES.len()];
        let text = mutated(source, &mut random);
        let image = Image { modules: vec![(String::new(), text)], ..Image::default() };
        match load_image(&image) {
            Ok(program) => {
                loaded += 1;
                // A module that declares gigabytes is valid, but cannot be loaded into a context.
                if program.shared < 1 << 20 {
                    program.kernels.values().for_each(|kernel| launch(&program, *kernel));
                }
            }
            Err(error) => {
                refused += 1;
                assert!(error.line > 0 && !error.message.is_empty(), "{error}");
            }
        }
    }
    // Both outcomes must occur, or the test would check only one of them.
    assert!(loaded > rounds / 12 && refused > rounds / 12, "{loaded} loaded, {refused} refused");
}

#[test]
fn changed_modules_never_crash() {
    load_and_launch(0x2545_f491_4f6c_dd1d, cases(1800) as usize);
}

/// Run explicitly: `cargo test --release -p cuarray-ptx --lib -- --ignored changed_modules`.
#[test]
#[ignore = "takes minutes"]
fn changed_modules_never_crash_for_long() {
    let seed =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    println!("seed {seed}");
    load_and_launch(seed | 1, 200_000);
}

#[test]
fn real_modules_load() {
    for source in MODULES {
        let image = Image { modules: vec![(String::new(), source.to_owned())], ..Image::default() };
        let program = load_image(&image).unwrap_or_else(|error| panic!("{error}"));
        program.kernels.values().for_each(|kernel| launch(&program, *kernel));
    }
}
