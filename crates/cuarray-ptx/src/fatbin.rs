//! Fat binaries: containers of machine code and PTX for several targets.
//!
//! NVIDIA does not document them; what is read here is what is publicly known of them: a head of 16 bytes, then entries of a
//! kind, with a head that tells its own length and that of what follows. PTX lies in entries of kind 1, as it is, or compressed by
//! the method of LZ4 blocks (flag `0x2000`). Other compressions are passed over.

/// The entry that holds PTX.
const PTX: u16 = 1;
/// Flags of an entry.
const COMPRESSED: u64 = 0x2000;
const OTHERWISE_COMPRESSED: u64 = 0x8000;
/// No text is longer, whatever an entry says.
const LONGEST: u64 = 1 << 30;

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut number = [0; 8];
    number[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(number))
}

/// The PTX of the newest target in a fat binary; `Some(None)` if it has none that can be read, `None` if it is no fat binary.
pub(super) fn ptx(bytes: &[u8]) -> Option<Option<String>> {
    let head = number::<2>(bytes, 6)? as usize;
    let end = (number::<8>(bytes, 8)?).checked_add(head as u64)?;
    let bytes = bytes.get(..usize::try_from(end).ok()?.min(bytes.len()))?;
    let mut found: Option<(u64, String)> = None;
    let mut at = head;
    while at < bytes.len() {
        let kind = number::<2>(bytes, at)? as u16;
        let (head, size) = (number::<4>(bytes, at + 4)?, number::<8>(bytes, at + 8)?);
        let start = at.checked_add(usize::try_from(head).ok()?)?;
        let next = start.checked_add(usize::try_from(size).ok()?)?;
        if next <= at || head < 64 {
            return None;
        }
        if kind == PTX {
            let (stored, target) = (number::<4>(bytes, at + 16)?, number::<4>(bytes, at + 28)?);
            let (flags, length) = (number::<8>(bytes, at + 40)?, number::<8>(bytes, at + 56)?);
            let data = bytes.get(start..next)?;
            let text = if flags & OTHERWISE_COMPRESSED != 0 {
                None
            } else if flags & COMPRESSED != 0 {
                data.get(..stored as usize).filter(|_| length < LONGEST).and_then(|data| expand(data, length as usize))
            } else {
                Some(data.to_vec())
            };
            let text = text.and_then(|text| {
                let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
                String::from_utf8(text[..end].to_vec()).ok()
            });
            if let Some(text) = text.filter(|_| found.as_ref().is_none_or(|(newest, _)| *newest < target)) {
                found = Some((target, text));
            }
        }
        at = next;
    }
    Some(found.map(|(_, text)| text))
}

/// The PTX of every fat binary in a static library. One without any holds what the driver provides itself, or nothing.
pub(super) fn archive(bytes: &[u8]) -> Vec<String> {
    let magic = 0xba55_ed50_u32.to_le_bytes();
    let mut texts = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(4).position(|window| window == magic) {
        at += found;
        if number::<2>(bytes, at + 4) == Some(1) {
            texts.extend(ptx(&bytes[at..]).flatten());
        }
        at += 4;
    }
    texts
}

/// Expands an LZ4 block.
fn expand(data: &[u8], length: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(length.min(1 << 20));
    let mut at = 0;
    let extended = |at: &mut usize, base: usize| {
        let mut count = base;
        if base == 15 {
            loop {
                let more = *data.get(*at)?;
                *at += 1;
                count += usize::from(more);
                if more != 255 {
                    break;
                }
            }
        }
        Some(count)
    };
    while at < data.len() && out.len() < length {
        let token = data[at];
        at += 1;
        let literals = extended(&mut at, usize::from(token >> 4))?;
        out.extend_from_slice(data.get(at..at.checked_add(literals)?)?);
        at += literals;
        if at >= data.len() || out.len() >= length {
            break;
        }
        let back = number::<2>(data, at)? as usize;
        at += 2;
        let count = extended(&mut at, usize::from(token & 15))? + 4;
        let start = out.len().checked_sub(back).filter(|_| back > 0)?;
        if out.len() + count > length {
            return None;
        }
        for index in 0..count {
            out.push(out[start + index]);
        }
    }
    (out.len() == length).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: u16, target: u32, flags: u64, data: &[u8], length: u64) -> Vec<u8> {
        let padded = data.len().next_multiple_of(8);
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend([1, 1]);
        bytes.extend(64_u32.to_le_bytes());
        bytes.extend((padded as u64).to_le_bytes());
        bytes.extend((data.len() as u32).to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(target.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(flags.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(length.to_le_bytes());
        bytes.extend(data);
        bytes.resize(64 + padded, 0);
        bytes
    }

    fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut bytes = 0xba55_ed50_u32.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    #[test]
    fn the_newest_ptx_is_taken() {
        let bytes = fat(&[entry(2, 90, 1, b"\x7fELF", 0), entry(1, 75, 1, b"old\0", 0), entry(1, 80, 1, b"new\0", 0)]);
        assert_eq!(ptx(&bytes), Some(Some("new".to_owned())));
        assert_eq!(ptx(&fat(&[entry(2, 90, 1, b"\x7fELF", 0)])), Some(None));
        for length in 0..bytes.len() {
            ptx(&bytes[..length]);
        }
    }

    #[test]
    fn compressed_ptx_is_expanded() {
        // "abcabcabcabcX": three literals, a match of 9 bytes three back, one literal.
        let data = [0x35, b'a', b'b', b'c', 3, 0, 0x10, b'X'];
        assert_eq!(expand(&data, 13).as_deref(), Some(&b"abcabcabcabcX"[..]));
        assert_eq!(ptx(&fat(&[entry(1, 80, COMPRESSED, &data, 13)])), Some(Some("abcabcabcabcX".to_owned())));
        assert_eq!(ptx(&fat(&[entry(1, 80, OTHERWISE_COMPRESSED, &data, 13)])), Some(None));
        assert_eq!(expand(&[0x35, b'a', b'b', b'c', 9, 0], 12), None);
    }
}
