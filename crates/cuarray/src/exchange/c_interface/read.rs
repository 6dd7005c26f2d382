//! Reading of a structure from another library. Each member is copied once, and checked before it bounds further
//! reads.

use super::{
    Described,
    abi::{
        BINDING, CField, HAS_EVENT, HAS_STREAM, KNOWN, MAJOR, MEMORY_DEVICE, MEMORY_HOST, MEMORY_MANAGED, READ_ONLY,
        RawCArray, TEXT,
    },
};
use crate::{
    Descr, Dims, Error, Field, FieldType, Interface, Kind, MAX_NDIM, Mask, NamedType, Result, StreamEntry, Strides,
    TypeStr, driver::MemoryKind,
};
use std::{
    ffi::{CStr, c_char},
    num::NonZeroUsize,
};

/// The content of a structure, with the mask apart.
pub(crate) struct Read {
    pub(crate) interface: Box<Interface>,
    pub(crate) mask: Option<Mask>,
    pub(crate) event: Option<NonZeroUsize>,
    pub(crate) mask_event: Option<NonZeroUsize>,
    pub(crate) device: Option<i32>,
    pub(crate) memory: Option<MemoryKind>,
}

impl Read {
    /// Joins the interface and its mask.
    pub(super) fn described(self) -> Result<Described> {
        let Read { interface, mask, event, mask_event, device, memory } = self;
        let interface = match mask {
            None => *interface,
            Some(mask) => interface.with_mask(mask)?,
        };
        Ok(Described { interface, event, mask_event, device, memory })
    }
}

/// Reads and checks a structure.
///
/// # Errors
/// As [`CArray::describe`](super::CArray::describe).
///
/// # Safety
/// `raw` points to a structure with the first members of `cuarray`. If its version is known, its pointers are null or point
/// to as many items as its counts say.
pub(crate) unsafe fn read(raw: *const RawCArray) -> Result<Read> {
    // SAFETY: this function's contract.
    unsafe { members(raw) }.map_err(|error| error.of_structure("cuarray"))
}

/// # Safety
/// As [`read`].
unsafe fn members(raw: *const RawCArray) -> Result<Read> {
    // SAFETY: this function's contract.
    let array = unsafe { known(raw) }?;
    // SAFETY: this function's contract.
    let (interface, event) = unsafe { interface(&array) }?;
    let (mut mask_event, mut found_mask) = (None, None);
    if !array.mask.is_null() {
        // SAFETY: this function's contract.
        let (mask, event) = unsafe { mask(array.mask, &interface) }.map_err(in_mask)?;
        mask_event = event;
        found_mask = Some(mask);
    }
    Ok(Read {
        interface,
        mask: found_mask,
        event,
        mask_event,
        device: device(array.device)?,
        memory: memory(array.memory),
    })
}

/// Copies a structure of a known version.
///
/// # Safety
/// As [`read`].
unsafe fn known(raw: *const RawCArray) -> Result<RawCArray> {
    // SAFETY: this function's contract; the two numbers are at the same place in every version.
    let (major, minor) =
        unsafe { ((&raw const (*raw).major).read_unaligned(), (&raw const (*raw).minor).read_unaligned()) };
    if major != MAJOR {
        return Err(Error::unsupported(format!("a cuarray of version {major}.{minor}; version {MAJOR}.x is expected")));
    }
    // SAFETY: this function's contract; the major version fixes the layout of the structure.
    let array = unsafe { raw.read_unaligned() };
    let unknown = array.flags & BINDING & !KNOWN;
    if unknown != 0 {
        return Err(Error::unsupported(format!(
            "a cuarray of version {major}.{minor} with flags {unknown:#x}, which this version of cuarray does not know and must not ignore"
        )));
    }
    Ok(array)
}

/// Reads the interface and event of one array, without its mask.
///
/// # Safety
/// As [`read`].
unsafe fn interface(array: &RawCArray) -> Result<(Box<Interface>, Option<NonZeroUsize>)> {
    let typestr = typestr("typestr", &array.typestr, &array.type_name)?;
    let mut interface = Interface::in_place(array.data, typestr, |layout| {
        // SAFETY: this function's contract.
        let shape = |into: &mut Dims| unsafe { lengths("shape", array.shape, array.ndim, into) };
        let strides = |into: &mut Strides, shape: &Dims| {
            *into = Strides::repeat(0, shape.len());
            for (axis, into) in into.iter_mut().enumerate() {
                // SAFETY: this function's contract; there are as many strides as dimensions.
                *into = unsafe { array.strides.add(axis).read_unaligned() } as isize;
            }
            Ok(())
        };
        layout.fill(typestr.itemsize(), shape, (!array.strides.is_null()).then_some(strides))
    })?;
    if array.nfields != 0 || !array.fields.is_null() {
        // SAFETY: this function's contract.
        let descr = unsafe { fields(array.fields, array.nfields, 1, &mut 0) }?;
        if typestr.kind() != Kind::Void {
            return Err(Error::entry(
                "descr",
                format!("there are fields in elements of type '{typestr}'; void is expected"),
            ));
        }
        interface.set_descr(descr)?;
    }
    interface.set_read_only(array.flags & READ_ONLY != 0);
    interface.set_stream(match handle("stream", array.stream, array.flags & HAS_STREAM != 0)? {
        Some(handle) => StreamEntry::try_from(handle.get() as i128)?,
        None => StreamEntry::None,
    });
    let event = handle("event", array.event, array.flags & HAS_EVENT != 0)?;
    Ok((interface, event))
}

/// # Safety
/// As [`read`].
unsafe fn mask(raw: *const RawCArray, of: &Interface) -> Result<(Mask, Option<NonZeroUsize>)> {
    // SAFETY: this function's contract.
    let mask = unsafe { known(raw) }?;
    if !mask.mask.is_null() {
        return Err(Error::entry("mask", "has a mask itself; an array without a mask is expected"));
    }
    // SAFETY: this function's contract.
    let (interface, event) = unsafe { interface(&mask) }?;
    Ok((Mask::new(*interface, of.layout())?, event))
}

/// Turns an error in the mask into an error of the entry `mask`.
fn in_mask(error: Error) -> Error {
    if error.is_invalid_interface() && error.key() != Some("mask") {
        Error::entry("mask", error.to_string())
    } else {
        error
    }
}

/// Reads a stream or an event. Its flag must agree, so that a null handle is an error and not read as "nothing to wait
/// for".
fn handle(key: &'static str, value: u64, flagged: bool) -> Result<Option<NonZeroUsize>> {
    let number = NonZeroUsize::new(value as usize);
    if number.is_some() != flagged {
        let says = if flagged { "has" } else { "lacks" };
        return Err(Error::entry(
            key,
            format!(
                "{value:#x} in a cuarray that {says} the flag of a {key}; a handle with the flag, or 0 without the flag, is expected"
            ),
        ));
    }
    Ok(number)
}

fn device(ordinal: i32) -> Result<Option<i32>> {
    match ordinal {
        -1 => Ok(None),
        0.. => Ok(Some(ordinal)),
        _ => Err(Error::entry(
            "device",
            format!("{ordinal} is not a device; an ordinal, or -1 for unknown, is expected"),
        )),
    }
}

/// Reads a kind of memory. For a code of a later version it returns `None`, and the driver is queried instead.
fn memory(code: i32) -> Option<MemoryKind> {
    match code {
        MEMORY_DEVICE => Some(MemoryKind::Device),
        MEMORY_HOST => Some(MemoryKind::Pinned),
        MEMORY_MANAGED => Some(MemoryKind::Managed),
        _ => None,
    }
}

/// # Safety
/// `lengths` is null, or points to `count` numbers if `count` is between 1 and [`MAX_NDIM`].
unsafe fn lengths(key: &'static str, lengths: *const i64, count: i32, into: &mut Dims) -> Result<()> {
    let ndim = usize::try_from(count)
        .ok()
        .filter(|ndim| *ndim <= MAX_NDIM)
        .ok_or_else(|| Error::entry(key, format!("a cuarray of {count} dimensions; 0 to {MAX_NDIM} are expected")))?;
    if lengths.is_null() && ndim > 0 {
        return Err(Error::entry(key, format!("null in a cuarray of {ndim} dimensions; as many lengths are expected")));
    }
    *into = Dims::repeat(0, ndim);
    for (axis, into) in into.iter_mut().enumerate() {
        // SAFETY: there are `ndim` numbers (this function's contract); the read needs no alignment.
        let length = unsafe { lengths.add(axis).read_unaligned() };
        *into = usize::try_from(length).map_err(|_| {
            Error::entry(key, format!("length {length} of dimension {axis} in a cuarray; at least 0 is expected"))
        })?;
    }
    Ok(())
}

/// Reads a type string and, for void, the name of the type.
fn typestr(key: &'static str, text: &[u8; TEXT], name: &[u8; TEXT]) -> Result<TypeStr> {
    let typestr: TypeStr = inline_text(key, text)?.parse()?;
    if name[0] == 0 {
        return Ok(typestr);
    }
    let name = inline_text("type_name", name)?;
    // An unknown name is from a later version; the type string still gives the size.
    let Ok(named) = name.parse::<NamedType>() else { return Ok(typestr) };
    if typestr.kind() != Kind::Void || typestr.itemsize() != named.itemsize() {
        return Err(Error::entry(key, format!("'{typestr}' is named {named}; '|V{}' is expected", named.itemsize())));
    }
    Ok(TypeStr::named(named))
}

fn inline_text<'a>(key: &'static str, text: &'a [u8; TEXT]) -> Result<&'a str> {
    let ends = text.iter().position(|byte| *byte == 0);
    ends.and_then(|end| std::str::from_utf8(&text[..end]).ok()).ok_or_else(|| {
        Error::entry(
            key,
            format!("{:?} in a cuarray is not a text of at most {} bytes", text.escape_ascii().to_string(), TEXT - 1),
        )
    })
}

/// Reads the fields of a structure. `known` counts all fields so far. It bounds the walk of a long table, or of a
/// table that contains itself.
///
/// # Safety
/// `table` is null, or points to `count` fields if `count` is at most [`Descr::MAX_FIELDS`]. Their pointers are null or point
/// to as many items as their counts say.
unsafe fn fields(table: *const CField, count: i32, depth: usize, known: &mut usize) -> Result<Descr> {
    let wrong = |why: String| Error::entry("descr", why);
    let count = usize::try_from(count).ok().filter(|count| *count > 0 && !table.is_null());
    let count = count
        .ok_or_else(|| wrong("fields and nfields of a cuarray disagree; both or neither is expected".to_owned()))?;
    *known = known.saturating_add(count);
    if *known > Descr::MAX_FIELDS || depth > Descr::MAX_DEPTH {
        return Err(wrong(format!(
            "{known} fields in {depth} levels of a cuarray; at most {} in {} are expected",
            Descr::MAX_FIELDS,
            Descr::MAX_DEPTH
        )));
    }
    let mut made = Vec::with_capacity(count);
    for index in 0..count {
        // SAFETY: there are `count` fields (this function's contract).
        let field = unsafe { table.add(index).read_unaligned() };
        let typestr = typestr("descr", &field.typestr, &field.type_name).map_err(|error| wrong(error.to_string()))?;
        let ty = if field.fields.is_null() && field.nfields == 0 {
            FieldType::TypeStr(typestr)
        } else {
            // SAFETY: the field's nested fields are `nfields` by this function's contract, which holds for each field.
            let structure = unsafe { fields(field.fields, field.nfields, depth + 1, known) }?;
            if typestr.kind() != Kind::Void || typestr.itemsize() != structure.itemsize() {
                return Err(wrong(format!(
                    "a field of type '{typestr}' has fields of {} bytes; '|V{0}' is expected",
                    structure.itemsize()
                )));
            }
            FieldType::Struct(structure)
        };
        let mut shape = Dims::new();
        // SAFETY: there are `count` fields (this function's contract).
        let (name, title, ()) =
            unsafe { (text(field.name)?, text(field.title)?, lengths("descr", field.shape, field.ndim, &mut shape)?) };
        made.push(Field { name: name.unwrap_or_default(), title, ty, shape });
    }
    Descr::new(made)
}

/// # Safety
/// `text` is null, or points to a string that ends in a zero.
unsafe fn text(text: *const c_char) -> Result<Option<String>> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: this function's contract.
    let text = unsafe { CStr::from_ptr(text) };
    match text.to_str() {
        Ok(text) => Ok(Some(text.to_owned())),
        Err(_) => Err(Error::entry("descr", format!("the name {text:?} of a field is not UTF-8"))),
    }
}
