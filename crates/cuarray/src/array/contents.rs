//! `Display` and `Debug` of a [`DeviceArray`]: its elements, which are copied to the host; of a large array those at the ends of each
//! dimension.

use super::device_array::DeviceArray;
use crate::{Dimension, Element, Index, IxDyn, Result, Slice};
use std::fmt::{self, Debug, Display, Write};

/// The most elements that are copied and shown. An array with more is cut.
const MOST: usize = 1000;
/// The elements that a cut dimension shows at each end, in the order in which they are tried.
const ENDS: [usize; 2] = [3, 1];

/// Writes the elements in brackets, as NumPy does. Of an array with more than 1,000 elements, each dimension shows three at each end, or
/// one if those are too many. The precision and the width of the format are those of an element.
///
/// The copy waits for the work on the array. If it fails, the error is written in place of the elements.
///
/// ```
/// # use cuarray::DeviceArray;
/// # cuarray::__simulated!(driver, context, stream);
/// let matrix = DeviceArray::from_host(&[1.0f32, 2.0, 3.0, 4.0], [2, 2], &stream)?;
/// assert_eq!(matrix.to_string(), "[[1, 2],\n [3, 4]]");
/// assert_eq!(format!("{:.1}", matrix.t()), "[[1.0, 3.0],\n [2.0, 4.0]]");
///
/// let long = DeviceArray::full([5000], 7u8, &stream)?;
/// assert_eq!(long.to_string(), "[7, 7, 7, ..., 7, 7, 7]");
/// # Ok::<(), cuarray::Error>(())
/// ```
impl<T: Element + Display, D: Dimension> Display for DeviceArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        contents(self, f, <T as Display>::fmt)
    }
}

/// Writes the elements as `Display` does, each in its debug format, and then the interface. The copy waits for the work on the array.
///
/// ```
/// # use cuarray::DeviceArray;
/// # cuarray::__simulated!(driver, context, stream);
/// let matrix = DeviceArray::from_host(&[1.0f32, 2.0, 3.0, 4.0], [2, 2], &stream)?;
/// let text = format!("{matrix:?}");
/// assert!(text.starts_with("DeviceArray([[1.0, 2.0],\n [3.0, 4.0]], Interface(v3 '<f4' (2, 2) at 0x"), "{text}");
/// # Ok::<(), cuarray::Error>(())
/// ```
impl<T: Element + Debug, D: Dimension> Debug for DeviceArray<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeviceArray(")?;
        contents(self, f, <T as Debug>::fmt)?;
        write!(f, ", {:?})", self.as_raw().private_interface())
    }
}

/// Writes one element.
type Show<T> = fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result;

fn contents<T: Element, D: Dimension>(
    array: &DeviceArray<T, D>,
    f: &mut fmt::Formatter<'_>,
    show: Show<T>,
) -> fmt::Result {
    let Some(ends) = ends(array.shape()) else {
        return write!(f, "<{} elements of {} dimensions>", array.len(), array.ndim());
    };
    let mut elements: Vec<T> = Vec::new();
    match fetch(&DeviceArray::from_checked(array.as_raw().clone()), ends, &mut elements) {
        Ok(()) => nested(f, array.shape(), ends, &mut elements.iter().map(|element| (element, show)), 1),
        Err(error) => write!(f, "<{error}>"),
    }
}

/// The elements to show at each end of a dimension; the whole length if the array is not cut. `None` if even the ends are too many.
fn ends(shape: &[usize]) -> Option<usize> {
    let fits = |ends: usize| {
        let shown = shape.iter().map(|&length| if is_cut(length, ends) { 2 * ends } else { length });
        shown.clone().any(|length| length == 0)
            || shown.into_iter().try_fold(1, usize::checked_mul).is_some_and(|count| count <= MOST)
    };
    [usize::MAX / 2].into_iter().chain(ENDS).find(|&ends| fits(ends))
}

fn is_cut(length: usize, ends: usize) -> bool {
    length > ends.saturating_mul(2)
}

/// Appends the shown elements in C order.
fn fetch<T: Element>(array: &DeviceArray<T, IxDyn>, ends: usize, into: &mut Vec<T>) -> Result<()> {
    let part = |index: Index| -> Result<DeviceArray<T, IxDyn>> {
        Ok(DeviceArray::from_checked(array.as_raw().index(&[index])?))
    };
    let Some((&length, inner)) = array.shape().split_first() else {
        into.extend(array.to_host()?);
        return Ok(());
    };
    if !array.shape().iter().any(|&length| is_cut(length, ends)) {
        into.extend(array.to_host()?);
        return Ok(());
    }
    let first = if is_cut(length, ends) { ends } else { length };
    let last = if is_cut(length, ends) { length - ends..length } else { 0..0 };
    if inner.is_empty() {
        let slice =
            |start: usize, stop: usize| Slice { start: Some(start as isize), stop: Some(stop as isize), step: None };
        fetch(&part(slice(0, first).into())?, usize::MAX / 2, into)?;
        return fetch(&part(slice(last.start, last.end).into())?, usize::MAX / 2, into);
    }
    (0..first).chain(last).try_for_each(|at| fetch(&part(Index::At(at as isize))?, ends, into))
}

/// Writes the elements of one dimension, and of those within it. `depth` counts the open brackets.
fn nested<'e, T: 'e>(
    f: &mut fmt::Formatter<'_>,
    shape: &[usize],
    ends: usize,
    elements: &mut impl Iterator<Item = (&'e T, Show<T>)>,
    depth: usize,
) -> fmt::Result {
    let Some((&length, inner)) = shape.split_first() else {
        return elements.next().map_or(Ok(()), |(element, show)| show(element, f));
    };
    let is_cut = is_cut(length, ends);
    // Without elements, the inner brackets would show lengths of 0 only.
    let shown = if shape.contains(&0) {
        0
    } else if is_cut {
        2 * ends
    } else {
        length
    };
    f.write_char('[')?;
    for at in 0..shown {
        if at > 0 {
            separate(f, inner.len(), depth)?;
        }
        if is_cut && at == ends {
            f.write_str("...")?;
            separate(f, inner.len(), depth)?;
        }
        nested(f, inner, ends, elements, depth + 1)?;
    }
    f.write_char(']')
}

/// Writes what stands between two parts of a dimension: a space, or for parts with dimensions a line break, with an empty line for each
/// dimension above a row.
fn separate(f: &mut fmt::Formatter<'_>, inner: usize, depth: usize) -> fmt::Result {
    match inner {
        0 => f.write_str(", "),
        _ => {
            f.write_char(',')?;
            (0..inner).try_for_each(|_| f.write_char('\n'))?;
            (0..depth).try_for_each(|_| f.write_char(' '))
        }
    }
}
