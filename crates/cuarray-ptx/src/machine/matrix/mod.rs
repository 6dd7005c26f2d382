//! Instructions of a whole warp on matrices.
//!
//! The lanes of a warp hold a matrix together. `movement` loads, stores and transposes matrices, `element` decodes their
//! elements, `fragment` knows which lane holds which element, and `product` multiplies.

pub(crate) mod element;
mod fragment;
pub(crate) mod movement;
pub(crate) mod product;
pub(crate) mod quad;

pub(crate) use fragment::Sum;

use super::Machine;
use super::misuse::MisuseKind;

impl Machine<'_> {
    /// Returns whether all lanes of the warp have arrived at a matrix instruction. If some can never arrive, the
    /// instruction runs without them, and their absence is a misuse.
    ///
    /// # Safety
    /// `members` is a constant operand of the running instruction: the mask of all lanes.
    unsafe fn whole_warp(&mut self, members: u32, synchronizes: bool) -> bool {
        // SAFETY: this function's contract.
        let arrived = unsafe { if synchronizes { self.gathered(members) } else { self.arrived(members) } };
        if arrived && self.mask != u32::MAX && self.recorder.enabled {
            let absent = Machine::first(!self.mask);
            self.misuse(MisuseKind::PartialWarp, Machine::first(self.mask), (absent.into(), 0), false, 0);
        }
        arrived
    }
}
