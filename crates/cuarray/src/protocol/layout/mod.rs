//! Shape and byte strides, checked together.
//!
//! Everything that follows from them (how many elements, which bytes around the data pointer may be touched, whether the
//! elements lie in C or Fortran order) is computed in many places of many libraries, and each place that forgets to check
//! an overflow, or counts a zero stride as contiguous, reads past somebody's allocation. Here the arithmetic is done once,
//! with checks, on construction: a [`Layout`] that exists has a byte count and an extent that are representable, so its
//! methods cannot fail. None of them is stored; all are a pass over a few integers that are in the cache already.
//!
//! Zero and negative strides are legal (clause I8), and so are strides that are no multiple of the item size, as fields of
//! structures have them. Contiguity follows NumPy: axes of length 1 do not count, and an array without elements is
//! contiguous both ways. A zero stride on a longer axis is *not* contiguous, also where one copy would fetch all bytes:
//! that is what broadcasting makes, and a consumer that is told "C-contiguous" reads on past the single element.

pub(crate) mod axes;
pub(crate) mod contiguity;
pub(crate) mod dimension;
pub(crate) mod index;
pub(crate) mod reshape;
pub(crate) mod slice;
pub(crate) mod view;

use crate::{Dims, Error, Result, Strides};
use std::{fmt, ops::Range};

/// The most dimensions that a [`Layout`] can have; NumPy's limit.
///
/// ```
/// use cuarray::{Layout, MAX_NDIM};
///
/// assert!(Layout::c_contiguous(&[1; MAX_NDIM], 4).is_ok());
/// assert!(Layout::c_contiguous(&[1; MAX_NDIM + 1], 4).is_err());
/// ```
pub const MAX_NDIM: usize = 64;

/// Shape, byte strides and item size of an array (clauses I2 and I8), checked together.
///
/// ```
/// use cuarray::Layout;
///
/// let rows = Layout::c_contiguous(&[3, 4], 4)?;
/// assert_eq!(rows.strides(), &[16, 4]);
/// assert_eq!((rows.len(), rows.nbytes(), rows.byte_extent()), (12, 48, 0..48));
///
/// // Every second column, from the last to the first.
/// let view = Layout::strided(&[3, 2], &[16, -8], 4)?;
/// assert_eq!(view.byte_extent(), -8..36);
/// assert!(!view.is_c_contiguous());
///
/// let error = Layout::c_contiguous(&[usize::MAX, 2], 4).unwrap_err();
/// assert_eq!(error.key(), Some("shape"));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Dims,
    strides: Strides,
    itemsize: u32,
}

impl Layout {
    /// Elements in C order: the last dimension is the fastest.
    ///
    /// # Errors
    /// Key `shape`: more than [`MAX_NDIM`] dimensions, or more bytes than `isize::MAX`. As in NumPy, dimensions of length 0 do
    /// not excuse the others from this. Key `typestr`: an item size beyond `i32::MAX`.
    pub fn c_contiguous(shape: &[usize], itemsize: usize) -> Result<Layout> {
        Layout::from_parts(Dims::from_slice(shape), None, itemsize)
    }

    /// Elements in Fortran order: the first dimension is the fastest.
    ///
    /// # Errors
    /// As [`Layout::c_contiguous`].
    pub fn f_contiguous(shape: &[usize], itemsize: usize) -> Result<Layout> {
        let checked_itemsize = check_shape(shape, itemsize)?;
        let mut step = itemsize as isize;
        let strides = shape.iter().map(|&length| next_stride(&mut step, length)).collect();
        Ok(Layout { shape: Dims::from_slice(shape), strides, itemsize: checked_itemsize })
    }

    /// Any strides, in bytes.
    ///
    /// # Errors
    /// As [`Layout::c_contiguous`]; key `strides`: another number of them than of dimensions, or an extent that is not
    /// representable in `isize`.
    pub fn strided(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<Layout> {
        Layout::from_parts(Dims::from_slice(shape), Some(Strides::from_slice(strides)), itemsize)
    }

    /// The entries `shape` and `strides` as an importer collects them; without strides, C order.
    ///
    /// # Errors
    /// As [`Layout::strided`].
    #[inline(always)] // An import writes the parts where they are to stay, and moves them no more.
    #[doc(hidden)]
    pub fn from_parts(shape: Dims, strides: Option<Strides>, itemsize: usize) -> Result<Layout> {
        let checked_itemsize = check_shape(&shape, itemsize)?;
        let strides = match strides {
            Some(strides) => {
                check_strides(&shape, &strides, itemsize)?;
                strides
            }
            None => c_strides(&shape, itemsize),
        };
        Ok(Layout { shape, strides, itemsize: checked_itemsize })
    }

    /// What [`Layout::fill`] begins with.
    #[inline(always)]
    pub(crate) fn blank() -> Layout {
        Layout { shape: Dims::new(), strides: Strides::new(), itemsize: 0 }
    }

    /// [`Layout::from_parts`] in the place of a blank one, as moving a layout costs an import more than checking it: `shape` and
    /// `strides` append the entries. The answer is the [extent](Layout::byte_extent), or `None` where the elements lie in C order;
    /// after an error the layout is of no use.
    #[inline(always)]
    pub(crate) fn fill<E: From<Error>>(
        &mut self,
        itemsize: usize,
        shape: impl FnOnce(&mut Dims) -> Result<(), E>,
        strides: Option<impl FnOnce(&mut Strides, &Dims) -> Result<(), E>>,
    ) -> Result<Option<Range<isize>>, E> {
        shape(&mut self.shape)?;
        self.itemsize = check_shape(&self.shape, itemsize)?;
        let Some(strides) = strides else {
            self.strides = c_strides(&self.shape, itemsize);
            return Ok(None);
        };
        strides(&mut self.strides, &self.shape)?;
        // What is in C order spans no more bytes than the shape has.
        if self.strides.len() == self.shape.len() && is_dense(self.axes().rev(), itemsize) {
            return Ok(None);
        }
        Ok(Some(check_strides(&self.shape, &self.strides, itemsize)?))
    }

    /// The length of each dimension; empty for a 0-d array, which has one element.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes to step for each dimension.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// The bytes of one element.
    pub fn itemsize(&self) -> usize {
        self.itemsize as usize
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        // A later zero makes good what the lengths before it multiply to: check_shape has bounded it.
        self.shape.iter().product()
    }

    /// Whether there are no elements: some dimension has length 0.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Elements times item size, as NumPy counts: what a contiguous copy takes. An array whose strides leave gaps or
    /// repeat elements touches more or fewer bytes; see [`Layout::byte_extent`].
    pub fn nbytes(&self) -> usize {
        self.len() * self.itemsize()
    }

    /// Whether the elements lie without gaps in C order. NumPy's rule: the strides of axes of length 1 are ignored, and
    /// an empty array is contiguous. Zero strides on longer axes are not.
    pub fn is_c_contiguous(&self) -> bool {
        self.is_empty() || is_dense(self.axes().rev(), self.itemsize())
    }

    /// Whether the elements lie without gaps in Fortran order; the rules are those of [`Layout::is_c_contiguous`].
    pub fn is_f_contiguous(&self) -> bool {
        self.is_empty() || is_dense(self.axes(), self.itemsize())
    }

    /// The bytes that the elements take, relative to the data pointer: from the lowest of their first bytes to behind the
    /// highest of their last. It starts below zero where strides are negative; without elements it is `0..0`.
    #[doc(hidden)]
    pub fn byte_extent(&self) -> Range<isize> {
        if self.itemsize == 0 {
            return 0..0;
        }
        // Nothing wraps where there are elements: check_strides has computed the same.
        let (mut low, mut high) = (0isize, 0isize);
        for (length, stride) in self.axes() {
            if length == 0 {
                return 0..0;
            }
            let last = (length as isize - 1).wrapping_mul(stride);
            low = low.wrapping_add(last.min(0));
            high = high.wrapping_add(last.max(0));
        }
        low..high + self.itemsize as isize
    }

    fn axes(&self) -> impl DoubleEndedIterator<Item = (usize, isize)> {
        self.shape.iter().copied().zip(self.strides.iter().copied())
    }
}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Layout(shape {}, strides {}, itemsize {})", Tuple(&self.shape), Tuple(&self.strides), self.itemsize)
    }
}

/// The stride of the next axis outwards. A length of 0 counts as 1, so that no axis is lost in the others' zeros; `check_shape`
/// has bounded the product.
fn next_stride(step: &mut isize, length: usize) -> isize {
    let stride = *step;
    *step *= length.max(1) as isize;
    stride
}

/// The strides of a C-contiguous array.
#[inline]
fn c_strides(shape: &[usize], itemsize: usize) -> Strides {
    let ndim = shape.len();
    let mut strides = Strides::repeat(0, ndim);
    let mut step = itemsize as isize;
    for (stride, &length) in strides.iter_mut().zip(shape).rev() {
        *stride = next_stride(&mut step, length);
    }
    strides
}

/// `axes` from the fastest on.
fn is_dense(axes: impl Iterator<Item = (usize, isize)>, itemsize: usize) -> bool {
    let mut step = itemsize as isize;
    for (length, stride) in axes {
        if length != 1 {
            if stride != step {
                return false;
            }
            step *= length as isize;
        }
    }
    true
}

/// Dimension and byte count; gives back the item size in its narrow form.
fn check_shape(shape: &[usize], itemsize: usize) -> Result<u32> {
    let narrow = match i32::try_from(itemsize) {
        Ok(itemsize) => itemsize as u32,
        Err(_) => {
            return Err(Error::entry("typestr", format!("an item size of {itemsize} bytes; at most 2147483647 exist")));
        }
    };
    if shape.len() > MAX_NDIM {
        return Err(Error::entry("shape", format!("{} dimensions; at most {MAX_NDIM} are supported", shape.len())));
    }
    match shape.iter().try_fold(itemsize.max(1), |bytes, &length| bytes.checked_mul(length.max(1))) {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(narrow),
        _ => Err(too_big(shape, itemsize)),
    }
}

#[cold]
fn too_big(shape: &[usize], itemsize: usize) -> Error {
    let why = format!(
        "{} of {itemsize}-byte elements is too big; at most {} bytes are addressable",
        Tuple(shape),
        isize::MAX
    );
    Error::entry("shape", why)
}

/// The extent that the strides give the array, which has to be representable.
fn check_strides(shape: &[usize], strides: &[isize], itemsize: usize) -> Result<Range<isize>> {
    if shape.len() != strides.len() {
        return Err(Error::entry(
            "strides",
            format!(
                "{} has {} entries; expected {}, one for each dimension of the shape {}",
                Tuple(strides),
                strides.len(),
                shape.len(),
                Tuple(shape)
            ),
        ));
    }
    let reach = || {
        let (mut low, mut high) = (0isize, 0isize);
        for (&length, &stride) in shape.iter().zip(strides) {
            if length == 0 {
                return Some(0..0);
            }
            let last = (length as isize - 1).checked_mul(stride)?;
            low = low.checked_add(last.min(0))?;
            high = high.checked_add(last.max(0))?;
        }
        let end = high.checked_add(itemsize as isize)?;
        end.checked_sub(low).map(|_| low..end)
    };
    reach().or_else(|| shape.contains(&0).then_some(0..0)).ok_or_else(|| too_far(shape, strides))
}

#[cold]
fn too_far(shape: &[usize], strides: &[isize]) -> Error {
    let why = format!(
        "{} reach further than {} bytes from one end of the shape {} to the other",
        Tuple(strides),
        isize::MAX,
        Tuple(shape)
    );
    Error::entry("strides", why)
}

/// Numbers as Python writes a tuple: `()`, `(3,)`, `(3, 4)`.
pub(crate) struct Tuple<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for Tuple<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (index, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

const _: () = assert!(size_of::<Layout>() <= 120 || size_of::<usize>() != 8);
