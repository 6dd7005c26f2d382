//! Descriptors of sequences in memory.

use super::steps::Steps;
use crate::descriptor_table::descriptors;
use crate::descriptors::check;
use crate::layout::{Layout, packed};
use crate::numbers::{Element, Type};
use crate::status::{BAD_PARAM, NOT_SUPPORTED, Outcome, cudnnStatus_t, write, write_if_wanted};
use crate::tensor_descriptor::{int, sizes, tell};
use crate::types::*;
use cuarray_stream_work::{Block, Region, Rows, read};
use std::ffi::{c_int, c_void};

/// `cudnnRNNDataLayout_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arrangement {
    StepMajor,
    Packed,
    BatchMajor,
}

/// Sequences of vectors.
#[derive(Clone, Debug)]
pub(super) struct Sequences {
    pub(super) kind: Type,
    arrangement: Arrangement,
    /// The steps for which there is memory.
    pub(super) longest: usize,
    /// The elements of a vector.
    pub(super) vector: usize,
    pub(super) lengths: Vec<usize>,
    /// The bytes of an element of the padding, if the program gives one.
    fill: Option<[u8; 8]>,
}

descriptors!(RnnData SEQUENCES: Option<Sequences> = None, create destroy);

/// The sequences of a descriptor.
pub(super) fn sequences(number: cudnnRNNDataDescriptor_t) -> Outcome<Sequences> {
    SEQUENCES.described(number)
}

/// `cudnnSetRNNDataDescriptor`.
pub(crate) fn set(
    number: cudnnRNNDataDescriptor_t,
    kind: cudnnDataType_t,
    layout: cudnnRNNDataLayout_t,
    longest: c_int,
    batch: c_int,
    vector: c_int,
    lengths: *const c_int,
    padding: *mut c_void,
) -> Outcome {
    check(layout, 2)?;
    let kind = match Type::of(kind)? {
        Type::Integer(..) => return Err(NOT_SUPPORTED),
        kind => kind,
    };
    let arrangement = [Arrangement::StepMajor, Arrangement::Packed, Arrangement::BatchMajor][layout as usize];
    let [longest, batch, vector] = sizes([longest, batch, vector].as_ptr(), 3)?[..] else { return Err(BAD_PARAM) };
    // Checks that no size is 0 and that the elements can be counted.
    let dims = vec![longest, batch, vector];
    Layout::new(kind, dims.clone(), packed(&dims))?;
    let lengths = sizes(lengths, batch)?;
    let is_sorted = lengths.is_sorted_by(|first, second| first >= second);
    if lengths.iter().any(|length| *length > longest) || (arrangement == Arrangement::Packed && !is_sorted) {
        return Err(BAD_PARAM);
    }
    let fill = match padding.is_null() {
        true => None,
        false => {
            let mut bytes = [0; 8];
            bytes[..kind.size()].copy_from_slice(&read::<u8, cudnnStatus_t>(padding.cast_const().cast(), kind.size())?);
            Some(bytes)
        }
    };
    SEQUENCES.set(number, Sequences { kind, arrangement, longest, vector, lengths, fill })
}

/// `cudnnGetRNNDataDescriptor`.
pub(crate) fn get(
    number: cudnnRNNDataDescriptor_t,
    kind: *mut cudnnDataType_t,
    layout: *mut cudnnRNNDataLayout_t,
    longest: *mut c_int,
    batch: *mut c_int,
    vector: *mut c_int,
    requested: c_int,
    lengths: *mut c_int,
    padding: *mut c_void,
) -> Outcome {
    let known = SEQUENCES.described(number)?;
    let requested = usize::try_from(requested).map_err(|_| BAD_PARAM)?;
    write(kind, known.kind.number())?;
    write(layout, known.arrangement as c_int)?;
    write(longest, int(known.longest))?;
    write(batch, int(known.lengths.len()))?;
    write(vector, int(known.vector))?;
    tell(lengths, &known.lengths, requested)?;
    let bytes = known.fill.unwrap_or_default();
    let mut bytes = bytes[..known.kind.size()].iter().enumerate();
    bytes.try_for_each(|(index, byte)| write_if_wanted(place(padding, index), *byte))
}

/// The place of a byte; null if the program gives none.
fn place(padding: *mut c_void, index: usize) -> *mut u8 {
    if padding.is_null() { padding.cast() } else { padding.cast::<u8>().wrapping_add(index) }
}

impl Sequences {
    pub(super) fn batch(&self) -> usize {
        self.lengths.len()
    }

    pub(super) fn is_packed(&self) -> bool {
        self.arrangement == Arrangement::Packed
    }

    /// Whether all sequences have as many steps as there is memory for.
    pub(super) fn is_full(&self) -> bool {
        self.lengths.iter().all(|length| *length == self.longest)
    }

    /// The vectors of all sequences.
    pub(super) fn vectors(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// Whether other sequences have the same lengths, type and layout.
    pub(super) fn is_like(&self, other: &Sequences) -> bool {
        let of = |data: &Sequences| (data.kind, data.arrangement, data.longest);
        of(self) == of(other) && self.lengths == other.lengths
    }

    /// Whether the padding of a result is written.
    pub(super) fn is_filled(&self) -> bool {
        self.fill.is_some() && !self.is_packed()
    }

    /// These sequences with vectors of another size.
    pub(super) fn with_vectors(&self, vector: usize) -> Sequences {
        Sequences { vector, ..self.clone() }
    }

    /// Makes the padding zero.
    pub(super) fn fill_with_zero(&mut self) {
        self.fill = None;
    }

    /// The bytes of all vectors, or of the padding too.
    pub(super) fn region(&self, address: u64, with_padding: bool) -> Region {
        let (batch, row) = (self.batch(), self.vector * self.kind.size());
        if self.is_packed() {
            return Rows { address, width: self.vectors() * row, height: 1, pitch: 0 }.into();
        }
        let size = self.longest * batch * row;
        if with_padding || self.is_full() {
            return Rows { address, width: size, height: 1, pitch: 0 }.into();
        }
        let block = |(sequence, length): (usize, &usize)| {
            let (offset, rows) = match self.arrangement {
                Arrangement::BatchMajor => (sequence * self.longest * row, (length * row, 1)),
                _ => (sequence * row, (row, *length)),
            };
            let (width, height) = rows;
            let rows = Rows { address: address.saturating_add(offset as u64), width, height, pitch: batch * row };
            Block { rows, offset, pitch: batch * row }
        };
        Region::new(size, self.lengths.iter().enumerate().map(block).collect())
    }

    /// Calls a function with each row and the place of its vector in memory.
    fn each(&self, steps: &Steps, mut f: impl FnMut(usize, usize)) {
        for step in 0..steps.count() {
            let rows = steps.range(step);
            for (row, sequence) in rows.clone().zip(&steps.order) {
                let place = match self.arrangement {
                    Arrangement::StepMajor => step * self.batch() + sequence,
                    // The sequences are ranked in the order of their numbers.
                    Arrangement::Packed => row,
                    Arrangement::BatchMajor => sequence * self.longest + step,
                };
                f(row, place * self.vector);
            }
        }
    }

    /// The vectors in the order of rows.
    pub(super) fn rows<T: Element>(&self, steps: &Steps, memory: &[T]) -> Vec<T::Wide> {
        let mut rows = Vec::with_capacity(steps.rows() * self.vector);
        self.each(steps, |_, place| rows.extend(memory[place..][..self.vector].iter().map(|value| value.widen())));
        rows
    }

    /// Stores vectors in the order of rows. The padding becomes that of the descriptor, or zero.
    pub(super) fn store<T: Element>(&self, steps: &Steps, memory: &mut [T], rows: &[T::Wide]) {
        let mut fill = [T::narrow(T::Wide::default())];
        if let Some(bytes) = self.fill {
            // SAFETY: the element has no padding, any bytes are a value of it, and it is borrowed alone.
            let (_, to, _) = unsafe { fill.align_to_mut::<u8>() };
            to.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        }
        memory.fill(fill[0]);
        self.each(steps, |row, place| {
            let (to, from) = (memory[place..][..self.vector].iter_mut(), &rows[row * self.vector..]);
            to.zip(from).for_each(|(to, value)| *to = T::narrow(*value));
        });
    }
}
