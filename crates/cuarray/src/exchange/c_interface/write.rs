//! Writes the structure: one allocation for the structure and the objects that it keeps alive, and a second for fields or a mask.
//!
//! Lengths and strides are not copied: the structure points to those of the layout that the owner holds. On the machines that CUDA supports
//! they are 64 bits wide, and no layout exceeds `isize::MAX`.

use super::{
    CArray, Described,
    abi::{
        CField, HAS_EVENT, HAS_STREAM, MAJOR, MEMORY_DEVICE, MEMORY_HOST, MEMORY_MANAGED, MEMORY_UNKNOWN, MINOR,
        READ_ONLY, RawCArray, TEXT,
    },
};
use crate::{
    Descr, Error, Field, FieldType, Interface, Kind, Owner, Result, StreamEntry, TypeStr, driver::MemoryKind,
    owner::drop_without_unwinding,
};
use std::{
    ffi::{CString, c_char},
    io::Write,
    num::NonZeroUsize,
    ptr::{NonNull, null, null_mut},
};

/// A structure and the object that it keeps alive; the structure comes first, so both have one address.
#[repr(C)]
struct Exported<K> {
    raw: RawCArray,
    extras: Option<Box<Extras>>,
    owner: K,
}

/// Data for the structure's pointers, apart from the data in a layout.
struct Extras {
    _fields: Option<Fields>,
    _mask: Option<Box<Body>>,
}

/// A structure without an owner.
pub(crate) struct Body {
    raw: RawCArray,
    extras: Option<Box<Extras>>,
}

/// Makes a structure that keeps `owner` alive until its release; `fill` makes the content.
///
/// # Safety
/// `fill` makes the body of an interface that `owner` holds at a fixed address.
pub(crate) unsafe fn export<K: Send + Sync + 'static>(
    owner: K,
    fill: impl FnOnce(&K) -> Result<Body>,
) -> Result<CArray> {
    let exported = Box::into_raw(Box::new(Exported { raw: BLANK, extras: None, owner }));
    // SAFETY: `exported` is a box made above, and there is no other reference to it.
    let (filled, raw) = unsafe { (fill(&(*exported).owner), &raw mut (*exported).raw) };
    match filled {
        Ok(body) => {
            // SAFETY: `exported` is a box made above, and there is no other reference to it.
            unsafe {
                (*exported).extras = body.extras;
                *raw = RawCArray { release: Some(release::<K>), owner: exported.cast(), ..body.raw };
                Ok(CArray(NonNull::new_unchecked(raw)))
            }
        }
        Err(error) => {
            // SAFETY: `exported` is a box made above, and there is no other reference to it.
            drop(unsafe { Box::from_raw(exported) });
            Err(error)
        }
    }
}

/// Takes the owner out of a structure of [`export`], instead of dropping the owner at the release.
///
/// # Safety
/// The structure was made with an owner of type `K`.
#[cfg(feature = "python")]
pub(crate) unsafe fn into_owner<K>(array: CArray) -> K {
    // SAFETY: this function's contract; the owner is the box that contains the structure.
    unsafe { Box::from_raw((*array.into_raw()).owner.cast::<Exported<K>>()).owner }
}

/// # Safety
/// Called once, with a structure of [`export`] or with null, which has no effect.
unsafe extern "C" fn release<K>(raw: *mut RawCArray) {
    if !raw.is_null() {
        // SAFETY: this function's contract; the owner is the box that contains the structure.
        let exported = unsafe { Box::from_raw((*raw).owner.cast::<Exported<K>>()) };
        // The caller may be in C, which a panic of the owner cannot unwind.
        drop_without_unwinding(exported);
    }
}

/// Implements [`CArray::new`].
pub(super) fn of_described(described: Described, owner: Option<Owner>) -> Result<CArray> {
    struct DescribedOwner {
        described: Described,
        _owner: Option<Owner>,
    }
    let fill = |owner: &DescribedOwner| {
        let Described { interface, event, mask_event, device, memory } = &owner.described;
        let mask = interface.mask().map(|mask| {
            let mask = mask.interface();
            Ok::<_, Error>(Body::of(mask)?.naming(mask.stream(), *mask_event))
        });
        let body = Body::of(interface)?.at(*device, *memory).naming(interface.stream(), *event);
        Ok(body.masked(mask.transpose()?))
    };
    // SAFETY: the interface is in the owner, which has a fixed address.
    unsafe { export(DescribedOwner { described, _owner: owner }, fill) }
}

const BLANK: RawCArray = RawCArray {
    major: MAJOR,
    minor: MINOR,
    release: None,
    owner: null_mut(),
    flags: 0,
    data: 0,
    stream: 0,
    event: 0,
    shape: null(),
    strides: null(),
    fields: null(),
    mask: null(),
    ndim: 0,
    nfields: 0,
    device: -1,
    memory: MEMORY_UNKNOWN,
    typestr: [0; TEXT],
    type_name: [0; TEXT],
};

// SAFETY: the pointers lead to numbers and fields at fixed addresses, which are not written.
unsafe impl Send for Body {}
// SAFETY: the pointers lead to numbers and fields at fixed addresses, which are not written.
unsafe impl Sync for Body {}

impl Body {
    /// The content of an interface without its mask and its stream. The structure points into the interface.
    pub(crate) fn of(interface: &Interface) -> Result<Body> {
        let layout = interface.layout();
        let fields = interface.descr().map(Fields::of).transpose()?;
        let raw = RawCArray {
            flags: if interface.is_read_only() { READ_ONLY } else { 0 },
            data: interface.export_data(),
            shape: layout.shape().as_ptr().cast(),
            strides: if layout.is_c_contiguous() { null() } else { layout.strides().as_ptr().cast() },
            fields: fields.as_ref().map_or(null(), |fields| fields.fields.as_ptr()),
            ndim: layout.ndim() as i32,
            nfields: fields.as_ref().map_or(0, |fields| fields.fields.len() as i32),
            typestr: typestr_text(interface.typestr()),
            type_name: name_text(interface.typestr()),
            ..BLANK
        };
        let extras = fields.map(|fields| Box::new(Extras { _fields: Some(fields), _mask: None }));
        Ok(Body { raw, extras })
    }

    /// Sets the stream and the event that the consumer waits for.
    pub(crate) fn naming(mut self, stream: StreamEntry, event: Option<NonZeroUsize>) -> Body {
        let flag = |is, flag| if is { flag } else { 0 };
        self.raw.stream = stream.handle().unwrap_or(0) as u64;
        self.raw.event = event.map_or(0, NonZeroUsize::get) as u64;
        self.raw.flags |= flag(self.raw.stream != 0, HAS_STREAM) | flag(self.raw.event != 0, HAS_EVENT);
        self
    }

    /// Copies the structure; the copy must not outlive this body.
    #[cfg(feature = "python")]
    pub(crate) fn shallow_copy(&self) -> Body {
        Body { raw: RawCArray { release: None, ..self.raw }, extras: None }
    }

    /// Sets the device and the kind of memory.
    pub(crate) fn at(mut self, device: Option<i32>, memory: Option<MemoryKind>) -> Body {
        self.raw.device = device.unwrap_or(-1);
        self.raw.memory = match memory {
            None | Some(MemoryKind::Other(_)) => MEMORY_UNKNOWN,
            Some(MemoryKind::Device | MemoryKind::StreamOrdered) => MEMORY_DEVICE,
            Some(MemoryKind::Pinned | MemoryKind::Mapped) => MEMORY_HOST,
            Some(MemoryKind::Managed) => MEMORY_MANAGED,
        };
        self
    }

    /// Sets the mask.
    pub(crate) fn masked(mut self, mask: Option<Body>) -> Body {
        if let Some(mask) = mask {
            let mask = Box::new(mask);
            self.raw.mask = &raw const mask.raw;
            let fields = self.extras.and_then(|extras| extras._fields);
            self.extras = Some(Box::new(Extras { _fields: fields, _mask: Some(mask) }));
        }
        self
    }
}

/// A type string with its terminating nul. The longest is `<M8[2147483647as]`.
fn typestr_text(typestr: TypeStr) -> [u8; TEXT] {
    let mut text = [0; TEXT];
    let (size, is_number) = (typestr.itemsize(), !matches!(typestr.kind(), Kind::Void | Kind::BitField));
    // Short type strings avoid the cost of formatting, which every export would pay.
    if size < 10 && is_number && typestr.unit().is_none() && !matches!(typestr.kind(), Kind::Object | Kind::Unicode) {
        text[0] = typestr.byte_order().symbol() as u8;
        text[1] = typestr.kind().letter() as u8;
        text[2] = b'0' + size as u8;
    } else {
        let _ = write!(&mut text[..TEXT - 1], "{typestr}");
    }
    text
}

/// The name of a type that is written as void, with its terminating nul.
fn name_text(typestr: TypeStr) -> [u8; TEXT] {
    let mut text = [0; TEXT];
    if let Some(name) = typestr.name() {
        let _ = (&mut text[..TEXT - 1]).write_all(name.name().as_bytes());
    }
    text
}

/// Fields in C form, with the targets of their pointers.
struct Fields {
    fields: Box<[CField]>,
    _texts: Vec<CString>,
    _shapes: Vec<Box<[i64]>>,
    _structures: Vec<Fields>,
}

// SAFETY: the pointers lead to heap memory that `Fields` owns, which is not written.
unsafe impl Send for Extras {}
// SAFETY: the pointers lead to heap memory that `Fields` owns, which is not written.
unsafe impl Sync for Extras {}

impl Fields {
    /// # Errors
    /// [`Error::is_unsupported`]: a name or title contains a nul.
    fn of(descr: &Descr) -> Result<Fields> {
        let (mut texts, mut shapes, mut structures) = (Vec::new(), Vec::new(), Vec::new());
        let mut text = |text: &str| -> Result<*const c_char> {
            let text = CString::new(text).map_err(|_| {
                Error::unsupported(format!(
                    "the name {text:?} of a field contains a nul, which would end the name in C"
                ))
            })?;
            let pointer = text.as_ptr();
            texts.push(text);
            Ok(pointer)
        };
        let fields = descr.fields().iter().map(|Field { name, title, ty, shape }| {
            let lengths: Box<[i64]> = shape.iter().map(|&length| length as i64).collect();
            let (typestr, structure) = match ty {
                FieldType::TypeStr(typestr) => (*typestr, None),
                FieldType::Struct(descr) => (TypeStr::void(descr.itemsize() as u32), Some(Fields::of(descr)?)),
            };
            let field = CField {
                name: text(name)?,
                title: title.as_deref().map_or(Ok(null()), &mut text)?,
                fields: structure.as_ref().map_or(null(), |structure| structure.fields.as_ptr()),
                shape: if lengths.is_empty() { null() } else { lengths.as_ptr() },
                nfields: structure.as_ref().map_or(0, |structure| structure.fields.len() as i32),
                ndim: lengths.len() as i32,
                typestr: typestr_text(typestr),
                type_name: name_text(typestr),
            };
            shapes.push(lengths);
            structures.extend(structure);
            Ok(field)
        });
        let fields = fields.collect::<Result<_>>()?;
        Ok(Fields { fields, _texts: texts, _shapes: shapes, _structures: structures })
    }
}
