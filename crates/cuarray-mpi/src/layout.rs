//! The bytes that elements of a datatype occupy.

use crate::library::{pack, pack_size, type_extent, type_size, type_true_extent, unpack};
use crate::{Address, Count, Handle};
use std::ffi::c_int;

/// Rows of bytes at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) address: Address,
    pub(crate) width: usize,
    pub(crate) pitch: usize,
    pub(crate) height: usize,
}

/// The most bytes of a datatype whose gaps are found. Of a larger one, no accesses are reported.
const MOST_BYTES: isize = 1 << 28;
/// The most rows of a call that are reported.
const MOST_ROWS: usize = 4096;

/// The rows that `count` elements at `address` occupy. Gaps in the datatype are left out.
pub(crate) fn rows(address: Address, count: Count, datatype: Handle, comm: Handle) -> Vec<Rows> {
    elements(address, count, datatype, comm).unwrap_or_default()
}

fn elements(address: Address, count: Count, datatype: Handle, comm: Handle) -> Option<Vec<Rows>> {
    let count = usize::try_from(count).ok().filter(|count| *count > 0)?;
    let (mut lower, mut extent, mut first, mut span, mut size) = (0, 0, 0, 0, 0);
    // SAFETY: the numbers are live, and the program passes the datatype of its call.
    unsafe {
        type_extent(datatype, &mut lower, &mut extent)?;
        type_true_extent(datatype, &mut first, &mut span)?;
        type_size(datatype, &mut size)?;
    }
    if span <= 0 {
        return None;
    }
    let start = address.wrapping_add_signed(first);
    let one = if size as isize == span {
        vec![Rows { address: start, width: span as usize, pitch: 0, height: 1 }]
    } else {
        joined(&gaps(first, span, datatype, comm)?, start)
    };
    if count == 1 {
        return Some(one);
    }
    if let ([row], Ok(pitch)) = (&one[..], usize::try_from(extent))
        && row.height == 1
    {
        // Elements without gaps between them are one row.
        return Some(match pitch == row.width {
            true => vec![Rows { width: row.width.checked_mul(count)?, ..*row }],
            false => vec![Rows { pitch, height: count, ..*row }],
        });
    }
    let shifted = |index: usize| extent.checked_mul(isize::try_from(index).ok()?);
    let all = (0..count)
        .map_while(shifted)
        .flat_map(|shift| one.iter().map(move |row| Rows { address: row.address.wrapping_add_signed(shift), ..*row }));
    Some(all.take(MOST_ROWS).collect())
}

/// The parts of one element that hold data, as offsets from its first byte and lengths.
///
/// The element is packed from memory where all bits are set, and unpacked into memory where none is. So the library itself tells its bytes.
fn gaps(first: isize, span: isize, datatype: Handle, comm: Handle) -> Option<Vec<(usize, usize)>> {
    if span > MOST_BYTES {
        return None;
    }
    let mut capacity: c_int = 0;
    // SAFETY: the number is live, and the program passes the datatype and the communicator of its call.
    unsafe { pack_size(1, datatype, comm, &mut capacity)? };
    let (full, mut empty) = (vec![u8::MAX; span as usize], vec![0_u8; span as usize]);
    let mut packed = vec![0_u8; usize::try_from(capacity).ok()?];
    let (mut end, mut position) = (0, 0);
    let before = |bytes: *const u8| (bytes as Address).wrapping_add_signed(first.wrapping_neg());
    // SAFETY: the bytes of one element lie in the `span` bytes behind `first`, and its packed form in `capacity` bytes.
    unsafe {
        pack(before(full.as_ptr()), 1, datatype, packed.as_mut_ptr(), capacity, &mut end, comm)?;
        unpack(packed.as_ptr(), end, &mut position, before(empty.as_mut_ptr()), 1, datatype, comm)?;
    }
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for (offset, _) in empty.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        match parts.last_mut() {
            Some((start, length)) if *start + *length == offset => *length += 1,
            _ => parts.push((offset, 1)),
        }
    }
    Some(parts)
}

/// Joins parts of one length at one distance into rows.
fn joined(parts: &[(usize, usize)], start: Address) -> Vec<Rows> {
    let mut all: Vec<Rows> = Vec::new();
    for (offset, width) in parts {
        let address = start.wrapping_add(*offset);
        match all.last_mut() {
            Some(last) if last.width == *width && last.height == 1 => {
                (last.pitch, last.height) = (address - last.address, 2);
            }
            Some(last) if last.width == *width && address == last.address + last.height * last.pitch => {
                last.height += 1;
            }
            _ => all.push(Rows { address, width: *width, pitch: 0, height: 1 }),
        }
    }
    all.truncate(MOST_ROWS);
    all
}
