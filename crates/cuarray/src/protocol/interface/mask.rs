//! The `mask` entry: validity of the elements (clause I10).
//!
//! A mask is an array with an interface, and is broadcast to the array that it masks. Many consumers ignore masks and compute
//! with invalid data. So a [`Mask`] is checked against its array when it is made and when it is attached, and every consumer
//! can see it.

use crate::protocol::layout::Tuple;
use crate::{Error, Interface, Kind, Layout, Result};

/// The mask of an array: a separate interface, whose elements are true where the array's are valid (clause I10).
///
/// ```
/// use cuarray::{Bool8, Interface, Layout, Mask, TypeStr};
///
/// let array = Layout::c_contiguous(&[3, 4], 8)?;
/// let column = Interface::new(0x2000, TypeStr::of::<Bool8>(), Layout::c_contiguous(&[3, 1], 1)?)?;
/// assert_eq!(Mask::new(column, &array)?.interface().shape(), &[3, 1]);
///
/// let other = Interface::new(0x2000, TypeStr::of::<Bool8>(), Layout::c_contiguous(&[3], 1)?)?;
/// assert_eq!(Mask::new(other, &array).unwrap_err().key(), Some("mask"));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask(Box<Interface>);

impl Mask {
    /// Makes `interface` the mask of an array with the layout `array`.
    ///
    /// # Errors
    /// Key `mask`: the interface has a mask itself, its elements are structures, text or times, or its shape cannot be broadcast
    /// to the array's.
    pub fn new(interface: Interface, array: &Layout) -> Result<Mask> {
        if interface.mask().is_some() {
            return Err(Error::entry("mask", "has a mask itself; expected an array without a mask"));
        }
        use Kind::{Bytes, Datetime, Object, Timedelta, Unicode, Void};
        if matches!(interface.typestr().kind(), Void | Bytes | Unicode | Datetime | Timedelta | Object) {
            let why = format!("has elements of type '{}', which are neither true nor false", interface.typestr());
            return Err(Error::entry("mask", why));
        }
        let mask = Mask(Box::new(interface));
        mask.check_broadcast(array)?;
        Ok(mask)
    }

    /// The mask's own interface. A consumer must wait for its stream as for the array's.
    pub fn interface(&self) -> &Interface {
        &self.0
    }

    /// Applies NumPy's rule: aligned at the last dimension, each length of the mask is 1 or equals the array's.
    pub(crate) fn check_broadcast(&self, array: &Layout) -> Result<()> {
        let (mask, array) = (self.0.shape(), array.shape());
        let fits = mask.len() <= array.len()
            && mask.iter().rev().zip(array.iter().rev()).all(|(&mask, &array)| mask == array || mask == 1);
        if fits {
            return Ok(());
        }
        let why = format!("of shape {} cannot be broadcast to the array's shape {}", Tuple(mask), Tuple(array));
        Err(Error::entry("mask", why))
    }
}
