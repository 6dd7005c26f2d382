//! Exported memory that pending work of this process writes.

use crate::objects::point::Point;

/// An export whose memory is still to be written.
pub(crate) struct Unwaited {
    /// The address of the allocation.
    pub address: u64,
    /// The pending work that may write it.
    pub writes: Vec<Point>,
}
