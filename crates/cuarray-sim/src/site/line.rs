//! The source line of an instruction in a code object.
//!
//! Python packs lines into a table of location entries, which is read from the start (PEP 657). Reading it is pure
//! arithmetic over bytes. In some versions the interpreter's own function takes locks that only a thread holding the
//! interpreter may take.

/// The size of an instruction in bytes.
const CODE_UNIT: i64 = 2;

/// The line of the instruction at a byte offset, and the number of table bytes that determine it; `None` without a
/// line.
pub(super) fn line_at(table: &[u8], first: i32, offset: i64) -> Option<(u32, usize)> {
    let (mut end, mut line, mut place) = (0_i64, first, 0_usize);
    while let Some(head) = table.get(place) {
        end += i64::from((head & 7) + 1) * CODE_UNIT;
        let kind = (head >> 3) & 15;
        let step = match kind {
            15 => None,
            13 | 14 => Some(signed(table.get(place + 1..)?)?),
            10..=12 => Some(i32::from(kind) - 10),
            _ => Some(0),
        };
        line = line.checked_add(step.unwrap_or(0))?;
        // Only the first byte of an entry has its highest bit set.
        let rest = table.get(place + 1..)?.iter().position(|byte| byte & 0x80 != 0);
        place = rest.map_or(table.len(), |rest| place + 1 + rest);
        if end > offset {
            let line = u32::try_from(line).ok().filter(|_| step.is_some())?;
            return Some((line, place));
        }
    }
    None
}

/// Decodes a signed number with six bits per byte, lowest first, and the sign in the lowest bit.
fn signed(bytes: &[u8]) -> Option<i32> {
    let (mut value, mut shift) = (0_u32, 0);
    for byte in bytes {
        value |= u32::from(byte & 63).checked_shl(shift)?;
        shift += 6;
        if byte & 64 == 0 {
            let size = i32::try_from(value >> 1).ok()?;
            return Some(if value & 1 == 1 { -size } else { size });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_give_the_lines_of_instructions() {
        let table = [
            0x80 | 13 << 3 | 1, // two units, a line step without columns: +70
            140 & 63 | 64,
            140 >> 6,
            0x80, // one unit, short, same line, one byte of columns
            0x05,
            0x80 | 15 << 3,     // one unit without a line
            0x80 | 11 << 3 | 2, // three units, the next line, two bytes of columns
            0x01,
            0x02,
            0x80 | 14 << 3, // one unit, the long form: -3
            7,
            0,
            1,
            1,
        ];
        let line = |offset| line_at(&table, 1, offset).map(|(line, _)| line);
        let lines: Vec<_> = (0..16).step_by(2).map(line).collect();
        let expected = [Some(71), Some(71), Some(71), None, Some(72), Some(72), Some(72), Some(69)];
        assert_eq!(lines, expected);
        assert_eq!(line(16), None);
        assert_eq!(line_at(&table, 1, 0), Some((71, 3)));
    }

    #[test]
    fn arbitrary_bytes_do_not_panic() {
        let mut state = 1_u32;
        for length in 0..200 {
            let table: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (state >> 24) as u8
                })
                .collect();
            for offset in [-2, 0, 8, 1 << 20] {
                let _ = line_at(&table, i32::MAX, offset);
            }
        }
    }
}
