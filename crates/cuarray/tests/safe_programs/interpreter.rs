//! Executes the steps of a program.

use super::{
    driver_fixture::entry,
    foreign::{Foreign, Library, Named, is_capturing},
    program::{Action, End, Fill, Names, Of, Part, Step},
    rig::Shared,
    world::{Array, Guard, Slot, described},
};
use cuarray::{
    CArray, Context, DeviceArray, Error, Event, Interface, IxDyn, Layout, Owner, RawDeviceArray, RawView, Result,
    Stream, StreamEntry, TypeStr,
    c_interface::Described,
    driver::Allocation,
    kernel::LaunchConfig,
    s,
    sync::Access,
};
use cuarray_abi::{CU_STREAM_CAPTURE_MODE_RELAXED, CUgraph, CUgraphExec, CUresult, CUstream};
use std::{
    num::NonZeroUsize,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, atomic::Ordering::Relaxed},
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
    pub executed: usize,
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
            executed: 0,
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
            Ok(value) => {
                self.executed += 1;
                return Some(value);
            }
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
        self.arrays.push((self.numbers, Slot::new(array, device, memory.map(Arc::downgrade))));
    }

    /// Whether the array in a slot shares another library's memory with another slot.
    fn is_shared(&self, index: usize) -> bool {
        let Some(memory) = &self.arrays[index].1.memory else { return false };
        let users = self.arrays.iter().filter(|(_, slot)| slot.memory.as_ref().is_some_and(|of| of.ptr_eq(memory)));
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
            Action::FromOwner { of, home } => self.from_owner(of, home)?,
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
                let context = Self::pick(&self.contexts, slot)?;
                let result = context.synchronize();
                self.check(result)?;
            }
            Action::Reclaim { waits } => {
                self.shared.driver.reclaim(waits);
            }
        }
        Some(())
    }

    /// Drops an array. The guards of other arrays over its memory are ordered with its work as long as it lives, so the other library
    /// waits for that work.
    fn drop_array(&mut self, index: usize) -> Option<()> {
        let is_shared = self.is_shared(index);
        (!is_shared || self.captures.is_empty()).then_some(())?;
        drop(self.arrays.swap_remove(index));
        if is_shared {
            self.wait_for_all();
        }
        Some(())
    }

    fn create(&mut self, fill: Fill, stream: usize) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        let stream = self.stream(stream);
        let array = match fill {
            Fill::Empty => DeviceArray::<u32, _>::empty([N], &stream),
            Fill::Zeros => DeviceArray::zeros([N], &stream),
            Fill::Full => DeviceArray::full([N], 7, &stream),
            Fill::FromHost => DeviceArray::from_host(&[3; N], [N], &stream),
        };
        let array = self.check(array)?;
        let context = array.home_stream().and_then(|home| home.context().ok().flatten());
        let device = context.map_or(0, |context| self.device_of(&context));
        self.push(Array::Typed(array.into_dimensionality().unwrap()), device);
        Some(())
    }

    fn derive(&mut self, array: usize, part: Part) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        let index = self.array(array)?;
        let slot = &self.arrays[index].1;
        let device = slot.device;
        let array = match slot.get()? {
            Array::Typed(array) => array,
            Array::Raw(array) => {
                let clone = array.clone();
                self.push(Array::Raw(clone), device);
                return Some(());
            }
            Array::View(_) | Array::TypedView(_) => return None,
        };
        let length = array.shape().last().copied().unwrap_or(1);
        let derived: Result<DeviceArray<u32, IxDyn>> = match (part, array.ndim()) {
            (Part::Clone, _) => Ok(array.clone()),
            (Part::Transposed, _) => Ok(array.t()),
            (Part::Reshaped, 1) => {
                array.reshape([2, length / 2]).and_then(DeviceArray::into_dimensionality)
            }
            (Part::Reshaped, _) => array.reshape([array.len()]).and_then(DeviceArray::into_dimensionality),
            (Part::Broadcast, 1) => array.broadcast([2, length]).and_then(DeviceArray::into_dimensionality),
            (Part::Broadcast, _) => Ok(array.clone()),
            (Part::Slice(how), 1) => match how % 6 {
                0 => array.slice(s![2..]),
                1 => array.slice(s![..4]),
                2 => array.slice(s![..;2]),
                3 => array.slice(s![1..;2]),
                4 => array.slice(s![..;-1]),
                _ => array.slice(s![4..]),
            }
            .and_then(DeviceArray::into_dimensionality),
            (Part::Slice(how), _) => match how % 3 {
                0 => array.slice(s![0, ..]),
                1 => array.slice(s![.., 1]),
                _ => array.slice(s![1, ..]),
            }
            .and_then(DeviceArray::into_dimensionality),
        };
        let derived = self.check(derived)?;
        self.push(Array::Typed(derived), device);
        Some(())
    }

    /// Memory of the other library, new or old.
    fn memory(&mut self, of: Of) -> Option<Arc<Foreign>> {
        let library = self.library.clone();
        let memory = match of {
            Of::Existing(slot) if !self.memories.is_empty() => return Self::pick(&self.memories, slot),
            Of::New | Of::Existing(_) => {
                let device = self.numbers as usize % self.contexts.len();
                let memory = Allocation::device(&self.contexts[device], 4 * N);
                Foreign::new(self.check(memory)?, None, device, library)
            }
            Of::NewStreamOrdered(slot) => {
                let (stream, device) = Self::pick(&self.own, slot)?;
                (!is_capturing(&stream)).then_some(())?;
                let memory = Allocation::stream_ordered(&stream, 4 * N);
                Foreign::new(self.check(memory)?, Some(stream), device, library)
            }
        };
        let memory = Arc::new(memory);
        self.memories.push(memory.clone());
        Some(memory)
    }

    fn from_owner(&mut self, of: Of, home: Option<usize>) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        // An array over another library's memory has it alone.
        let of = match of {
            Of::Existing(_) => Of::New,
            new => new,
        };
        let memory = self.memory(of)?;
        self.memories.pop();
        let home = match home {
            Some(slot) => Some(Self::pick(&self.own, slot)?.0),
            None => None,
        };
        memory.name(home.clone().map(Named::Stream)).ok()?;
        let context = &self.contexts[memory.device];
        let interface = interface(memory.memory().device_ptr());
        let owner = Owner::new(memory.clone());
        // SAFETY: the owner keeps the memory.
        let array = unsafe { RawDeviceArray::from_owner(context, interface, owner, home.as_deref()) };
        let device = memory.device;
        let array = self.check(array)?;
        self.push(Array::Raw(array), device);
        Some(())
    }

    fn view(&mut self, of: Of, names: Names) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        let memory = self.memory(of)?;
        let device = memory.device;
        // An earlier view may have been dropped whose work is pending, and whose release is deferred.
        if matches!(of, Of::Existing(_)) && !self.arrays.iter().any(|(_, slot)| slot.is_over(&memory)) {
            self.captures.is_empty().then_some(())?;
            self.wait_for_all();
        }
        let context = &self.contexts[device];
        let (entry, named) = match names {
            Names::Nothing => (StreamEntry::None, None),
            Names::Stream(slot) => {
                let stream = Self::pick(&self.own, slot)?.0;
                (entry(&stream), Some(Named::Stream(stream)))
            }
            Names::LegacyDefault => {
                (StreamEntry::LegacyDefault, Some(Named::Stream(Arc::new(Stream::legacy_default(context)))))
            }
            Names::PerThreadDefault => (StreamEntry::PerThreadDefault, Some(Named::PerThread(context.clone()))),
        };
        memory.name(named).ok()?;
        let interface = interface(memory.memory().device_ptr()).with_stream(entry);
        // SAFETY: the owner keeps the memory and its streams.
        let view = unsafe { RawView::new(&self.shared.driver, interface, Some(Owner::new(memory.clone()))) };
        let view = self.check(view)?;
        self.push_over(Array::View(view), device, Some(&memory));
        Some(())
    }

    fn exchange(&mut self, array: usize, with_event: bool) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        let index = self.array(array)?;
        let slot = &self.arrays[index].1;
        let device = slot.device;
        let array = match slot.get()? {
            Array::Typed(array) => array.as_raw().clone(),
            Array::Raw(array) => array.clone(),
            Array::View(_) | Array::TypedView(_) => return None,
        };
        // An array without a home stream has no stream to name.
        let home = array.home_stream()?.clone();
        let mut described = Described::from(array.interface().clone());
        let mut event = None;
        if with_event && !is_capturing(&home) && home.handle() != 2 {
            let context = self.check(home.work_context())?;
            let recorded = self.check(Event::new(&context, false))?;
            let result = recorded.record(&home);
            self.check(result)?;
            described.event = NonZeroUsize::new(recorded.handle());
            described.device = Some(device as i32);
            event = Some(recorded);
        }
        let exported = CArray::new(described, Some(Owner::new(Arc::new((array, home, event)))));
        let exported = self.check(exported)?;
        // SAFETY: the owner keeps the array, its home stream and the event.
        let view = unsafe { exported.into_view(&self.shared.driver) };
        let view = self.check(view)?;
        self.push(Array::View(view), device);
        Some(())
    }

    fn typed(&mut self, array: usize) -> Option<()> {
        let index = self.array(array)?;
        let slot = &mut self.arrays[index].1;
        slot.is_free().then_some(())?;
        slot.replace(|array| match array {
            Array::View(view) => Array::TypedView(view.typed().unwrap()),
            Array::Raw(array) => Array::Typed(array.typed().unwrap()),
            other => other,
        });
        Some(())
    }

    fn acquire(&mut self, array: usize, stream: usize, writes: bool, launches: bool) -> Option<()> {
        let index = self.array(array)?;
        let stream = self.stream(stream);
        let (number, slot) = &mut self.arrays[index];
        let number = *number;
        // SAFETY: guards are dropped before their arrays, see `Drop` and `Interpreter::finish`.
        let guard = unsafe { slot.acquire(&stream, writes) }?;
        let guard = self.check(guard)?;
        self.guards.push(Live { guard, slot: number, _stream: stream });
        if launches {
            self.launch(self.guards.len() - 1, None)?;
        }
        Some(())
    }

    fn launch(&mut self, index: usize, wrong_stream: Option<Arc<Stream>>) -> Option<()> {
        let shared = self.shared;
        let guard = &mut self.guards[index].guard;
        let stream = wrong_stream.map_or_else(|| guard.stream().clone(), |stream| (*stream).clone());
        let context = stream.context();
        let kernels = shared.kernels(&self.check(context)??)?;
        let launched = self.guards[index].guard.launch(kernels, &stream);
        self.check(launched)
    }

    fn copy(&mut self, from: usize, to: usize) -> Option<()> {
        let (from, to) = (self.guard(from)?, self.guard(to)?);
        (from != to && !self.guards[from].guard.is_empty() && !self.guards[to].guard.is_empty()).then_some(())?;
        let context = self.guards[to].guard.stream().context();
        let kernels = self.shared.kernels(&self.check(context)??)?;
        let (first, second) = self.guards.split_at_mut(from.max(to));
        let (from, to) = match from < to {
            true => (&mut first[from], &mut second[0]),
            false => (&mut second[0], &mut first[to]),
        };
        let copied = to.guard.copy_first(&from.guard, kernels);
        self.check(copied)
    }

    /// Takes a guard out, after whose end the array is no longer borrowed.
    fn take(&mut self, index: usize) -> Live {
        let live = self.guards.swap_remove(index);
        if let Some((_, slot)) = self.arrays.iter_mut().find(|(number, _)| *number == live.slot) {
            slot.ended(live.guard.writes());
        }
        live
    }

    fn end(&mut self, guard: usize, end: End) -> Option<()> {
        let index = self.guard(guard)?;
        let Live { guard, _stream, .. } = self.take(index);
        // The end may fail during a capture, and the array then stays acquired.
        self.has_unreleased |= self.has_captured;
        match end {
            End::Release => {
                let released = guard.release();
                self.check(released)?;
            }
            End::Drop => drop(guard),
            End::Forget | End::Cycle => {
                self.has_unreleased = true;
                // A default stream without a context resolves to one that the guard owns.
                self.leaks_contexts |= guard.stream().handle() <= 2;
                match end {
                    End::Forget => guard.forget(),
                    _ => guard.leak_in_cycle(),
                }
            }
            End::Panic => {
                let _guard = guard;
                panic::resume_unwind(Box::new(Intended));
            }
        }
        Some(())
    }

    /// Enqueues work in a stream without a guard, and records it.
    fn record(&mut self, array: usize, stream: usize) -> Option<()> {
        let index = self.array(array)?;
        let stream = self.stream(stream);
        (!is_capturing(&stream)).then_some(())?;
        let slot = &mut self.arrays[index].1;
        // SAFETY: the guard ends in this function.
        let guard = unsafe { slot.acquire(&stream, true) }?;
        if guard.is_ok() {
            slot.ended(true);
        }
        // The work is ordered after all earlier work in the stream of the guard.
        let guard = self.check(guard)?;
        let on = guard.stream().clone();
        let released = guard.release();
        let released = self.check(released);
        let context = on.context();
        let kernels = self.shared.kernels(&self.check(context)??)?;
        let array = match self.arrays[index].1.get()? {
            Array::Typed(array) => array.as_raw().clone(),
            Array::Raw(array) => array.clone(),
            Array::View(_) | Array::TypedView(_) => return None,
        };
        released?;
        let (count, (columns, down, right)) = described(array.interface().layout());
        (count != 0).then_some(())?;
        let config = LaunchConfig::new([1, 1, 1], [count, 1, 1]);
        let arguments = (array.interface().data(), columns, down, right, 2u32);
        // SAFETY: the kernel writes the elements. Its stream has waited for the earlier work, and later work waits for it, or the host
        // does.
        let launched = unsafe { kernels.set.launch(&on, config, arguments) };
        self.check(launched)?;
        if let Err(error) = array.record_stream(&on, Access::Write) {
            self.check_error(&error);
            persist(|| on.synchronize());
        }
        Some(())
    }

    fn begin_capture(&mut self, slot: usize) -> Option<()> {
        let stream = Self::pick(&self.own, slot)?.0;
        (self.captures.len() < 2 && !is_capturing(&stream)).then_some(())?;
        let context = stream.work_context().ok()?;
        let _current = context.push().ok()?;
        let begin = self.shared.driver.api().cuStreamBeginCapture_v2.unwrap();
        // SAFETY: the stream is alive.
        let begun = unsafe { begin(CUstream(stream.handle()), CU_STREAM_CAPTURE_MODE_RELAXED) };
        begun.is_success().then_some(())?;
        self.has_captured = true;
        self.captures.push(stream);
        self.library.captures.store(self.captures.len(), Relaxed);
        Some(())
    }

    fn end_capture(&mut self, capture: usize, launches: bool) -> Option<()> {
        (!self.captures.is_empty()).then_some(())?;
        let index = capture % self.captures.len();
        let stream = self.captures.swap_remove(index);
        let graph = self.end_capture_of(&stream);
        self.library.captures.store(self.captures.len(), Relaxed);
        let graph = graph?;
        // The launching program orders the graph: after all earlier work, and before all later work.
        let is_alone = self.captures.is_empty() && !self.has_faults;
        if launches && is_alone {
            self.contexts.iter().for_each(|context| persist(|| context.synchronize()));
            self.launch_graph(graph, &stream);
        } else {
            // SAFETY: the graph has not been destroyed.
            assert!(unsafe { self.shared.driver.api().cuGraphDestroy.unwrap()(graph) }.is_success());
        }
        Some(())
    }

    fn end_capture_of(&mut self, stream: &Stream) -> Option<CUgraph> {
        let mut graph = CUgraph::NULL;
        let mut context = stream.work_context();
        persist(|| {
            context = stream.work_context();
            context.as_ref().map(drop).map_err(|error| Error::argument(error.to_string()))
        });
        let context = context.unwrap();
        let mut current = context.push();
        while current.is_err() {
            current = context.push();
        }
        // SAFETY: the stream is alive; the driver writes one handle.
        let ended =
            unsafe { self.shared.driver.api().cuStreamEndCapture.unwrap()(CUstream(stream.handle()), &mut graph) };
        if !ended.is_success() && !self.has_faults {
            self.failure.get_or_insert(format!("the capture was invalidated: {ended:?}"));
        }
        (ended.is_success()).then_some(graph)
    }

    fn launch_graph(&mut self, graph: CUgraph, stream: &Stream) {
        let api = self.shared.driver.api();
        let context = stream.work_context().unwrap();
        let _current = context.push().unwrap();
        let mut exec = CUgraphExec::NULL;
        // SAFETY: the graph and the stream are alive; the driver writes one handle. The graph's work is ordered by host waits.
        unsafe {
            assert!(api.cuGraphInstantiateWithFlags.unwrap()(&mut exec, graph, 0).is_success());
            assert!(api.cuGraphDestroy.unwrap()(graph).is_success());
            assert!(api.cuGraphLaunch.unwrap()(exec, CUstream(stream.handle())).is_success());
        }
        stream.synchronize().unwrap();
        // SAFETY: the graph's work is done.
        assert!(unsafe { api.cuGraphExecDestroy.unwrap()(exec) }.is_success());
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

fn interface(data: u64) -> Interface {
    Interface::new(data, TypeStr::of::<u32>(), Layout::c_contiguous(&[N], 4).unwrap()).unwrap()
}
