//! Steps that acquire, use and end guards.

use super::{Intended, Interpreter, Live, persist};
use crate::{
    foreign::is_capturing,
    program::End,
    world::{Array, described},
};
use cuarray::{Stream, kernel::LaunchConfig, sync::Access};
use std::{panic, sync::Arc};

impl Interpreter<'_> {
    pub(super) fn acquire(&mut self, array: usize, stream: usize, writes: bool, launches: bool) -> Option<()> {
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

    pub(super) fn launch(&mut self, index: usize, wrong_stream: Option<Arc<Stream>>) -> Option<()> {
        let shared = self.shared;
        let guard = &mut self.guards[index].guard;
        let stream = wrong_stream.map_or_else(|| guard.stream().clone(), |stream| (*stream).clone());
        let context = stream.context();
        let kernels = shared.kernels(&self.check(context)??)?;
        let launched = self.guards[index].guard.launch(kernels, &stream);
        self.check(launched)
    }

    pub(super) fn copy(&mut self, from: usize, to: usize) -> Option<()> {
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
    pub(super) fn take(&mut self, index: usize) -> Live {
        let live = self.guards.swap_remove(index);
        if let Some((_, slot)) = self.arrays.iter_mut().find(|(number, _)| *number == live.slot) {
            slot.ended(live.guard.writes());
        }
        live
    }

    pub(super) fn end(&mut self, guard: usize, end: End) -> Option<()> {
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
    pub(super) fn record(&mut self, array: usize, stream: usize) -> Option<()> {
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
}
