//! Shapes and strides (clauses I2 and I8): any numbers, and every result that is computed from them.

use crate::assert_readable;
use arbitrary::{Arbitrary, Result, Unstructured};
use cuarray::{
    __private::fuzzing::{
        CopyPlan, byte_extent, export_data, may_overlap_itself, packed, split, squeeze, with_itemsize,
    },
    Index, Interface, Layout, MAX_NDIM, Order, Slice, TypeStr, View,
};

/// The maximum number of elements that are visited.
const FEW: usize = 2_000;

/// Checks that the numbers are refused with a readable message, or make a layout. The results of the layout's functions
/// must equal those of visiting each element.
pub fn check(data: &[u8]) {
    // An input may end early.
    let _ = all(&mut Unstructured::new(data));
}

fn all(u: &mut Unstructured<'_>) -> Result<()> {
    let ndim = ndim(u)?;
    let shape = (0..ndim).map(|_| length(u)).collect::<Result<Vec<_>>>()?;
    let itemsize = itemsize(u)?;
    let strides = strides(u, &shape, itemsize)?;
    let pointer = pointer(u)?;
    let layout = match Layout::strided(&shape, &strides, itemsize) {
        Ok(layout) => layout,
        Err(error) => {
            assert!(!is_sound(&shape, &strides, itemsize), "refused: {error}");
            assert!(matches!(error.key(), Some("shape" | "strides" | "typestr")));
            assert_readable(&error.to_string());
            return Ok(());
        }
    };
    assert!(is_sound(&shape, &strides, itemsize), "{layout:?} was accepted");
    properties(&layout);
    at_address(&layout, pointer);
    views(u, &layout)?;
    copies(u, &layout)
}

fn ndim(u: &mut Unstructured<'_>) -> Result<usize> {
    Ok(match u8::arbitrary(u)? {
        few @ ..=240 => usize::from(few % 6),
        many => MAX_NDIM - 12 + usize::from(many),
    })
}

fn length(u: &mut Unstructured<'_>) -> Result<usize> {
    Ok(match u8::arbitrary(u)? {
        few @ ..200 => usize::from(few % 7),
        200..225 => usize::from(u16::arbitrary(u)?),
        225..240 => 1 << (u8::arbitrary(u)? % 64),
        240.. => usize::arbitrary(u)?,
    })
}

fn itemsize(u: &mut Unstructured<'_>) -> Result<usize> {
    Ok(match u8::arbitrary(u)? {
        choice @ ..200 => [4, 8, 1, 2, 16, 3, 0, 12][usize::from(choice) % 8],
        200..240 => usize::from(u16::arbitrary(u)?),
        240..250 => (i32::MAX as usize - 1) + usize::from(u8::arbitrary(u)? % 3),
        250.. => usize::arbitrary(u)?,
    })
}

fn strides(u: &mut Unstructured<'_>, shape: &[usize], itemsize: usize) -> Result<Vec<isize>> {
    let ndim = if u8::arbitrary(u)? == 255 { usize::from(u8::arbitrary(u)? % 8) } else { shape.len() };
    let mut step = itemsize as isize;
    let mut strides = Vec::new();
    for axis in 0..ndim {
        strides.push(match u8::arbitrary(u)? {
            // Strides as producers write them, from the fastest axis: dense, reversed, with a gap, broadcast.
            ..100 => step,
            100..130 => step.wrapping_neg(),
            130..150 => step.wrapping_add(itemsize as isize),
            150..160 => 0,
            160..200 => isize::from(i8::arbitrary(u)?),
            200..220 => isize::from(i16::arbitrary(u)?),
            220..235 => (1isize << (u8::arbitrary(u)? % 63)).wrapping_neg(),
            235.. => isize::arbitrary(u)?,
        });
        step = step.wrapping_mul(shape.get(axis).map_or(1, |&length| length.max(1) as isize));
    }
    strides.reverse();
    Ok(strides)
}

fn pointer(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u8::arbitrary(u)? {
        ..128 => 0x7f00_0000_0000,
        128..160 => u64::from(u8::arbitrary(u)?),
        160..192 => u64::MAX - u64::from(u8::arbitrary(u)?),
        192.. => u64::arbitrary(u)?,
    })
}

/// Whether a layout is valid by definition, in arithmetic that does not overflow. It has at most `MAX_NDIM` axes and an item
/// size of NumPy. Its size and extent fit `isize`. As in NumPy, a length of 0 excuses the extent but not the other lengths.
fn is_sound(shape: &[usize], strides: &[isize], itemsize: usize) -> bool {
    let most = isize::MAX as u128;
    let bytes = shape.iter().filter(|&&length| length != 0).try_fold(itemsize.max(1) as u128, |bytes, &length| {
        Some(bytes * length as u128).filter(|&bytes| bytes <= most)
    });
    let reach: Option<Vec<i128>> = shape
        .iter()
        .zip(strides)
        .map(|(&length, &stride)| {
            Some((length as i128 - 1) * i128::from(stride as i64)).filter(|reach| reach.unsigned_abs() <= 1 << 63)
        })
        .collect();
    itemsize <= i32::MAX as usize
        && shape.len() <= MAX_NDIM
        && shape.len() == strides.len()
        && bytes.is_some()
        && (shape.contains(&0)
            || reach.is_some_and(|reach| {
                let low: i128 = reach.iter().map(|&reach| reach.min(0)).sum();
                let high: i128 = reach.iter().map(|&reach| reach.max(0)).sum::<i128>() + itemsize as i128;
                low >= isize::MIN as i128 && high <= isize::MAX as i128 && high - low <= isize::MAX as i128
            }))
}

/// The offset of each element, in C order of the indices.
fn offsets(layout: &Layout) -> Vec<isize> {
    if layout.is_empty() {
        return vec![];
    }
    let mut offsets = vec![0];
    for (&length, &stride) in layout.shape().iter().zip(layout.strides()) {
        offsets = offsets.iter().flat_map(|&at| (0..length as isize).map(move |index| at + index * stride)).collect();
    }
    offsets
}

fn properties(layout: &Layout) {
    let (len, itemsize) = (layout.len(), layout.itemsize());
    assert_eq!(layout.nbytes(), len * itemsize);
    assert_eq!(layout.is_empty(), len == 0);
    let extent = byte_extent(layout);
    assert!(extent.start <= 0 && extent.end >= 0);
    if len > FEW {
        return;
    }
    let offsets = offsets(layout);
    assert_eq!(offsets.len(), len);
    let counted = match (offsets.iter().min(), offsets.iter().max()) {
        (Some(&low), Some(&high)) if itemsize != 0 => low..high + itemsize as isize,
        _ => 0..0,
    };
    assert_eq!(extent, counted, "{layout:?}");
    let in_order = |offsets: &[isize]| offsets.iter().enumerate().all(|(index, &at)| at == (index * itemsize) as isize);
    assert_eq!(layout.is_c_contiguous(), in_order(&offsets), "{layout:?}");
    let transposed = layout.transpose(None).expect("every layout can be transposed");
    assert_eq!(layout.is_f_contiguous(), in_order(&self::offsets(&transposed)), "{layout:?}");
    assert_eq!(transposed.transpose(None).expect("and back"), *layout);
    if !may_overlap_itself(layout) {
        let mut sorted = offsets;
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= itemsize as isize), "{layout:?}");
    }
    let packed = packed(layout).expect("as many bytes, without the gaps");
    assert_eq!((packed.shape(), byte_extent(&packed)), (layout.shape(), 0..layout.nbytes() as isize));
    assert!(itemsize == 0 || !may_overlap_itself(&packed), "{packed:?}");
}

/// Checks that an array of the layout at an address is refused unless it lies within the address space.
fn at_address(layout: &Layout, pointer: u64) {
    let extent = byte_extent(layout);
    let (start, end) =
        (i128::from(pointer) + i128::from(extent.start as i64), i128::from(pointer) + i128::from(extent.end as i64));
    let fits = extent.is_empty() || (pointer != 0 && start >= 0 && end <= i128::from(u64::MAX));
    match Interface::new(pointer, TypeStr::void(layout.itemsize() as u32), layout.clone()) {
        Ok(interface) => {
            assert!(fits);
            let range = interface.byte_range();
            assert_eq!((i128::from(range.start), i128::from(range.end)), (start, end));
            assert_eq!(export_data(&interface), if extent.is_empty() { 0 } else { pointer });
            assert!(!interface.to_string().is_empty() && !format!("{interface:?}").is_empty());
        }
        Err(error) => {
            assert!(!fits, "{error}");
            assert_eq!(error.key(), Some("data"));
            assert_readable(&error.to_string());
        }
    }
}

fn views(u: &mut Unstructured<'_>, layout: &Layout) -> Result<()> {
    match u8::arbitrary(u)? % 5 {
        0 | 1 => index(u, layout),
        2 => reshape(u, layout),
        3 => broadcast(u, layout),
        _ => item_size_and_split(u, layout),
    }
}

fn index(u: &mut Unstructured<'_>, layout: &Layout) -> Result<()> {
    let count = u8::arbitrary(u)? % 7;
    let entries = (0..count).map(|_| entry(u)).collect::<Result<Vec<_>>>()?;
    match (layout.index(&entries), indexed(layout, &entries)) {
        (Ok(view), Some(expected)) => {
            assert_eq!(view.layout.shape(), expected.0, "{layout:?} {entries:?}");
            within(&view, layout);
            if view.layout.len() <= FEW {
                let found: Vec<_> = offsets(&view.layout).iter().map(|&at| at + view.offset).collect();
                assert_eq!(found, expected.1(), "{layout:?} {entries:?}");
            }
        }
        (Err(error), None) => assert_readable(&error.to_string()),
        (found, expected) => panic!("{layout:?} {entries:?}: {found:?}, but {}", expected.is_some()),
    }
    Ok(())
}

fn entry(u: &mut Unstructured<'_>) -> Result<Index> {
    fn place(u: &mut Unstructured<'_>) -> Result<isize> {
        Ok(match u8::arbitrary(u)? {
            near @ ..230 => isize::from(near % 12) - 6,
            230..245 => isize::from(i16::arbitrary(u)?),
            245..250 => [isize::MIN, isize::MAX][usize::from(bool::arbitrary(u)?)],
            250.. => isize::arbitrary(u)?,
        })
    }
    fn bound(u: &mut Unstructured<'_>) -> Result<Option<isize>> {
        Ok(if bool::arbitrary(u)? { Some(place(u)?) } else { None })
    }
    Ok(match u8::arbitrary(u)? {
        ..80 => Index::At(place(u)?),
        80..220 => Index::Slice(Slice { start: bound(u)?, stop: bound(u)?, step: bound(u)? }),
        220..240 => Index::Ellipsis,
        240.. => Index::NewAxis,
    })
}

/// The shape and offsets of a view by Python's rules, element by element; `None` for an invalid index.
fn indexed<'a>(layout: &'a Layout, entries: &[Index]) -> Option<(Vec<usize>, impl Fn() -> Vec<isize> + 'a)> {
    let named = entries.iter().filter(|entry| matches!(entry, Index::At(_) | Index::Slice(_))).count();
    let mut whole = Some(layout.ndim().checked_sub(named)?);
    let mut full = Vec::new();
    for &entry in entries {
        match entry {
            Index::Ellipsis => full.extend(std::iter::repeat_n(Index::from(..), whole.take()?)),
            entry => full.push(entry),
        }
    }
    full.extend(std::iter::repeat_n(Index::from(..), whole.unwrap_or(0)));
    let mut axes = layout.shape().iter().zip(layout.strides());
    let mut shape = Vec::new();
    // For each entry, its positions in the indexed axis: the first, the step, and their number.
    let mut places: Vec<(isize, i128, i128, usize)> = Vec::new();
    for entry in full {
        match entry {
            Index::NewAxis => shape.push(1),
            Index::At(at) => {
                let (&length, &stride) = axes.next()?;
                let place = if at < 0 { at as i128 + length as i128 } else { at as i128 };
                if !(0..length as i128).contains(&place) {
                    return None;
                }
                places.push((stride, place, 0, 1));
            }
            Index::Slice(slice) => {
                let (&length, &stride) = axes.next()?;
                let (start, step, count) = python_slice(slice, length)?;
                shape.push(count);
                places.push((stride, start, step, count));
            }
            Index::Ellipsis => return None,
        }
    }
    (shape.len() <= MAX_NDIM).then_some((shape, move || {
        // Long axes before an empty axis must not be enumerated.
        let mut offsets = if places.iter().any(|&(.., count)| count == 0) { vec![] } else { vec![0isize] };
        for &(stride, start, step, count) in &places {
            let place = move |index: usize| (start + step * index as i128) as isize * stride;
            offsets = offsets.iter().flat_map(|&at| (0..count).map(move |index| at + place(index))).collect();
        }
        offsets
    }))
}

/// `slice.indices`: the first position, the step, and the number of positions.
fn python_slice(slice: Slice, length: usize) -> Option<(i128, i128, usize)> {
    let (length, step) = (length as i128, slice.step.unwrap_or(1) as i128);
    let (low, high) = if step < 0 { (-1, length - 1) } else { (0, length) };
    let clip = |place: isize| {
        let place = place as i128;
        (if place < 0 { place + length } else { place }).clamp(low, high)
    };
    let start = slice.start.map_or(if step < 0 { high } else { low }, clip);
    let stop = slice.stop.map_or(if step < 0 { low } else { high }, clip);
    let distance = if step < 0 { start - stop } else { stop - start };
    match step {
        0 => None,
        _ => Some((start, step, if distance > 0 { ((distance - 1) / step.abs() + 1) as usize } else { 0 })),
    }
}

/// Checks that the bytes of a view lie within the bytes of its array.
fn within(view: &View, layout: &Layout) {
    let (inner, outer) = (byte_extent(&view.layout), byte_extent(layout));
    if !inner.is_empty() {
        let (start, end) = (inner.start + view.offset, inner.end + view.offset);
        assert!(outer.start <= start && end <= outer.end, "{view:?} of {layout:?}");
    }
}

fn reshape(u: &mut Unstructured<'_>, layout: &Layout) -> Result<()> {
    let order = if bool::arbitrary(u)? { Order::C } else { Order::F };
    let mut shape: Vec<isize> = Vec::new();
    let mut rest = layout.len();
    for _ in 0..u8::arbitrary(u)? % 5 {
        shape.push(match u8::arbitrary(u)? {
            // A divisor of the rest, so that many shapes fit.
            choice @ ..200 => {
                let length = usize::from(choice) % rest.clamp(1, 12) + 1;
                let length = if rest.is_multiple_of(length) { length } else { 1 };
                rest /= length;
                length as isize
            }
            200..240 => -1,
            240..250 => isize::from(i8::arbitrary(u)?),
            250.. => isize::arbitrary(u)?,
        });
    }
    shape.push(rest as isize);
    match layout.reshape(&shape, order) {
        Ok(Some(new)) => {
            assert_eq!((new.len(), new.itemsize()), (layout.len(), layout.itemsize()));
            assert!(shape.iter().zip(new.shape()).all(|(&wanted, &is)| wanted == -1 || wanted == is as isize));
            if layout.len() <= FEW {
                let turned = |layout: &Layout| match order {
                    Order::C => layout.clone(),
                    Order::F => layout.transpose(None).expect("every layout can be transposed"),
                };
                assert_eq!(offsets(&turned(&new)), offsets(&turned(layout)), "{layout:?} as {shape:?}");
            }
        }
        // The reshape needs a copy, so the layout is not contiguous.
        Ok(None) => match order {
            Order::C => assert!(!layout.is_c_contiguous()),
            Order::F => assert!(!layout.is_f_contiguous()),
        },
        Err(error) => assert_readable(&error.to_string()),
    }
    Ok(())
}

fn broadcast(u: &mut Unstructured<'_>, layout: &Layout) -> Result<()> {
    let mut shape = (0..u8::arbitrary(u)? % 3).map(|_| length(u)).collect::<Result<Vec<_>>>()?;
    for &old in layout.shape() {
        shape.push(if u8::arbitrary(u)? < 200 && old != 1 { old } else { length(u)? });
    }
    match layout.broadcast_to(&shape) {
        Ok(wide) => {
            assert_eq!((wide.shape(), wide.itemsize()), (&shape[..], layout.itemsize()));
            within(&View { offset: 0, layout: wide.clone() }, layout);
            if !wide.is_empty() && wide.len() <= FEW {
                let places = offsets(layout);
                assert!(offsets(&wide).iter().all(|at| places.contains(at)), "{layout:?} as {shape:?}");
            }
        }
        Err(error) => assert_readable(&error.to_string()),
    }
    Ok(())
}

fn item_size_and_split(u: &mut Unstructured<'_>, layout: &Layout) -> Result<()> {
    match with_itemsize(layout, itemsize(u)?) {
        Ok(other) => {
            assert_eq!(other.nbytes(), layout.nbytes(), "{layout:?} as {other:?}");
            within(&View { offset: 0, layout: other }, layout);
        }
        Err(error) => assert_readable(&error.to_string()),
    }
    let section = usize::from(u8::arbitrary(u)?);
    if layout.shape().first().is_none_or(|&length| length <= FEW) {
        match split(layout, section) {
            Ok(pieces) => {
                let rows: usize = pieces.iter().map(|piece| piece.layout.shape()[0]).sum();
                assert_eq!(rows, layout.shape()[0]);
                pieces.iter().for_each(|piece| within(piece, layout));
            }
            Err(error) => assert_readable(&error.to_string()),
        }
    }
    match squeeze(layout) {
        Ok(squeezed) => assert_eq!((squeezed.len(), byte_extent(&squeezed)), (layout.len(), byte_extent(layout))),
        Err(error) => panic!("{error}"),
    }
    Ok(())
}

/// Checks that a copy plan between two layouts of one shape copies each byte of each element, and no other byte.
fn copies(u: &mut Unstructured<'_>, src: &Layout) -> Result<()> {
    let strides = strides(u, src.shape(), src.itemsize())?;
    let Ok(dst) = Layout::strided(src.shape(), &strides, src.itemsize()) else { return Ok(()) };
    if src.nbytes() > FEW {
        return Ok(());
    }
    let plan = match CopyPlan::new(&dst, src) {
        Ok(Some(plan)) => plan,
        Ok(None) => {
            assert!(src.nbytes() == 0);
            return Ok(());
        }
        Err(error) => {
            assert_readable(&error.to_string());
            return Ok(());
        }
    };
    let mut planned = Vec::new();
    for (to, from) in plan.starts() {
        for slice in 0..plan.slices {
            for row in 0..plan.rows {
                let at = |start: isize, pitch: usize, height: usize| start + ((slice * height + row) * pitch) as isize;
                let to = at(to, plan.dst_pitch, plan.dst_height);
                let from = at(from, plan.src_pitch, plan.src_height);
                planned.extend((0..plan.width as isize).map(|byte| (to + byte, from + byte)));
            }
        }
    }
    let mut expected: Vec<_> = offsets(&dst)
        .into_iter()
        .zip(offsets(src))
        .flat_map(|(to, from)| (0..src.itemsize() as isize).map(move |byte| (to + byte, from + byte)))
        .collect();
    planned.sort_unstable();
    expected.sort_unstable();
    assert_eq!(planned, expected, "{src:?} into {dst:?}");
    Ok(())
}
