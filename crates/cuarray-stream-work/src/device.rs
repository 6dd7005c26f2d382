//! A device among those of a work on several devices.

use crate::driver::{Result, call};
use crate::place::Place;
use cuarray_abi::{CU_EVENT_DISABLE_TIMING, CUevent, CUstream};
use std::ffi::c_int;

/// A device with its primary context, which stays retained as with the CUDA runtime. Its share of a work is ordered as in a separate blocking
/// stream: after earlier work of the device's default stream, and before later work there.
#[derive(Debug)]
pub struct Device {
    number: c_int,
    place: Place,
    stream: CUstream,
}

impl Device {
    /// The device of a number.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(number: c_int) -> Result<Device> {
        let place = Place::of_device(number)?;
        let stream = place.create_stream()?;
        Ok(Device { number, place, stream })
    }

    /// The number of the device.
    pub fn number(&self) -> c_int {
        self.number
    }

    /// The primary context.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Lets a stream of a place wait for the work of the device's default stream.
    ///
    /// # Errors
    /// The driver's.
    pub fn comes_before(&self, place: &Place, stream: CUstream) -> Result {
        order((&self.place, self.stream), (place, stream))
    }

    /// Lets later work of the device's default stream wait for a stream of a place.
    ///
    /// # Errors
    /// The driver's.
    pub fn comes_after(&self, place: &Place, stream: CUstream) -> Result {
        order((place, stream), (&self.place, self.stream))
    }
}

impl Drop for Device {
    /// Destroys the stream. Its work goes on.
    fn drop(&mut self) {
        self.place.destroy_stream(self.stream);
    }
}

/// Lets the second stream wait for the work in the first one.
fn order(first: (&Place, CUstream), second: (&Place, CUstream)) -> Result {
    let mut event = CUevent::default();
    first.0.within(|| call!(cuEventCreate(&mut event, CU_EVENT_DISABLE_TIMING)))?;
    let recorded = first.0.within(|| call!(cuEventRecord(event, first.1)));
    let waited = recorded.and_then(|()| second.0.within(|| call!(cuStreamWaitEvent(second.1, event, 0))));
    waited.and(first.0.within(|| call!(cuEventDestroy_v2(event))))
}
