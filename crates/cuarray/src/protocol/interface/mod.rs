//! One `__cuda_array_interface__`, parsed and validated.
//!
//! An [`Interface`] is plain data. It owns nothing, keeps nothing alive (clause L1) and needs neither driver nor Python, so
//! it can be made, compared and printed anywhere. Its existence means that the dictionary was consistent: all bytes of the
//! layout are valid addresses, type string, layout and fields have one item size, and no entry is newer than the version.
//! Only the driver knows whether the memory exists.
//! A reader builds it from the entries of a dictionary, in any order.

mod bytes;
mod display;
pub(crate) mod mask;

use crate::{ByteOrder, Descr, Error, Kind, Layout, Mask, Result, StreamEntry, TypeStr, Version, View, error::Brief};
use bytes::{byte_extent, check_memory, is_packed, packed_bytes};
use std::{fmt, ops::Range};

/// An address in device memory, as the driver's `CUdeviceptr` holds it.
pub type DevicePtr = u64;

/// One parsed and validated `__cuda_array_interface__`.
///
/// ```
/// use cuarray::{Interface, Layout, StreamEntry, TypeStr};
///
/// let interface = Interface::new(0x7f00_0000_0000, TypeStr::of::<f64>(), Layout::c_contiguous(&[10, 3], 8)?)?
///     .with_stream(StreamEntry::PerThreadDefault)
///     .with_read_only(true);
/// assert_eq!((interface.shape(), interface.strides()), (&[10, 3][..], &[24, 8][..]));
/// assert_eq!(interface.byte_range(), 0x7f00_0000_0000..0x7f00_0000_00f0);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Interface {
    layout: Layout,
    data: DevicePtr,
    stream: StreamEntry,
    mask: Option<Mask>,
    descr: Option<Descr>,
    typestr: TypeStr,
    version: Version,
    read_only: bool,
}

impl Interface {
    /// Makes an interface from the required entries. The defaults are version 3, writable, no stream, no mask and no fields.
    ///
    /// An array that takes no bytes (a dimension of 0, or items of size 0) may have any pointer (clauses I5 and V1).
    ///
    /// # Errors
    /// * `typestr`: Python objects, or an item size that differs from the layout's;
    /// * `strides`: a bit field of partial bytes that is not in C order (see [`Interface::byte_range`]);
    /// * `data`: a null pointer, or a layout that reaches beyond either end of the address space.
    #[inline(always)] // As Layout::from_parts.
    pub fn new(data: DevicePtr, typestr: TypeStr, layout: Layout) -> Result<Interface> {
        check_memory(data, typestr, &layout)?;
        Ok(Interface {
            layout,
            data,
            stream: StreamEntry::None,
            mask: None,
            descr: None,
            typestr,
            version: Version::V3,
            read_only: false,
        })
    }

    /// Like [`Interface::new`], but boxed: the layout is [filled](Layout::fill) in place, which saves an import the
    /// copies.
    ///
    /// # Errors
    /// Those of `fill` and of [`Interface::new`].
    #[inline(always)]
    pub(crate) fn in_place<E: From<Error>>(
        data: DevicePtr,
        typestr: TypeStr,
        fill: impl FnOnce(&mut Layout) -> Result<Option<Range<isize>>, E>,
    ) -> Result<Box<Interface>, E> {
        let blank = Interface {
            layout: Layout::blank(),
            data,
            stream: StreamEntry::None,
            mask: None,
            descr: None,
            typestr,
            version: Version::V3,
            read_only: false,
        };
        let mut interface = Box::write(Box::new_uninit(), blank);
        let strided = fill(&mut interface.layout)?;
        // The full check is needed rarely: a layout in C order has at most isize::MAX bytes, and two numbers of 63 bits add up
        // to less than 2^64.
        let fits = match strided {
            None => data <= i64::MAX as u64,
            Some(extent) => [extent.start, extent.end].iter().all(|end| data.checked_add_signed(*end as i64).is_some()),
        };
        let is_number = matches!(typestr.kind(), Kind::Float | Kind::Int | Kind::UInt | Kind::Complex | Kind::Bool);
        if !(fits && is_number && data > 0) {
            check_memory(data, typestr, &interface.layout)?;
        }
        Ok(interface)
    }

    /// Sets the version. Entries that the version lacks are dropped: the stream below 3 (clause V2), and the mask in 0
    /// (clause V0).
    #[must_use]
    pub(crate) fn with_version(mut self, version: Version) -> Interface {
        self.set_version(version);
        self
    }

    /// [`Interface::with_version`] in place. Like the other `set_` methods, it saves an import the copies.
    pub(crate) fn set_version(&mut self, version: Version) {
        self.version = version;
        if version < Version::V3 {
            self.stream = StreamEntry::None;
        }
        if version < Version::V1 {
            self.mask = None;
        }
    }

    /// Sets the read-only flag of `data` (clause I4).
    #[must_use]
    pub fn with_read_only(mut self, read_only: bool) -> Interface {
        self.set_read_only(read_only);
        self
    }

    pub(crate) fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// Sets the stream (clause I11). Versions below 3 ignore it (clause V2).
    #[must_use]
    pub fn with_stream(mut self, stream: StreamEntry) -> Interface {
        self.set_stream(stream);
        self
    }

    pub(crate) fn set_stream(&mut self, stream: StreamEntry) {
        if self.version >= Version::V3 {
            self.stream = stream;
        }
    }

    /// Sets the fields of the elements (clause I9). A single unnamed field of the array's own type adds nothing and is dropped.
    ///
    /// # Errors
    /// Key `descr`: the fields do not add up to the item size of the type string, or a field is a Python object.
    pub fn with_descr(mut self, descr: Descr) -> Result<Interface> {
        self.set_descr(descr)?;
        Ok(self)
    }

    pub(crate) fn set_descr(&mut self, descr: Descr) -> Result<()> {
        if descr.has_objects() {
            return Err(no_objects("descr", &descr));
        }
        if descr.itemsize() != self.typestr.itemsize() {
            let why = format!(
                "{} adds up to {} bytes, but typestr '{}' has items of {}",
                Brief(&descr),
                descr.itemsize(),
                self.typestr,
                self.typestr.itemsize()
            );
            return Err(Error::entry("descr", why));
        }
        self.descr = (descr.as_plain() != Some(self.typestr)).then_some(descr);
        Ok(())
    }

    /// Reinterprets the elements as a type that the caller declares. No byte moves and no other entry changes.
    ///
    /// The entry cannot express every type. A structure without `descr` arrives as `|V12`, and a
    /// [`NamedType`](crate::NamedType) as `<V2`. Void without fields becomes any type of the same size. A named type may also
    /// arrive as an unsigned integer, as Warp writes it. Any other type must equal the type of the interface.
    ///
    /// # Errors
    /// [`Error::is_unsupported`]: the interface has another type or item size, or swapped bytes. Keys `typestr` and `descr` as in
    /// [`Interface::new`] and [`Interface::with_descr`].
    pub(crate) fn with_type(self, typestr: TypeStr, descr: Option<Descr>) -> Result<Interface> {
        let refused = |why: &str| {
            let said = descr.as_ref().map_or_else(|| format!("'{}'", typestr.label()), Descr::to_string);
            Error::unsupported(format!("the elements are {}, and cannot be taken as {said}: {why}", self.type_label()))
        };
        if typestr.itemsize() != self.layout.itemsize() {
            let why = format!("{} bytes each are not {}", self.layout.itemsize(), typestr.itemsize());
            return Err(refused(&why));
        }
        let plain = Interface::new(self.data, typestr, self.layout.clone())?;
        let said = match &descr {
            Some(descr) => plain.with_descr(descr.clone())?,
            None => plain,
        };
        if said.typestr == self.typestr && said.descr == self.descr {
            return Ok(self);
        }
        if !(self.is_bare_void() || typestr.name().is_some() && self.typestr.kind() == Kind::UInt) {
            return Err(refused("expected the same type, unless they are void without fields"));
        }
        let order = self.typestr.byte_order();
        let swapped = order != ByteOrder::NATIVE && order != ByteOrder::NotApplicable;
        if swapped && typestr.name().is_some() && typestr.itemsize() > 1 {
            return Err(refused("their bytes are swapped"));
        }
        Ok(Interface { typestr: said.typestr, descr: said.descr, ..self })
    }

    /// Whether copying the bytes from one array to the other copies the values: they have equal type strings, names
    /// and fields, or equal item sizes where exactly one side is void without fields.
    pub(crate) fn has_type_of(&self, other: &Interface) -> bool {
        let (kind, itemsize) = (self.typestr.kind(), self.typestr.itemsize());
        self.typestr == other.typestr && self.descr == other.descr
            || (kind, itemsize) == (Kind::Void, other.typestr.itemsize())
                && other.typestr.kind() == Kind::Void
                && (self.is_bare_void() || other.is_bare_void())
    }

    /// Whether the elements are void without name or fields.
    fn is_bare_void(&self) -> bool {
        self.typestr.kind() == Kind::Void && self.typestr.name().is_none() && self.descr.is_none()
    }

    /// The type in a message: the fields, the name or the type string.
    pub(crate) fn type_label(&self) -> String {
        match &self.descr {
            Some(descr) => Brief(descr).to_string(),
            None => format!("'{}'", self.typestr.label()),
        }
    }

    /// Sets the mask (clause I10). Version 0 ignores it (clause V0).
    ///
    /// # Errors
    /// Key `mask`: its shape cannot be broadcast to this array's shape.
    pub fn with_mask(mut self, mask: Mask) -> Result<Interface> {
        mask.check_broadcast(&self.layout)?;
        if self.version >= Version::V1 {
            self.mask = Some(mask);
        }
        Ok(self)
    }

    /// The version (clause I7).
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// The type of the elements (clause I3).
    pub fn typestr(&self) -> TypeStr {
        self.typestr
    }

    /// Shape, strides and item size.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The length of each dimension (clause I2).
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// The strides in bytes, one for each dimension, computed if the entry was `None` (clause I8).
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// The data pointer as given (clause I4): the address of the element whose indices are all 0.
    pub fn data(&self) -> DevicePtr {
        self.data
    }

    /// The data pointer for an export: 0 for an array that takes no bytes (clause I5).
    pub(crate) fn export_data(&self) -> DevicePtr {
        if self.byte_extent().is_empty() { 0 } else { self.data }
    }

    /// The read-only flag (clause I4).
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// The stream in which work may be pending (clause I11).
    pub fn stream(&self) -> StreamEntry {
        self.stream
    }

    /// The mask (clause I10); `None` means that all elements are valid.
    pub fn mask(&self) -> Option<&Mask> {
        self.mask.as_ref()
    }

    /// The fields of the elements (clause I9), if they add to the type string.
    pub fn descr(&self) -> Option<&Descr> {
        self.descr.as_ref()
    }

    /// The bytes of the elements without gaps; for packed bits, the bytes that hold all bits.
    pub(crate) fn nbytes(&self) -> usize {
        match self.typestr.bits() {
            Some(bits) if is_packed(self.typestr) => packed_bytes(bits, &self.layout),
            _ => self.layout.nbytes(),
        }
    }

    /// The interface of a view: another layout at an offset, with the same type and attributes and without a mask.
    pub(crate) fn view(&self, View { offset, layout }: View) -> Result<Interface> {
        let data = self.data.wrapping_add_signed(offset as i64);
        let view = Interface::new(data, self.typestr, layout)?
            .with_version(self.version)
            .with_read_only(self.is_read_only())
            .with_stream(self.stream);
        match self.descr() {
            Some(descr) => view.with_descr(descr.clone()),
            None => Ok(view),
        }
    }

    /// Whether the elements are bit fields that share bytes, which the layout does not show.
    #[inline]
    pub(crate) fn is_packed(&self) -> bool {
        bytes::is_packed(self.typestr)
    }

    /// The addresses of all bytes of the elements. Empty, at the data pointer, for an array that takes no bytes.
    ///
    /// Bit fields of partial bytes (`|t1`) are packed. Byte strides cannot address them, so such an array is one string of bits
    /// in C order, and its last byte is the byte that holds the last bit.
    pub fn byte_range(&self) -> Range<DevicePtr> {
        let extent = self.byte_extent();
        // Neither sum wraps: `new` has checked it for every array that takes bytes, and other arrays have the extent 0..0.
        self.data.wrapping_add_signed(extent.start as i64)..self.data.wrapping_add_signed(extent.end as i64)
    }

    fn byte_extent(&self) -> Range<isize> {
        byte_extent(self.typestr, &self.layout)
    }
}

#[cold]
fn no_objects(key: &'static str, what: &dyn fmt::Display) -> Error {
    let why = format!(
        "{} holds pointers to Python objects, which mean nothing on a device; expected numbers or bytes",
        Brief(what)
    );
    Error::entry(key, why)
}

const _: () = assert!(size_of::<Interface>() <= 192);
