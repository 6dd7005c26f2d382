//! Layouts and interfaces that the text allows.

use cuarray::{DevicePtr, Interface, Layout, StreamEntry, TypeStr};
use proptest::prelude::*;
use proptest::sample::select;

/// An address that no test reads; the largest drawn layout around it stays within the address space.
const ADDRESS: DevicePtr = 1 << 46;
const MAX_NDIM: usize = 4;
const MAX_LENGTH: usize = 5;
const TYPES: [&str; 16] =
    ["|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", "|b1", ">i4", ">f8"];

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The axis follows the inner ones without a gap.
    Dense,
    /// There are bytes between its positions.
    Gap(isize),
    /// All positions are at one address.
    Broadcast,
    /// Any stride, in bytes; elements may overlap.
    Any(isize),
}

/// Layouts of every kind: dense, with gaps, reversed, broadcast, overlapping, without elements, in any order of the axes.
///
/// They have up to four axes of up to five positions. `itemsize` is the size of an element in bytes, at most 1024.
pub fn layouts(itemsize: usize) -> impl Strategy<Value = Layout> {
    let size = isize::try_from(itemsize).unwrap_or(1024).clamp(1, 1024);
    let step = prop_oneof![
        2 => Just(Step::Dense),
        1 => (1..=2 * size).prop_map(Step::Gap),
        1 => Just(Step::Broadcast),
        1 => (-20..=20_isize).prop_map(Step::Any),
    ];
    let axes = prop::collection::vec((0..=MAX_LENGTH, step, any::<bool>()), 0..=MAX_NDIM);
    axes.prop_flat_map(move |axes| {
        let mut next = size;
        let mut placed = Vec::new();
        for (length, step, is_reversed) in axes {
            let stride = match step {
                Step::Dense => next,
                Step::Gap(gap) => next + gap,
                Step::Broadcast => 0,
                Step::Any(stride) => stride,
            };
            // At most (1024 + 2048) * 5 ** 4 bytes, far below the limits of `isize`.
            next = next.max(stride.abs()) * length.max(1) as isize;
            placed.push((length, if is_reversed { -stride } else { stride }));
        }
        Just(placed).prop_shuffle()
    })
    .prop_filter_map("the layout is refused", move |axes| {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        Layout::strided(&shape, &strides, itemsize).ok()
    })
}

/// Interfaces that the text allows, over memory that does not exist: every layout and number type, read-only or not, with and without
/// a stream. No work may be enqueued on them.
pub fn interfaces() -> impl Strategy<Value = Interface> {
    let typestr = select(&TYPES[..]).prop_filter_map("no type string", |text| text.parse::<TypeStr>().ok());
    let stream = prop_oneof![
        Just(StreamEntry::None),
        Just(StreamEntry::LegacyDefault),
        Just(StreamEntry::PerThreadDefault),
        (3..1_i128 << 47).prop_filter_map("no handle", |handle| StreamEntry::try_from(handle).ok()),
    ];
    typestr
        .prop_flat_map(|typestr| (Just(typestr), layouts(typestr.itemsize())))
        .prop_flat_map(move |drawn| (Just(drawn), any::<bool>(), stream.clone()))
        .prop_filter_map("the interface is refused", |((typestr, layout), is_read_only, stream)| {
            let data = if layout.is_empty() { 0 } else { ADDRESS };
            let interface = Interface::new(data, typestr, layout).ok()?;
            Some(interface.with_read_only(is_read_only).with_stream(stream))
        })
}
