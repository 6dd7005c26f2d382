//! Handles of generators.

use crate::distribution::Kind;
use crate::generator::{Choice, Output, Progress, check_length};
use crate::status::{Outcome, curandStatus_t};
use cuarray_abi::CUstream;
use cuarray_stream_work::{Objects, Place, Plain, Rows, Work};
use std::sync::{Arc, Mutex, PoisonError};

/// `curandGenerator_t`: a number, never the address of anything.
#[allow(non_camel_case_types)]
pub type curandGenerator_t = usize;

/// The target of `curandGenerator_t`.
pub(crate) struct Handle {
    /// The context of a generator for the device; none for the host.
    place: Option<Place>,
    state: Mutex<Current>,
}

/// The settings and the progress of a generator.
pub(crate) struct Current {
    pub(crate) choice: Choice,
    pub(crate) stream: CUstream,
    /// The sequences of the choice, once a call has used them.
    pub(crate) progress: Option<Progress>,
}

static HANDLES: Objects<Arc<Handle>, curandStatus_t> = Objects::new(0x6372_0000_0000, curandStatus_t::NOT_INITIALIZED);

/// Makes a generator, for the current context or for the host.
pub(crate) fn create(choice: Choice, on_device: bool) -> Outcome<usize> {
    let place = match on_device {
        true => Some(Place::current().map_err(|_| curandStatus_t::INITIALIZATION_FAILED)?),
        false => None,
    };
    let current = Current { choice, stream: CUstream::NULL, progress: None };
    Ok(HANDLES.add(Arc::new(Handle { place, state: Mutex::new(current) })))
}

/// The generator of a number.
pub(crate) fn find(number: usize) -> Outcome<Arc<Handle>> {
    HANDLES.get(number)
}

/// Ends a generator, after the work of its context.
pub(crate) fn destroy(number: usize) -> Outcome {
    let removed = HANDLES.remove(number)?;
    if let Some(place) = &removed.place {
        place.destroy();
    }
    Ok(())
}

impl Handle {
    pub(crate) fn is_for_host(&self) -> bool {
        self.place.is_none()
    }

    /// Reads or changes the settings.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Current) -> Outcome<T>) -> Outcome<T> {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the choice, which starts its sequences again.
    pub(crate) fn choose(&self, f: impl FnOnce(&mut Choice) -> Outcome) -> Outcome {
        self.with(|current| {
            f(&mut current.choice)?;
            current.progress = None;
            Ok(())
        })
    }

    /// Generates `count` results at an address.
    pub(crate) fn generate<T: Output + Plain>(&self, output: *mut T, count: usize, kind: Kind) -> Outcome {
        self.with(|current| {
            let choice = current.choice;
            check_length(&choice, &kind, count)?;
            if count == 0 {
                return Ok(());
            }
            if count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
                return Err(curandStatus_t::OUT_OF_RANGE);
            }
            if self.place.is_none() && (output.is_null() || !output.is_aligned()) {
                return Err(curandStatus_t::OUT_OF_RANGE);
            }
            let progress = current.progress.get_or_insert_with(|| Progress::new(&choice));
            let results = progress.next(choice.algorithm, kind.clone(), count);
            let Some(place) = &self.place else {
                // SAFETY: the pointer is aligned and not null, the size fits the address space, and by the contract of the C function
                // memory of the host for so many results may be written. All values are values of the type.
                results.write(unsafe { std::slice::from_raw_parts_mut(output, count) });
                progress.advance(choice.algorithm, &kind, count);
                return Ok(());
            };
            let mut work = Work::new();
            let out = work.writes(c"outputPtr", Rows::of::<T>(output.addr() as u64, count).into());
            // A call that fails takes no results.
            place.enqueue(current.stream, work, move |data| results.write(data.take::<T>(out)))?;
            progress.advance(choice.algorithm, &kind, count);
            Ok(())
        })
    }
}
