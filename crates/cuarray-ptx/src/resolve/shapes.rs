//! The accesses to memory that share the shape of their addresses; see `machine::direct`.
//!
//! Unrolled loops access memory through one register with many offsets. Within a basic block, the first of these accesses
//! observes the shape, and the others find it in the same slot.

use super::draft::{Access, Block, Draft, Operand, writes};
use crate::machine::access_mode::{SLOTS, kept_bits, slot_bits};

/// The shape in a slot.
#[derive(Clone, Copy)]
struct Shape {
    register: u32,
    size: u32,
    /// The access that observes it.
    observed_by: usize,
}

/// Returns the bits of the access modes of a block's instructions.
pub(super) fn shape_bits(block: &Block) -> Vec<u32> {
    let mut bits = vec![0; block.drafts.len()];
    let mut slots: [Option<Shape>; SLOTS] = [None; SLOTS];
    let mut next = 0;
    for (index, draft) in block.drafts.iter().enumerate() {
        if let Some((register, size)) = plain_access(draft) {
            let alike = |shape: Shape| shape.register == register && shape.size == size;
            let held =
                |(slot, shape): (usize, &Option<Shape>)| shape.filter(|shape| alike(*shape)).map(|shape| (slot, shape));
            match slots.iter().enumerate().find_map(held) {
                Some((slot, shape)) => {
                    bits[shape.observed_by] = slot_bits(slot);
                    bits[index] = kept_bits(slot);
                }
                // A guarded access may not take place.
                None if draft.guard.is_none() => {
                    slots[next] = Some(Shape { register, size, observed_by: index });
                    next = (next + 1) % SLOTS;
                }
                None => {}
            }
        }
        for register in writes(draft) {
            for shape in &mut slots {
                if shape.is_some_and(|shape| shape.register == register) {
                    *shape = None;
                }
            }
        }
    }
    bits
}

/// The register with the addresses of a plain access of one element, and the element's size.
fn plain_access(draft: &Draft) -> Option<(u32, u32)> {
    match (draft.access, draft.a) {
        (Access::Load(size) | Access::Store(size), Operand::Register(register)) if draft.extra.is_empty() => {
            Some((register, size))
        }
        _ => None,
    }
}
