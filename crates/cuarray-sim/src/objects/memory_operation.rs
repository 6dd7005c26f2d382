//! Stream memory operations: a stream waits until a word of memory has a value, or writes one.
//!
//! They are data, so that streams and nodes of graphs hold the same operations. A batch is a list of them.

use cuarray_abi::*;
use cuarray_races::Clock;
use cuarray_races::finding::AccessKind;
use std::collections::BTreeMap;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// A word of memory: 4 or 8 bytes at an aligned address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word {
    pub address: u64,
    pub size: u64,
}

impl Word {
    fn new(address: u64, size: u64) -> Result<Word, CUresult> {
        let is_valid = address != 0 && address.is_multiple_of(size) && address.checked_add(size).is_some();
        if is_valid { Ok(Word { address, size }) } else { Err(INVALID_VALUE) }
    }

    /// Whether the words have a byte in common.
    pub(crate) fn overlaps(self, other: Word) -> bool {
        self.address < other.address + other.size && other.address < self.address + self.size
    }

    /// The value without the bits that the word does not have.
    pub(crate) fn truncated(self, value: u64) -> u64 {
        if self.size == 4 { value & u64::from(u32::MAX) } else { value }
    }
}

/// The condition that ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    /// The word minus the value is not negative, as a signed number. So the comparison is cyclic.
    AtLeast,
    Equal,
    AnyBitOf,
    /// A bit is set neither in the word nor in the value.
    Nor,
}

/// The arithmetic of an atomic reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reduction {
    Add,
    And,
    Or,
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MemoryOperation {
    Wait {
        word: Word,
        condition: Condition,
        value: u64,
    },
    Write {
        word: Word,
        value: u64,
        /// Whether the stream's earlier writes are visible before this one.
        fence: bool,
    },
    Reduce {
        word: Word,
        reduction: Reduction,
        value: u64,
    },
    /// A memory barrier, or a flush of remote writes. Simulated writes are visible at once, in the order of the stream.
    Barrier,
}

impl MemoryOperation {
    /// A wait.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an address that is null or not aligned, and for unknown flags.
    pub(crate) fn wait(address: u64, size: u64, value: u64, flags: u32) -> Result<MemoryOperation, CUresult> {
        let condition = match flags & !CU_STREAM_WAIT_VALUE_FLUSH {
            CU_STREAM_WAIT_VALUE_GEQ => Condition::AtLeast,
            CU_STREAM_WAIT_VALUE_EQ => Condition::Equal,
            CU_STREAM_WAIT_VALUE_AND => Condition::AnyBitOf,
            CU_STREAM_WAIT_VALUE_NOR => Condition::Nor,
            _ => return Err(INVALID_VALUE),
        };
        let word = Word::new(address, size)?;
        Ok(MemoryOperation::Wait { word, condition, value: word.truncated(value) })
    }

    /// A write. Only the first version of the functions has the flag that leaves the fence out.
    ///
    /// # Errors
    /// As [`MemoryOperation::wait`].
    pub(crate) fn write(
        address: u64,
        size: u64,
        value: u64,
        flags: u32,
        first_version: bool,
    ) -> Result<MemoryOperation, CUresult> {
        let fence = match flags {
            CU_STREAM_WRITE_VALUE_DEFAULT => true,
            CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER if first_version => false,
            _ => return Err(INVALID_VALUE),
        };
        let word = Word::new(address, size)?;
        Ok(MemoryOperation::Write { word, value: word.truncated(value), fence })
    }

    /// The operation that an element of a batch describes.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for unknown operations and flags, and for addresses as in [`MemoryOperation::wait`];
    /// `CUDA_ERROR_NOT_SUPPORTED` for operations that the first version does not have.
    pub(crate) fn of(params: &CUstreamBatchMemOpParams, first_version: bool) -> Result<MemoryOperation, CUresult> {
        // SAFETY: every bit pattern is a value of each member.
        let (operation, of_value, of_flags, reduction) =
            unsafe { (params.operation, params.value, params.flags, params.atomicReduction) };
        let CUstreamMemOpValueParams { address, value, flags, .. } = of_value;
        match operation {
            CU_STREAM_MEM_OP_WAIT_VALUE_32 => MemoryOperation::wait(address, 4, value, flags),
            CU_STREAM_MEM_OP_WAIT_VALUE_64 => MemoryOperation::wait(address, 8, value, flags),
            CU_STREAM_MEM_OP_WRITE_VALUE_32 => MemoryOperation::write(address, 4, value, flags, first_version),
            CU_STREAM_MEM_OP_WRITE_VALUE_64 => MemoryOperation::write(address, 8, value, flags, first_version),
            CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES if of_flags.flags == 0 => Ok(MemoryOperation::Barrier),
            CU_STREAM_MEM_OP_BARRIER | CU_STREAM_MEM_OP_ATOMIC_REDUCTION if first_version => {
                Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
            }
            CU_STREAM_MEM_OP_BARRIER if of_flags.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU => {
                Ok(MemoryOperation::Barrier)
            }
            CU_STREAM_MEM_OP_ATOMIC_REDUCTION if reduction.flags == 0 => {
                let size = match reduction.dataType {
                    CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_32 => 4,
                    CU_STREAM_ATOMIC_REDUCTION_UNSIGNED_64 => 8,
                    _ => return Err(INVALID_VALUE),
                };
                let word = Word::new(reduction.address, size)?;
                let value = word.truncated(reduction.value);
                let reduction = match reduction.reductionOp {
                    CU_STREAM_ATOMIC_REDUCTION_OP_ADD => Reduction::Add,
                    CU_STREAM_ATOMIC_REDUCTION_OP_AND => Reduction::And,
                    CU_STREAM_ATOMIC_REDUCTION_OP_OR => Reduction::Or,
                    _ => return Err(INVALID_VALUE),
                };
                Ok(MemoryOperation::Reduce { word, reduction, value })
            }
            _ => Err(INVALID_VALUE),
        }
    }

    /// The word that the operation reads or writes.
    pub(crate) fn word(&self) -> Option<Word> {
        match self {
            MemoryOperation::Wait { word, .. }
            | MemoryOperation::Write { word, .. }
            | MemoryOperation::Reduce { word, .. } => Some(*word),
            MemoryOperation::Barrier => None,
        }
    }

    /// The access to the word.
    pub(crate) fn access(&self) -> AccessKind {
        if self.writes() { AccessKind::Write } else { AccessKind::Read }
    }

    /// Whether the operation writes its word.
    pub(crate) fn writes(&self) -> bool {
        matches!(self, MemoryOperation::Write { .. } | MemoryOperation::Reduce { .. })
    }
}

impl Condition {
    /// Whether a word with the value `found` ends a wait for `value`.
    pub(crate) fn holds(self, word: Word, found: u64, value: u64) -> bool {
        match self {
            Condition::AtLeast if word.size == 4 => (found as u32).wrapping_sub(value as u32) as i32 >= 0,
            Condition::AtLeast => found.wrapping_sub(value) as i64 >= 0,
            Condition::Equal => found == value,
            Condition::AnyBitOf => found & value != 0,
            Condition::Nor => word.truncated(!(found | value)) != 0,
        }
    }
}

/// The operations of a batch memory operation node, with the parameters as the program passed them.
#[derive(Clone)]
pub(crate) struct Batch {
    pub context: CUcontext,
    pub flags: u32,
    pub params: Vec<[u64; 6]>,
    pub operations: Vec<MemoryOperation>,
}

impl Batch {
    /// Whether the batch of an executable graph may become another one.
    ///
    /// The manual lets words, values and the types of waits change, and nothing else: neither the kinds of the
    /// operations, nor the flush of a wait, nor a barrier.
    pub(crate) fn may_become(&self, other: &Batch) -> bool {
        let fits = (self.context, self.flags, self.params.len()) == (other.context, other.flags, other.params.len());
        fits && (0..self.operations.len()).all(|index| self.may_change(index, other))
    }

    /// Whether one operation may become that of another batch of the same length.
    fn may_change(&self, index: usize, other: &Batch) -> bool {
        let flags = |batch: &Batch| batch.params[index][3] as u32;
        let flush = |batch: &Batch| flags(batch) & CU_STREAM_WAIT_VALUE_FLUSH;
        match (&self.operations[index], &other.operations[index]) {
            (MemoryOperation::Wait { word: old, .. }, MemoryOperation::Wait { word: new, .. }) => {
                old.size == new.size && flush(self) == flush(other)
            }
            (MemoryOperation::Write { word: old, .. }, MemoryOperation::Write { word: new, .. }) => {
                old.size == new.size && flags(self) == flags(other)
            }
            // The first word holds the operation and the flags.
            (MemoryOperation::Barrier, MemoryOperation::Barrier) => self.params[index][0] == other.params[index][0],
            (old, new) => old == new,
        }
    }
}

/// The most writes of a word that are remembered.
const REMEMBERED: usize = 64;

/// The writes of words that have been executed, and that waits can observe.
#[derive(Default)]
pub(crate) struct Publications {
    /// For each address: the values that the word had, and the clock of the operation that wrote each.
    words: BTreeMap<u64, Vec<(u64, Clock)>>,
}

impl Publications {
    /// Records that an operation has given the word at an address a value.
    pub(crate) fn add(&mut self, address: u64, value: u64, clock: Clock) {
        let word = self.words.entry(address).or_default();
        if word.len() == REMEMBERED {
            word.remove(0);
        }
        word.push((value, clock));
    }

    /// The clock of the first of the last writes since which a wait could end, for each address in the word.
    pub(crate) fn ends(&self, word: Word, condition: Condition, value: u64) -> Vec<Clock> {
        let written = self.words.range(word.address.saturating_sub(4)..word.address.saturating_add(word.size));
        let first = |writes: &Vec<(u64, Clock)>| {
            let ending = writes.iter().rev().take_while(|(found, _)| condition.holds(word, *found, value));
            ending.last().or(writes.last()).map(|(_, clock)| clock.clone())
        };
        written.filter_map(|(_, writes)| first(writes)).collect()
    }

    /// Forgets the words in memory that is freed.
    pub(crate) fn forget(&mut self, start: u64, end: u64) {
        let words: Vec<u64> = self.words.range(start..end).map(|(address, _)| *address).collect();
        words.iter().for_each(|address| drop(self.words.remove(address)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_hold_as_the_header_defines_them() {
        let (narrow, wide) = (Word { address: 8, size: 4 }, Word { address: 8, size: 8 });
        // The comparison ignores a wrap of the counter.
        assert!(Condition::AtLeast.holds(narrow, 1, 0xffff_fffe));
        assert!(!Condition::AtLeast.holds(narrow, 0xffff_fffe, 1));
        assert!(!Condition::AtLeast.holds(wide, 1, 0xffff_fffe));
        assert!(Condition::AtLeast.holds(wide, 1, u64::MAX));
        assert!(Condition::Equal.holds(narrow, 5, 5) && !Condition::Equal.holds(narrow, 6, 5));
        assert!(Condition::AnyBitOf.holds(narrow, 6, 2) && !Condition::AnyBitOf.holds(narrow, 4, 3));
        assert!(Condition::Nor.holds(narrow, 1, 2) && !Condition::Nor.holds(narrow, 0xffff_0000, 0xffff));
        assert!(Condition::Nor.holds(wide, 0xffff_0000, 0xffff));
    }

    #[test]
    fn invalid_words_and_flags_are_refused() {
        assert!(MemoryOperation::wait(6, 4, 0, 0).is_err());
        assert!(MemoryOperation::wait(4, 8, 0, 0).is_err());
        assert!(MemoryOperation::wait(0, 4, 0, 0).is_err());
        assert!(MemoryOperation::wait(8, 8, 0, CU_STREAM_WAIT_VALUE_FLUSH | CU_STREAM_WAIT_VALUE_NOR).is_ok());
        assert!(MemoryOperation::wait(8, 8, 0, 4).is_err());
        assert!(MemoryOperation::write(8, 4, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, true).is_ok());
        assert!(MemoryOperation::write(8, 4, 0, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, false).is_err());
    }
}
