//! The devices of a plan.

use crate::status::Outcome;
use cuarray_abi::CUstream;
use cuarray_stream_work::{Device, Place, Result};
use std::ffi::c_int;
use std::sync::Arc;

/// The largest number of devices.
const MOST: usize = 16;

/// The devices that `cufftXtSetGPUs` gave to a plan, in their order. A device may be there twice.
#[derive(Clone, Debug)]
pub(crate) struct Devices(Arc<[Device]>);

impl Devices {
    /// Whether a plan can have so many devices.
    pub(crate) fn count(number: c_int) -> Option<usize> {
        usize::try_from(number).ok().filter(|count| (1..=MOST).contains(count))
    }

    pub(crate) fn new(numbers: &[c_int]) -> Outcome<Devices> {
        let devices = numbers.iter().map(|number| Device::new(*number)).collect::<Result<Vec<_>>>()?;
        Ok(Devices(devices.into()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Device> {
        self.0.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn numbers(&self) -> Vec<c_int> {
        self.iter().map(Device::number).collect()
    }

    /// Enqueues work in a stream of a place: after the work of the other devices' default streams, and before their later work. NVIDIA's examples
    /// launch kernels there right after a transform.
    pub(crate) fn enqueue(&self, place: &Place, stream: CUstream, work: impl FnOnce() -> Outcome) -> Outcome {
        if place.is_capturing(stream)? {
            // A graph orders its nodes.
            return work();
        }
        let own = place.device()?;
        let others = || self.iter().filter(|device| device.number() != own);
        others().try_for_each(|device| device.comes_before(place, stream))?;
        let done = work();
        let ordered = others().try_for_each(|device| device.comes_after(place, stream));
        done.and(ordered.map_err(Into::into))
    }
}
