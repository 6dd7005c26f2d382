//! Programs: sequences of steps, drawn from a seed.

/// A generator of random numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A number that selects an object. The interpreter takes it modulo the number of objects of the needed kind.
    fn slot(&mut self) -> usize {
        self.below(60)
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

/// The thread that executes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum In {
    Main,
    /// A second thread, which lives as long as the driver.
    Helper,
    /// A thread that ends with the step.
    Fresh,
}

/// The contents of a new array.
#[derive(Clone, Copy, Debug)]
pub enum Fill {
    Empty,
    Zeros,
    Full,
    FromHost,
}

/// Another array over the same memory.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Clone,
    Slice(usize),
    Transposed,
    Reshaped,
    Broadcast,
}

/// The stream that a view names.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    Nothing,
    Stream(usize),
    LegacyDefault,
    PerThreadDefault,
}

/// The memory of a view.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    New,
    NewStreamOrdered(usize),
    Existing(usize),
}

/// The end of a guard.
#[derive(Clone, Copy, Debug)]
pub enum End {
    Release,
    Drop,
    Forget,
    /// The guard owns a reference to itself.
    Cycle,
    /// A panic unwinds past the guard.
    Panic,
}

/// The action of a step. A `usize` selects an object, modulo the number of existing objects of that kind. If there is none, the step does
/// nothing.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    Stream {
        blocking: bool,
        device: usize,
    },
    DropStream(usize),
    Create {
        fill: Fill,
        stream: usize,
    },
    Derive {
        array: usize,
        part: Part,
    },
    FromOwner {
        of: Of,
        home: Option<usize>,
    },
    /// A second array over the memory of an array that lives, with its own home stream. A clone of the first array is the owner.
    Rewrap {
        array: usize,
        home: Option<usize>,
        /// Whether the address comes from a guard, and not from the array's interface.
        by_guard: bool,
    },
    View {
        of: Of,
        names: Names,
    },
    /// A view of an array by way of a C structure.
    Exchange {
        array: usize,
        with_event: bool,
    },
    Typed(usize),
    DropArray(usize),
    DropMemory(usize),
    Acquire {
        array: usize,
        stream: usize,
        writes: bool,
        launches: bool,
    },
    /// Launches a kernel in a scope with a guard for writing.
    With {
        array: usize,
        stream: usize,
    },
    Launch {
        guard: usize,
        wrong_stream: Option<usize>,
    },
    Copy {
        from: usize,
        to: usize,
    },
    ToHost(usize),
    GuardToHost(usize),
    GuardFromHost(usize),
    End {
        guard: usize,
        end: End,
    },
    Record {
        array: usize,
        stream: usize,
    },
    BeginCapture(usize),
    EndCapture {
        capture: usize,
        launches: bool,
    },
    Fail {
        symbol: usize,
        code: usize,
    },
    SynchronizeStream(usize),
    SynchronizeContext(usize),
    Reclaim {
        waits: bool,
    },
}

/// One step: an action, its thread, and the device whose context is current.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub action: Action,
    pub thread: In,
    pub current: Option<usize>,
}

/// The features that a program may use. Most programs use few, so that a failing program is small.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    pub devices: usize,
    pub faults: bool,
    pub captures: bool,
    pub threads: bool,
}

impl Program {
    /// The features of the program with a seed.
    pub fn of(seed: u64) -> Program {
        let mut random = Random::new(!seed);
        Program {
            devices: 1 + usize::from(random.one_in(4)),
            faults: random.one_in(6),
            captures: random.one_in(3),
            threads: random.one_in(3),
        }
    }

    /// The steps of the program with a seed.
    pub fn steps(&self, seed: u64) -> Vec<Step> {
        let mut random = Random::new(seed);
        let count = 5 + random.below(16);
        (0..count)
            .map(|_| Step {
                action: self.action(&mut random),
                thread: match random.below(12) {
                    0 | 1 if self.threads => In::Helper,
                    2 if self.threads => In::Fresh,
                    _ => In::Main,
                },
                current: random.one_in(6).then(|| random.below(self.devices)),
            })
            .collect()
    }

    fn action(&self, random: &mut Random) -> Action {
        if self.faults && random.one_in(6) {
            return Action::Fail { symbol: random.slot(), code: random.slot() };
        }
        if self.captures && random.one_in(6) {
            return match random.one_in(2) {
                true => Action::BeginCapture(random.slot()),
                false => Action::EndCapture { capture: random.slot(), launches: random.one_in(2) },
            };
        }
        match random.below(100) {
            0..2 => Action::Stream { blocking: random.one_in(2), device: random.slot() },
            2..5 => Action::DropStream(random.slot()),
            5..14 => Action::Create {
                fill: [Fill::Empty, Fill::Zeros, Fill::Full, Fill::FromHost][random.below(4)],
                stream: random.slot(),
            },
            14..22 => Action::Derive {
                array: random.slot(),
                part: match random.below(6) {
                    0 => Part::Clone,
                    1 => Part::Transposed,
                    2 => Part::Reshaped,
                    3 => Part::Broadcast,
                    _ => Part::Slice(random.slot()),
                },
            },
            22..24 => Action::FromOwner { of: of(random), home: random.one_in(2).then(|| random.slot()) },
            24..26 => Action::Rewrap {
                array: random.slot(),
                home: (!random.one_in(3)).then(|| random.slot()),
                by_guard: random.one_in(2),
            },
            26..34 => Action::View {
                of: of(random),
                names: match random.below(6) {
                    0..2 => Names::Nothing,
                    2..4 => Names::Stream(random.slot()),
                    4 => Names::LegacyDefault,
                    _ => Names::PerThreadDefault,
                },
            },
            34..37 => Action::Exchange { array: random.slot(), with_event: random.one_in(2) },
            37..39 => Action::Typed(random.slot()),
            39..48 => Action::DropArray(random.slot()),
            48..51 => Action::DropMemory(random.slot()),
            51..54 => Action::With { array: random.slot(), stream: random.slot() },
            54..72 => Action::Acquire {
                array: random.slot(),
                stream: random.slot(),
                writes: !random.one_in(3),
                launches: !random.one_in(4),
            },
            72..76 => Action::Launch { guard: random.slot(), wrong_stream: random.one_in(6).then(|| random.slot()) },
            76..78 => Action::Copy { from: random.slot(), to: random.slot() },
            78..80 => Action::ToHost(random.slot()),
            80 => Action::GuardToHost(random.slot()),
            81 => Action::GuardFromHost(random.slot()),
            82..94 => Action::End {
                guard: random.slot(),
                end: match random.below(12) {
                    0..5 => End::Release,
                    5..8 => End::Drop,
                    8..10 => End::Forget,
                    10 => End::Cycle,
                    _ => End::Panic,
                },
            },
            94..96 => Action::Record { array: random.slot(), stream: random.slot() },
            96 => Action::SynchronizeStream(random.slot()),
            97 => Action::SynchronizeContext(random.slot()),
            _ => Action::Reclaim { waits: random.one_in(3) },
        }
    }
}

fn of(random: &mut Random) -> Of {
    match random.below(4) {
        0 => Of::New,
        1 => Of::NewStreamOrdered(random.slot()),
        _ => Of::Existing(random.slot()),
    }
}
