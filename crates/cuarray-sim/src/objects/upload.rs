//! Copies from pageable memory that read it when they run, with the bytes at the launch of the graph or at the call.

use crate::objects::copy::{Extent, Place, stage};
use crate::pages::probe;
use cuarray_races::{Clock, Operation};
use std::sync::Arc;

/// A copy that reads pageable host memory when it runs.
pub(crate) struct Upload {
    place: Place,
    extent: Extent,
    /// The bytes of all rows at the launch.
    bytes: Box<[u8]>,
    pub operation: Arc<Operation>,
    pub clock: Clock,
}

impl Upload {
    /// A copy that was just enqueued; `None` if its bytes cannot be read or stored.
    pub(crate) fn new(place: Place, extent: Extent, operation: &Arc<Operation>, clock: &Clock) -> Option<Upload> {
        let bytes = read(place, extent)?;
        Some(Upload { place, extent, bytes, operation: operation.clone(), clock: clock.clone() })
    }

    /// The number of stored bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The addresses from the first changed byte to behind the last one; `None` if no byte has changed. Memory that is gone has changed.
    pub(crate) fn changed(&self) -> Option<(u64, u64)> {
        let Some(now) = read(self.place, self.extent) else {
            let span = self.place.span(self.extent).unwrap_or_default();
            return Some((self.place.address, self.place.address + span));
        };
        if now == self.bytes {
            return None;
        }
        let mut differing = (0..now.len()).filter(|index| now[*index] != self.bytes[*index]);
        let first = differing.next()?;
        let last = differing.next_back().unwrap_or(first);
        Some((self.address_of(first as u64), self.address_of(last as u64) + 1))
    }

    /// Whether the copy reads between two addresses.
    pub(crate) fn lies_in(&self, (start, end): (u64, u64)) -> bool {
        let span = self.place.span(self.extent).unwrap_or_default();
        self.place.address < end && start < self.place.address + span
    }

    /// The address of a stored byte.
    fn address_of(&self, index: u64) -> u64 {
        let Extent { width, height, .. } = self.extent;
        let (row, column) = (index / width, index % width);
        self.place.address + row / height * self.place.slice + row % height * self.place.pitch + column
    }
}

/// The bytes of a box of the program's own memory, if it is readable.
fn read(place: Place, extent: Extent) -> Option<Box<[u8]>> {
    let span = place.span(extent).ok().filter(|_| !extent.is_empty())?;
    if !probe::is_range_readable(place.address, span) {
        return None;
    }
    // SAFETY: the whole span was readable just now.
    unsafe { stage(place, extent) }.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuarray_races::finding::LaneKind;
    use cuarray_races::{Caller, Detector, Effect, HostThreads};

    #[test]
    fn changed_bytes_are_those_of_the_rows() {
        let mut detector = Detector::new(HostThreads::InOrderOfCalls);
        let mut lane = detector.new_lane(LaneKind::NonBlocking, 1, Some(0));
        let ticket = detector.issue(&mut lane, Caller::new(1, ""), Effect::none());
        let mut memory = vec![0_u8; 64];
        let address = memory.as_mut_ptr().expose_provenance() as u64;
        let place = Place { address, pitch: 16, slice: 0 };
        let extent = Extent { width: 4, height: 3, depth: 1 };
        let upload = Upload::new(place, extent, &ticket.operation, &ticket.clock).unwrap();
        assert_eq!((upload.size(), upload.changed()), (12, None));
        let write = |offset: u64| {
            // SAFETY: the memory is live and has 64 bytes.
            unsafe { ((address + offset) as *mut u8).write_volatile(1) }
        };
        write(5);
        assert_eq!(upload.changed(), None);
        write(17);
        assert_eq!(upload.changed(), Some((address + 17, address + 18)));
        write(35);
        assert_eq!(upload.changed(), Some((address + 17, address + 36)));
        assert!(upload.lies_in((address + 35, address + 36)) && !upload.lies_in((address + 36, address + 64)));
        drop(memory);
    }
}
