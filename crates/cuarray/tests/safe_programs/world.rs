//! The objects of a running program: arrays, and guards that borrow them.
//!
//! Types cannot express borrows between slots. So a slot counts the guards of its array, and refuses what the borrow checker would.

use super::{
    foreign::Foreign,
    rig::{Kernels, Shared},
};
use cuarray::{
    Acquired, AcquiredMut, DeviceArray, IxDyn, Layout, RawDeviceArray, RawView, Result, Stream, TypedView,
    kernel::LaunchConfig,
};
use std::{
    mem::ManuallyDrop,
    ptr::NonNull,
    sync::{Arc, Mutex, Weak},
};

pub enum Array {
    Typed(DeviceArray<u32, IxDyn>),
    Raw(RawDeviceArray),
    View(RawView),
    TypedView(TypedView<u32, IxDyn>),
}

/// An array that guards may borrow.
pub struct Slot {
    array: NonNull<Array>,
    pub device: usize,
    /// The memory of another library that the array is a view of.
    memory: Option<Weak<Foreign>>,
    /// Whether the array is over the memory of another array that has another home stream.
    pub is_rewrapped: bool,
    readers: usize,
    writers: usize,
}

// SAFETY: arrays are `Send`, and the slot owns its array.
unsafe impl Send for Slot {}

impl Slot {
    pub fn new(array: Array, device: usize, memory: Option<&Arc<Foreign>>) -> Slot {
        let memory = memory.map(Arc::downgrade);
        Slot {
            array: NonNull::from(Box::leak(Box::new(array))),
            device,
            memory,
            is_rewrapped: false,
            readers: 0,
            writers: 0,
        }
    }

    /// The array, unless a guard for writing borrows it.
    pub fn get(&self) -> Option<&Array> {
        if self.writers != 0 {
            return None;
        }
        // SAFETY: no guard has a unique borrow.
        Some(unsafe { self.array.as_ref() })
    }

    /// The memory of another library that the array is a view of.
    pub fn memory(&self) -> Option<Arc<Foreign>> {
        self.memory.as_ref()?.upgrade()
    }

    /// Launches a kernel that writes all elements, in a scope, if the borrow checker would allow that.
    pub fn with_mut(&mut self, stream: &Stream, shared: &Shared) -> Option<Result<()>> {
        fn launch(guard: &mut AcquiredMut<'_, u32>, shared: &Shared) -> Result<()> {
            let (stream, (count, (columns, down, right))) = (guard.stream().clone(), described(guard.layout()));
            let Some(kernels) = stream.context()?.as_ref().and_then(|context| shared.kernels(context)) else {
                return Ok(());
            };
            if count == 0 {
                return Ok(());
            }
            let (config, arguments) =
                (LaunchConfig::new([1, 1, 1], [count, 1, 1]), (guard, columns, down, right, 4u32));
            // SAFETY: the kernel writes the elements of the array.
            unsafe { kernels.set.launch(&stream, config, arguments) }
        }
        self.is_free().then_some(())?;
        // SAFETY: no other borrow exists.
        match unsafe { self.array.as_mut() } {
            Array::Typed(array) => Some(array.with_mut(stream, |guard| launch(guard, shared))),
            Array::TypedView(view) => Some(view.with_mut(stream, |guard| launch(guard, shared))),
            Array::Raw(_) | Array::View(_) => None,
        }
    }

    /// Whether the array is a view of this memory.
    pub fn is_over(&self, memory: &Arc<Foreign>) -> bool {
        self.memory.as_ref().is_some_and(|of| of.as_ptr() == Arc::as_ptr(memory))
    }

    pub fn is_free(&self) -> bool {
        self.readers + self.writers == 0
    }

    /// Replaces the array. No guard borrows it.
    pub fn replace(&mut self, with: impl FnOnce(Array) -> Array) {
        assert!(self.is_free());
        // SAFETY: the pointer came from a box, and the result of `with` takes its place. A panic of `with` ends the program's slots.
        unsafe { self.array.write(with(self.array.read())) };
    }

    /// Acquires the array, if the borrow checker would allow that.
    ///
    /// # Safety
    /// The guard ends before the slot is dropped, and [`Slot::ended`] is called after it.
    pub unsafe fn acquire(&mut self, stream: &Arc<Stream>, writes: bool) -> Option<Result<Guard>> {
        // SAFETY: the guard keeps the stream as long as it uses it.
        let on: &'static Stream = unsafe { &*Arc::as_ptr(stream) };
        let guard = match writes {
            true => {
                self.is_free().then_some(())?;
                // SAFETY: no other borrow exists, and the array outlives the guard by this function's contract.
                match unsafe { self.array.as_mut() } {
                    Array::Typed(array) => array.acquire_mut(on).map(Guard::Write),
                    Array::Raw(array) => array.acquire_mut(on).map(Guard::RawWrite),
                    Array::View(view) => view.acquire_mut(on).map(Guard::RawWrite),
                    Array::TypedView(view) => view.acquire_mut(on).map(Guard::Write),
                }
            }
            false => {
                (self.writers == 0).then_some(())?;
                // SAFETY: no unique borrow exists, and the array outlives the guard by this function's contract.
                match unsafe { self.array.as_ref() } {
                    Array::Typed(array) => array.acquire(on).map(Guard::Read),
                    Array::Raw(array) => array.acquire(on).map(Guard::RawRead),
                    Array::View(view) => view.acquire(on).map(Guard::RawRead),
                    Array::TypedView(view) => view.acquire(on).map(Guard::Read),
                }
            }
        };
        if guard.is_ok() {
            let count = if writes { &mut self.writers } else { &mut self.readers };
            *count += 1;
        }
        Some(guard)
    }

    /// Ends a borrow.
    pub fn ended(&mut self, guard_writes: bool) {
        let count = if guard_writes { &mut self.writers } else { &mut self.readers };
        *count -= 1;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // SAFETY: the pointer came from a box, and no guard borrows it any more.
        drop(unsafe { Box::from_raw(self.array.as_ptr()) });
    }
}

pub enum Guard {
    Read(Acquired<'static, u32>),
    Write(AcquiredMut<'static, u32>),
    RawRead(Acquired<'static>),
    RawWrite(AcquiredMut<'static>),
}

macro_rules! each {
    ($guard:expr, $each:ident => $body:expr) => {
        match $guard {
            Guard::Read($each) => $body,
            Guard::Write($each) => $body,
            Guard::RawRead($each) => $body,
            Guard::RawWrite($each) => $body,
        }
    };
}

/// The number of elements of an array, and the arguments of a kernel that describe it.
pub fn described(layout: &Layout) -> (u32, (u32, u64, u64)) {
    let (shape, strides) = (layout.shape(), layout.strides());
    let described = match *shape {
        [] => (1, 0, 0),
        [columns] => (columns as u32, 0, strides[0] as u64),
        [_, columns] => (columns as u32, strides[0] as u64, strides[1] as u64),
        _ => unreachable!("arrays have up to two dimensions"),
    };
    (layout.len() as u32, described)
}

impl Guard {
    pub fn writes(&self) -> bool {
        matches!(self, Guard::Write(_) | Guard::RawWrite(_))
    }

    pub fn stream(&self) -> &Stream {
        each!(self, guard => guard.stream())
    }

    pub fn is_empty(&self) -> bool {
        each!(self, guard => guard.is_empty())
    }

    pub fn release(self) -> Result<()> {
        each!(self, guard => guard.release())
    }

    /// Leaks the guard, as [`std::mem::forget`] does. Leak sanitizers still find what it owns.
    pub fn forget(self) {
        static FORGOTTEN: Mutex<Vec<ManuallyDrop<Guard>>> = Mutex::new(Vec::new());
        FORGOTTEN.lock().unwrap().push(ManuallyDrop::new(self));
    }

    /// Leaks the guard in a cycle.
    pub fn leak_in_cycle(self) {
        struct Cycle(Mutex<Option<Arc<Cycle>>>, #[allow(dead_code)] Guard);
        static CYCLES: Mutex<Vec<Weak<Cycle>>> = Mutex::new(Vec::new());
        let cycle = Arc::new(Cycle(Mutex::new(None), self));
        *cycle.0.lock().unwrap() = Some(cycle.clone());
        CYCLES.lock().unwrap().push(Arc::downgrade(&cycle));
    }

    pub fn copy_to_host(&self) -> Option<Result<()>> {
        match self {
            Guard::Read(guard) => Some(guard.copy_to_host().map(drop)),
            Guard::Write(guard) => Some(guard.copy_to_host().map(drop)),
            Guard::RawRead(_) | Guard::RawWrite(_) => None,
        }
    }

    pub fn copy_from_host(&mut self) -> Option<Result<()>> {
        match self {
            Guard::Write(guard) => Some(guard.copy_from_host(&vec![5; guard.len()])),
            _ => None,
        }
    }

    /// Launches a kernel that writes or reads all elements, in `stream`.
    pub fn launch(&mut self, kernels: &Kernels, stream: &Stream) -> Result<()> {
        let (count, (columns, down, right)) = each!(self, guard => described(guard.layout()));
        if count == 0 {
            return Ok(());
        }
        let config = LaunchConfig::new([1, 1, 1], [count, 1, 1]);
        // SAFETY: the kernel writes or reads the elements of the array.
        unsafe {
            match self {
                Guard::Read(guard) => kernels.look.launch(stream, config, (&*guard, columns, down, right)),
                Guard::RawRead(guard) => kernels.look.launch(stream, config, (&*guard, columns, down, right)),
                Guard::Write(guard) => kernels.set.launch(stream, config, (&mut *guard, columns, down, right, 1u32)),
                Guard::RawWrite(guard) => kernels.set.launch(stream, config, (&mut *guard, columns, down, right, 1u32)),
            }
        }
    }

    /// Launches a kernel that copies the first element of `from` to that of this array.
    pub fn copy_first(&mut self, from: &Guard, kernels: &Kernels) -> Result<()> {
        let stream = self.stream().clone();
        let config = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
        macro_rules! launch {
            ($to:ident, $from:ident) => {
                // SAFETY: both arrays have a first element of 4 bytes.
                unsafe { kernels.copy.launch(&stream, config, (&mut *$to, $from)) }
            };
        }
        match (self, from) {
            (Guard::Write(to), Guard::Read(from)) => launch!(to, from),
            (Guard::Write(to), Guard::RawRead(from)) => launch!(to, from),
            (Guard::RawWrite(to), Guard::Read(from)) => launch!(to, from),
            (Guard::RawWrite(to), Guard::RawRead(from)) => launch!(to, from),
            _ => Ok(()),
        }
    }
}
