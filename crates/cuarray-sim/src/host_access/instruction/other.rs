//! Processors whose instructions are not decoded.

#[derive(Clone, Copy)]
pub(crate) struct Interrupted;

impl Interrupted {
    pub(in super::super) const NOTHING: Interrupted = Interrupted;

    pub(in super::super) unsafe fn of(_context: *mut std::ffi::c_void) -> Interrupted {
        Interrupted
    }

    pub(super) fn decoded(&self, _at: u64) -> Option<(u64, u64)> {
        None
    }
}
