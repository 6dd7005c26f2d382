//! Whether a fault in data was a write, on aarch64: the kernel's frame of a signal has the syndrome of the exception.
//!
//! The frame has records of a magic number, a size and contents, as `asm/sigcontext.h` of Linux defines them. The syndrome is a register of
//! the processor, `ESR_ELx`, which the Arm Architecture Reference Manual describes.

/// The magic number of the record with the syndrome.
const ESR_MAGIC: u32 = 0x4553_5201;
/// The class of the exception: faults in data of a program, and of the same level.
const CLASS: u32 = 26;
const DATA_ABORTS: [u64; 2] = [0b10_0100, 0b10_0101];
/// The bit of a write.
const WRITE: u64 = 1 << 6;

/// Whether the interrupted access was a write, according to the records of a frame. `None` if there is no syndrome of a fault in data.
pub(super) fn writes(records: &[u8]) -> Option<bool> {
    let mut rest = records;
    loop {
        let (magic, size) = (word(rest, 0)?, word(rest, 4)? as usize);
        if magic == 0 || size < 8 {
            return None;
        }
        if magic == ESR_MAGIC {
            let syndrome = u64::from(word(rest, 8)?) | u64::from(word(rest, 12)?) << 32;
            return DATA_ABORTS.contains(&(syndrome >> CLASS & 0x3f)).then_some(syndrome & WRITE != 0);
        }
        rest = rest.get(size..)?;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(magic: u32, contents: &[u8]) -> Vec<u8> {
        let size = 8 + contents.len() as u32;
        [&magic.to_le_bytes()[..], &size.to_le_bytes(), contents].concat()
    }

    #[test]
    fn frames_tell_reads_from_writes() {
        // The record of the vector registers comes first.
        let vectors = record(0x4650_8001, &[7; 520]);
        let frame = |syndrome: u64| [&vectors[..], &record(ESR_MAGIC, &syndrome.to_le_bytes()), &[0; 16]].concat();
        // A translation or permission fault at level 3 of a load and of a store, as Linux reports them to programs.
        assert_eq!(writes(&frame(0x9200_000f)), Some(false));
        assert_eq!(writes(&frame(0x9200_004f)), Some(true));
        // An instruction abort has no such bit.
        assert_eq!(writes(&frame(0x8200_004f)), None);
        assert_eq!(writes(&[&vectors[..], &[0; 16]].concat()), None);
        // A frame that ends early, and a record without a size.
        assert_eq!(writes(&vectors[..100]), None);
        assert_eq!(writes(&[1, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
