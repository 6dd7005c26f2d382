//! Steps that create and drop arrays.

use super::{Interpreter, MOST_ARRAYS, N};
use crate::{
    driver_fixture::entry,
    foreign::{Foreign, Named, is_capturing},
    program::{Fill, Names, Of, Part},
    world::Array,
};
use cuarray::{
    CArray, DeviceArray, Event, Interface, IxDyn, Layout, Owner, RawDeviceArray, RawView, Result, Stream, StreamEntry,
    TypeStr, c_interface::Described, driver::Allocation, s, sync,
};
use std::{num::NonZeroUsize, sync::Arc};

impl Interpreter<'_> {
    /// Drops an array. The guards of other arrays over its memory are ordered with its work as long as it lives, so the other library
    /// waits for that work.
    pub(super) fn drop_array(&mut self, index: usize) -> Option<()> {
        let is_shared = self.is_shared(index);
        (!is_shared || self.captures.is_empty()).then_some(())?;
        drop(self.arrays.swap_remove(index));
        if is_shared {
            self.wait_for_all();
        }
        Some(())
    }

    pub(super) fn create(&mut self, fill: Fill, stream: usize) -> Option<()> {
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

    pub(super) fn derive(&mut self, array: usize, part: Part) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        let index = self.array(array)?;
        let array = match self.arrays[index].1.get()? {
            Array::Typed(array) => array,
            Array::Raw(array) => {
                let clone = array.clone();
                self.push_part(Array::Raw(clone), index);
                return Some(());
            }
            Array::View(_) | Array::TypedView(_) => return None,
        };
        let length = array.shape().last().copied().unwrap_or(1);
        let derived: Result<DeviceArray<u32, IxDyn>> = match (part, array.ndim()) {
            (Part::Clone, _) => Ok(array.clone()),
            (Part::Transposed, _) => Ok(array.t()),
            (Part::Reshaped, 1) => array.reshape([2, length / 2]).and_then(DeviceArray::into_dimensionality),
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
        self.push_part(Array::Typed(derived), index);
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

    /// Waits for the work of views that have been dropped, before a new view of the memory.
    fn wait_before_reuse(&self, of: Of, memory: &Arc<Foreign>) -> Option<()> {
        if matches!(of, Of::Existing(_)) && !self.arrays.iter().any(|(_, slot)| slot.is_over(memory)) {
            self.captures.is_empty().then_some(())?;
            self.wait_for_all();
        }
        Some(())
    }

    pub(super) fn owned(&mut self, of: Of, home: Option<usize>) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        let memory = self.memory(of)?;
        self.wait_before_reuse(of, &memory)?;
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
        self.push_over(Array::Raw(array), device, Some(&memory));
        Some(())
    }

    pub(super) fn rewrap(&mut self, array: usize, home: Option<usize>, by_guard: bool) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS && self.captures.is_empty()).then_some(())?;
        let index = self.array(array)?;
        let slot = &self.arrays[index].1;
        let device = slot.device;
        let array = match slot.get()? {
            Array::Typed(array) => array.as_raw().clone(),
            Array::Raw(array) => array.clone(),
            Array::View(_) | Array::TypedView(_) => return None,
        };
        slot.memory().is_none().then_some(())?;
        let home = match home {
            Some(slot) => Some(Self::pick(&self.own, slot).filter(|(_, of)| *of == device)?.0),
            None => None,
        };
        // Pending work is ordered before later work in the new home stream; without one it is done.
        match (array.home_stream(), &home) {
            (Some(earlier), Some(home)) if earlier.handle() > 2 => {
                let ordered = sync::edge(earlier, home);
                self.check(ordered)?;
            }
            _ => self.wait_for_all(),
        }
        let interface = match by_guard {
            false => array.interface().clone(),
            true => {
                let stream = self.own[0].0.clone();
                let guard = self.check(array.acquire(&stream))?;
                let (address, layout) = (guard.as_device_ptr(), guard.layout().clone());
                let released = guard.release();
                self.check(released)?;
                let is_overlapping = layout.shape().iter().zip(layout.strides()).any(|(n, step)| *n > 1 && *step == 0);
                let interface = Interface::new(address, TypeStr::of::<u32>(), layout);
                self.check(interface)?.with_read_only(is_overlapping)
            }
        };
        let owner = Owner::new(Arc::new(array));
        // SAFETY: the owner keeps the memory, and pending work is ordered.
        let array = unsafe { RawDeviceArray::from_owner(&self.contexts[device], interface, owner, home.as_deref()) };
        let array = self.check(array)?;
        self.push_over(Array::Raw(array), device, None);
        if let Some((_, slot)) = self.arrays.last_mut() {
            slot.is_rewrapped = true;
        }
        Some(())
    }

    pub(super) fn view(&mut self, of: Of, names: Names) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        let memory = self.memory(of)?;
        let device = memory.device;
        self.wait_before_reuse(of, &memory)?;
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

    pub(super) fn exchange(&mut self, array: usize, with_event: bool) -> Option<()> {
        (self.arrays.len() < MOST_ARRAYS).then_some(())?;
        let index = self.array(array)?;
        let slot = &self.arrays[index].1;
        let device = slot.device;
        let array = match slot.get()? {
            Array::Typed(array) => array.as_raw().clone(),
            Array::Raw(array) => array.clone(),
            Array::View(_) | Array::TypedView(_) => return None,
        };
        let home = array.home_stream().cloned();
        if home.is_none() {
            // The interface names no stream, so no work may be pending.
            self.captures.is_empty().then_some(())?;
            self.wait_for_all();
        }
        // Each thread reads another stream from an interface that names the per-thread default stream.
        (home.as_ref().is_none_or(|home| home.handle() != 2)).then_some(())?;
        let mut described = Described::from(array.interface().clone());
        let mut event = None;
        if let Some(home) = home.as_ref().filter(|home| with_event && !is_capturing(home)) {
            let context = self.check(home.work_context())?;
            let recorded = self.check(Event::new(&context, false))?;
            let result = recorded.record(home);
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
        self.push_part(Array::View(view), index);
        Some(())
    }

    pub(super) fn typed(&mut self, array: usize) -> Option<()> {
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
}

fn interface(data: u64) -> Interface {
    Interface::new(data, TypeStr::of::<u32>(), Layout::c_contiguous(&[N], 4).unwrap()).unwrap()
}
