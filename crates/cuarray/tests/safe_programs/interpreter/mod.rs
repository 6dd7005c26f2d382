//! Executes the steps of a program.

mod arrays;
mod captures;
mod guards;

use crate::{
    foreign::{Foreign, Library},
    program::{Action, Step},
    rig::Shared,
    world::{Array, Guard, Slot},
};
use cuarray::{Context, Error, Owner, Result, Stream};
use cuarray_abi::CUresult;
use std::{
    panic::{self, AssertUnwindSafe},
    sync::Arc,
};

/// The number of elements of a new array.
const N: usize = 8;
const MOST_ARRAYS: usize = 12;

/// Entry points that a program may make fail.
pub const SYMBOLS: &[&str] = &[
    "cuEventRecord",
    "cuStreamWaitEvent",
    "cuEventCreate",
    "cuEventQuery",
    "cuStreamSynchronize",
    "cuStreamQuery",
    "cuStreamIsCapturing",
    "cuStreamGetId",
    "cuMemAlloc_v2",
    "cuMemAllocAsync",
    "cuMemFree_v2",
    "cuMemFreeAsync",
    "cuMemsetD8Async",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuLaunchKernel",
    "cuStreamCreate",
    "cuCtxPushCurrent_v2",
];

const CODES: [CUresult; 4] = [
    CUresult::CUDA_ERROR_OUT_OF_MEMORY,
    CUresult::CUDA_ERROR_UNKNOWN,
    CUresult::CUDA_ERROR_NOT_PERMITTED,
    CUresult::CUDA_ERROR_INVALID_VALUE,
];

/// The payload of a panic that a program asks for.
struct Intended;

struct Live {
    guard: Guard,
    /// The index of the array's slot, and its number.
    slot: u64,
    _stream: Arc<Stream>,
}

pub struct Interpreter<'r> {
    shared: &'r Shared,
    /// The contexts of the devices that the program uses.
    contexts: &'r [Context],
    // Guards before arrays: this is the order of their drops.
    guards: Vec<Live>,
    arrays: Vec<(u64, Slot)>,
    memories: Vec<Arc<Foreign>>,
    /// The streams of the program: those that it created, and then others.
    own: Vec<(Arc<Stream>, usize)>,
    others: Vec<Arc<Stream>>,
    captures: Vec<Arc<Stream>>,
    library: Arc<Library>,
    numbers: u64,
    has_faults: bool,
    has_captured: bool,
    /// Whether elements may stay acquired without a live guard.
    has_unreleased: bool,
    pub leaks_contexts: bool,
    pub freeing_failed: bool,
    pub failure: Option<String>,
}

impl<'r> Interpreter<'r> {
    pub fn new(shared: &'r Shared, devices: usize) -> Interpreter<'r> {
        let contexts = &shared.contexts[..devices];
        let own = contexts.iter().enumerate().flat_map(|(device, context)| {
            [Stream::non_blocking(context), Stream::new(context)].map(|stream| (Arc::new(stream.unwrap()), device))
        });
        let own: Vec<_> = own.collect();
        let defaults =
            contexts.iter().flat_map(|context| [Stream::legacy_default(context), Stream::per_thread_default(context)]);
        let mut others: Vec<_> = defaults.map(Arc::new).collect();
        // SAFETY: the owner keeps the stream. The default streams always exist.
        others.extend(unsafe {
            let driver = &shared.driver;
            let external = &own[0].0;
            let owner = Owner::new(external.clone());
            [
                Stream::from_raw(driver, external.handle(), Some(owner)),
                Stream::from_raw(driver, 1, None),
                Stream::from_raw(driver, 2, None),
            ]
            .map(Arc::new)
        });
        Interpreter {
            shared,
            contexts,
            guards: Vec::new(),
            arrays: Vec::new(),
            memories: Vec::new(),
            own,
            others,
            captures: Vec::new(),
            library: Arc::default(),
            numbers: 0,
            has_faults: false,
            has_captured: false,
            has_unreleased: false,
            leaks_contexts: false,
            freeing_failed: false,
            failure: None,
        }
    }

    /// Executes one step in the calling thread.
    pub fn step(&mut self, step: &Step) {
        let current = step.current.and_then(|device| self.contexts[device].push().ok());
        let action = panic::catch_unwind(AssertUnwindSafe(|| self.action(step.action)));
        drop(current);
        if let Err(payload) = action
            && !payload.is::<Intended>()
        {
            panic::resume_unwind(payload);
        }
    }

    /// Takes note of an error, and whether a correct library may return it.
    fn check<T>(&mut self, result: Result<T>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        self.check_error(&error);
        None
    }

    fn check_error(&mut self, error: &Error) {
        if self.has_faults {
            return;
        }
        if error.is_driver() {
            self.failure.get_or_insert(format!("a driver call failed: {error}"));
        }
        if error.is_already_acquired() && self.guards.is_empty() && !self.has_unreleased {
            self.failure.get_or_insert(format!("refused without a live guard: {error}"));
        }
    }

    fn pick<T: Clone>(of: &[T], slot: usize) -> Option<T> {
        (!of.is_empty()).then(|| of[slot % of.len()].clone())
    }

    fn stream(&self, slot: usize) -> Arc<Stream> {
        let slot = slot % (2 * self.own.len() + self.others.len());
        match slot.checked_sub(2 * self.own.len()) {
            Some(other) => self.others[other].clone(),
            None => self.own[slot % self.own.len()].0.clone(),
        }
    }

    fn device_of(&self, context: &Context) -> usize {
        self.contexts.iter().position(|known| known == context).unwrap_or(0)
    }

    fn push(&mut self, array: Array, device: usize) {
        self.push_over(array, device, None);
    }

    fn push_over(&mut self, array: Array, device: usize, memory: Option<&Arc<Foreign>>) {
        self.numbers += 1;
        self.arrays.push((self.numbers, Slot::new(array, device, memory)));
    }

    /// Adds an array over the memory of the array in a slot.
    fn push_part(&mut self, array: Array, whole: usize) {
        let slot = &self.arrays[whole].1;
        let (device, memory, is_rewrapped) = (slot.device, slot.memory(), slot.is_rewrapped);
        self.push_over(array, device, memory.as_ref());
        if let Some((_, part)) = self.arrays.last_mut() {
            part.is_rewrapped = is_rewrapped;
        }
    }

    /// Whether the array in a slot shares memory with an array of another home stream.
    fn is_shared(&self, index: usize) -> bool {
        let slot = &self.arrays[index].1;
        let Some(memory) = slot.memory() else { return slot.is_rewrapped };
        let users = self.arrays.iter().filter(|(_, slot)| slot.is_over(&memory));
        users.count() > 1
    }

    /// Waits for all work.
    fn wait_for_all(&self) {
        self.contexts.iter().for_each(|context| persist(|| context.synchronize()));
    }

    fn array(&self, slot: usize) -> Option<usize> {
        (!self.arrays.is_empty()).then(|| slot % self.arrays.len())
    }

    fn guard(&self, slot: usize) -> Option<usize> {
        (!self.guards.is_empty()).then(|| slot % self.guards.len())
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each action")]
    fn action(&mut self, action: Action) -> Option<()> {
        match action {
            Action::Stream { blocking, device } => {
                let device = device % self.contexts.len();
                let context = &self.contexts[device];
                let stream = if blocking { Stream::new(context) } else { Stream::non_blocking(context) };
                let stream = self.check(stream)?;
                self.own.push((Arc::new(stream), device));
            }
            Action::DropStream(slot) => {
                if self.own.len() > 1 {
                    let index = slot % self.own.len();
                    drop(self.own.remove(index));
                }
            }
            Action::Create { fill, stream } => self.create(fill, stream)?,
            Action::Derive { array, part } => self.derive(array, part)?,
            Action::FromOwner { of, home } => self.owned(of, home)?,
            Action::Rewrap { array, home, by_guard } => self.rewrap(array, home, by_guard)?,
            Action::View { of, names } => self.view(of, names)?,
            Action::Exchange { array, with_event } => self.exchange(array, with_event)?,
            Action::Typed(array) => self.typed(array)?,
            Action::DropArray(array) => {
                let index = self.array(array)?;
                self.arrays[index].1.is_free().then_some(())?;
                self.drop_array(index)?;
            }
            Action::DropMemory(memory) => {
                (!self.memories.is_empty()).then_some(())?;
                let index = memory % self.memories.len();
                drop(self.memories.swap_remove(index));
            }
            Action::Acquire { array, stream, writes, launches } => self.acquire(array, stream, writes, launches)?,
            Action::With { array, stream } => {
                let (index, stream, shared) = (self.array(array)?, self.stream(stream), self.shared);
                let result = self.arrays[index].1.with_mut(&stream, shared)?;
                self.has_unreleased |= self.has_captured;
                self.check(result)?;
            }
            Action::Launch { guard, wrong_stream } => {
                let index = self.guard(guard)?;
                let stream = wrong_stream.map(|slot| self.stream(slot));
                self.launch(index, stream)?;
            }
            Action::Copy { from, to } => self.copy(from, to)?,
            Action::ToHost(array) => {
                let index = self.array(array)?;
                let result = match self.arrays[index].1.get()? {
                    Array::Typed(array) => array.to_host().map(drop),
                    _ => return None,
                };
                self.check(result)?;
            }
            Action::GuardToHost(guard) => {
                let index = self.guard(guard)?;
                let result = self.guards[index].guard.copy_to_host()?;
                self.check(result)?;
            }
            Action::GuardFromHost(guard) => {
                let index = self.guard(guard)?;
                let result = self.guards[index].guard.copy_from_host()?;
                self.check(result)?;
            }
            Action::End { guard, end } => self.end(guard, end)?,
            Action::Record { array, stream } => self.record(array, stream)?,
            Action::BeginCapture(slot) => self.begin_capture(slot)?,
            Action::EndCapture { capture, launches } => self.end_capture(capture, launches)?,
            Action::Fail { symbol, code } => {
                let symbol = SYMBOLS[symbol % SYMBOLS.len()];
                self.has_faults = true;
                self.freeing_failed |= symbol.starts_with("cuMemFree") || symbol == "cuCtxPushCurrent_v2";
                self.shared.sim.fail_next(symbol, CODES[code % CODES.len()]).unwrap();
            }
            Action::SynchronizeStream(slot) => {
                let stream = self.stream(slot);
                let result = cuarray::sync::synchronize(&stream);
                self.check(result)?;
            }
            Action::SynchronizeContext(slot) => {
                (self.captures.is_empty()).then_some(())?;
                let context = Self::pick(self.contexts, slot)?;
                let result = context.synchronize();
                self.check(result)?;
            }
            Action::Reclaim { waits } => {
                self.shared.driver.reclaim(waits);
            }
        }
        Some(())
    }

    /// Ends the program: drops all objects, waits for all work, and reclaims.
    pub fn finish(&mut self, captures_end_last: bool) {
        if !captures_end_last {
            while self.end_capture(0, false).is_some() || !self.captures.is_empty() {}
        }
        while !self.guards.is_empty() {
            drop(self.take(0));
        }
        self.arrays.clear();
        self.memories.clear();
        while self.end_capture(0, false).is_some() || !self.captures.is_empty() {}
        self.own.clear();
        self.others.clear();
        let shared = self.shared;
        self.contexts.iter().for_each(|context| persist(|| context.synchronize()));
        // An injected failure can spoil one attempt.
        for _ in 0..3 {
            shared.driver.reclaim(true);
        }
        self.contexts.iter().for_each(|context| persist(|| context.synchronize()));
        self.library.kept.lock().unwrap().clear();
        shared.contexts.iter().for_each(|context| persist(|| context.synchronize()));
        while let Some(error) = shared.driver.take_drop_error() {
            if !self.has_faults && !error.is_unsupported() {
                self.failure.get_or_insert(format!("a drop failed: {error}"));
            }
        }
    }
}

impl Drop for Interpreter<'_> {
    fn drop(&mut self) {
        while !self.guards.is_empty() {
            drop(self.take(0));
        }
    }
}

/// Repeats a call that an injected failure may hit.
fn persist(mut call: impl FnMut() -> Result<()>) {
    for _ in 0..50 {
        if call().is_ok() {
            return;
        }
    }
}
