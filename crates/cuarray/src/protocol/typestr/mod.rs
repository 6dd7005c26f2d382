//! The element type, in the notation of the NumPy array interface: `<f4`.
//!
//! A type string has a byte order (`<` little, `>` big, `|` none), a letter for the kind, and a size. Datetimes and
//! timedeltas add a unit (`<M8[ns]`). The size counts bytes, except for characters of four bytes in a Unicode string (`U`)
//! and bits in a bit field (`t`).
//!
//! The grammar is strict (clause I3): a code of another protocol that one consumer understands is misread by another.
//! [`TypeStr::from_lenient`] reads such codes too and reports them as deviations. Printing reproduces the string that
//! was read. Equality ignores three spellings: a byte order without bytes to order (`<i1` is `|i1`, and `<V2` for bfloat16
//! is `|V2`), a written multiple of one (`<M8[1s]`), and a written size of an object pointer.
//!
//! Some types have no letter, so the string does not describe them fully. A [`NamedType`] is written as void, and a reader
//! that knows the type adds the name ([`TypeStr::named`]).
//!
//! Parsing allocates only if it fails, because every import parses a type string.

mod kind;
mod lenient;
mod named;
mod parse;

pub use kind::{ByteOrder, Kind, TimeUnit};
pub use named::NamedType;

use crate::{Error, Result};
use parse::{Fault, Quoted};
use std::{
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

/// NumPy reads sizes into a C `int`, so no other library could read a larger size.
const MAX_ITEMSIZE: u32 = i32::MAX as u32;

/// A parsed type string (clause I3): a byte order (`<`, `>` or `|`), the letter of a [`Kind`], a size, and for times a unit:
/// `<f4`, `|V12`, `>M8[25s]`. The size counts bytes, but characters of four bytes for `U` and bits for `t`.
///
/// Printing reproduces the string. Equality ignores spellings that mean the same: a byte order without bytes to order (`<i1`
/// is `|i1`, `<V2` is `|V2`), a written multiple of one (`<M8[1s]`), the size of an `O`. A type with a [name](TypeStr::named)
/// is written as void and equals only itself.
///
/// ```
/// use cuarray::{ByteOrder, Kind, TypeStr};
///
/// let typestr: TypeStr = "<f4".parse()?;
/// assert_eq!((typestr.byte_order(), typestr.kind(), typestr.itemsize()), (ByteOrder::Little, Kind::Float, 4));
/// assert_eq!(typestr.to_string(), "<f4");
///
/// let characters: TypeStr = "<U3".parse()?;
/// assert_eq!(characters.itemsize(), 12);
///
/// let error = "float32".parse::<TypeStr>().unwrap_err();
/// assert_eq!(error.key(), Some("typestr"));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct TypeStr {
    order: ByteOrder,
    kind: Kind,
    unit: Option<TimeUnit>,
    /// Only for void.
    name: Option<NamedType>,
    /// As written: bytes, characters of `U`, bits of `t`; 0 where `O` has no size.
    size: u32,
    /// As written; 0 if there is no multiple.
    multiple: u32,
}

impl TypeStr {
    /// The type with this order, kind and size. `size` is the number in a type string: bytes, but characters for `U` and bits
    /// for `t`. Datetimes and timedeltas get no unit.
    ///
    /// # Errors
    /// Key `typestr`: NumPy has no such type, or the order is missing for a type that needs one.
    pub fn new(order: ByteOrder, kind: Kind, size: u32) -> Result<TypeStr> {
        TypeStr::checked(order, kind, size)
            .map_err(|fault| fault.explain(&format!("{}{}{size}", order.symbol(), kind.letter())))
    }

    const fn checked(order: ByteOrder, kind: Kind, size: u32) -> Result<TypeStr, Fault> {
        if !kind.has_size(size) {
            return Err(Fault::NoSuchSize(kind));
        }
        let typestr = TypeStr { order, kind, unit: None, name: None, size, multiple: 0 };
        // A bit field wider than a byte may lack an order, because it is a string of bits.
        if matches!(order, ByteOrder::NotApplicable) && typestr.order_matters() && !matches!(kind, Kind::BitField) {
            return Err(Fault::OrderMissing);
        }
        Ok(typestr)
    }

    /// A number of `size` bytes in this machine's order, for the constants of [`Element`].
    pub(crate) const fn native(kind: Kind, size: u32) -> TypeStr {
        let order = if size == 1 { ByteOrder::NotApplicable } else { ByteOrder::NATIVE };
        TypeStr { order, kind, unit: None, name: None, size, multiple: 0 }
    }

    /// The type string of structures: `|V` and a size.
    ///
    /// # Panics
    /// More than 2147483647 bytes, which is the largest item size that NumPy reads. In a constant this is a compile error.
    pub const fn void(itemsize: u32) -> TypeStr {
        assert!(itemsize <= MAX_ITEMSIZE, "a type string has a size of at most 2147483647 bytes");
        TypeStr {
            order: ByteOrder::NotApplicable,
            kind: Kind::Void,
            unit: None,
            name: None,
            size: itemsize,
            multiple: 0,
        }
    }

    /// The kind of the elements.
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// The byte order, as written.
    pub const fn byte_order(self) -> ByteOrder {
        self.order
    }

    /// The size of one element in bytes. For a bit field, the whole bytes that hold it; see [`TypeStr::bits`].
    pub const fn itemsize(self) -> usize {
        match self.kind {
            Kind::Unicode => self.size as usize * 4,
            Kind::BitField => self.size.div_ceil(8) as usize,
            Kind::Object => size_of::<usize>(),
            _ => self.size as usize,
        }
    }

    /// The width of a bit field in bits; `None` for other kinds.
    pub const fn bits(self) -> Option<u32> {
        match self.kind {
            Kind::BitField => Some(self.size),
            _ => None,
        }
    }

    /// The multiple and unit of a datetime or timedelta. `None` for other kinds, and for a time without a unit (`<M8`).
    pub const fn unit(self) -> Option<(u32, TimeUnit)> {
        match self.unit {
            Some(unit) => Some((if self.multiple == 0 { 1 } else { self.multiple }, unit)),
            None => None,
        }
    }

    /// Whether this machine can read the elements directly: the order is its own, or there is none.
    pub const fn is_native(self) -> bool {
        !self.order_matters() || matches!(self.order, ByteOrder::NATIVE | ByteOrder::NotApplicable)
    }

    /// Whether the byte order is part of the type.
    const fn order_matters(self) -> bool {
        match self.kind {
            Kind::Bool | Kind::Object | Kind::Bytes | Kind::Void => false,
            Kind::Int | Kind::UInt => self.size > 1,
            Kind::BitField => self.size > 8,
            Kind::Float | Kind::Complex | Kind::Timedelta | Kind::Datetime | Kind::Unicode => true,
        }
    }

    /// Reads deviating spellings of real producers too. These are buffer-protocol codes (`=f`, `Zd`), codes of NumPy (`f`, `f4`),
    /// names of NumPy or ml_dtypes (`float32`, `datetime64[ns]`, `bfloat16`), and numbers without an order (`|f4`). A missing
    /// order is the machine's. `<f1`, which ml_dtypes writes for one of its 8-bit floats, becomes void of one byte. The second
    /// value describes the deviation; `None` if the string was right.
    ///
    /// # Errors
    /// Key `typestr`: the text is neither a type string nor such a spelling. The codes `l`, `L` and `g` are refused if their
    /// size is ambiguous: after a byte order `l` has 4 bytes in the buffer protocol and 8 in NumPy.
    pub(crate) fn from_lenient(text: &str) -> Result<(TypeStr, Option<String>)> {
        let fault = match parse::strict(text.as_bytes()) {
            Ok(typestr) => return Ok((typestr, None)),
            Err(fault) => fault,
        };
        match lenient::read(text.as_bytes()) {
            Some((typestr, what)) => {
                Ok((typestr, Some(format!("typestr {} {what}; read as '{}'", Quoted(text), typestr.label()))))
            }
            None => Err(fault.explain(text)),
        }
    }

    /// Reads the texts that `numpy.dtype` takes besides type strings: a name (`float32`), or a code without a byte order or with
    /// `=` (`f4`, `d`, `=i2`).
    #[cfg(feature = "python")]
    pub(crate) fn from_dtype_text(text: &str) -> Option<TypeStr> {
        let numpy_takes_it =
            text.starts_with(|first: char| first.is_ascii_alphanumeric() || matches!(first, '=' | '?'));
        lenient::read(text.as_bytes()).filter(|_| numpy_takes_it).map(|(typestr, _)| typestr)
    }

    /// The type in words: `floating point, 4 bytes, little-endian`.
    pub(crate) fn in_words(self) -> String {
        let order = match self.order {
            _ if !self.order_matters() => "",
            ByteOrder::Little => ", little-endian",
            ByteOrder::Big => ", big-endian",
            ByteOrder::NotApplicable => "",
        };
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let bytes = self.itemsize();
        match self.kind {
            Kind::BitField => format!("bit field of {} bit{}{order}", self.size, plural(self.size as usize)),
            Kind::Bool => "bool".into(),
            kind => {
                let noun = self.name.map_or(kind.noun(), NamedType::name);
                format!("{noun}, {bytes} byte{}{order}", plural(bytes))
            }
        }
    }

    /// The parts that equality and hashing compare.
    fn meaning(self) -> impl Hash + PartialEq {
        let size = match self.kind {
            Kind::BitField => self.size as usize,
            _ => self.itemsize(),
        };
        (self.kind, self.name, size, self.order_matters().then_some(self.order), self.unit())
    }
}

impl PartialEq for TypeStr {
    fn eq(&self, other: &TypeStr) -> bool {
        self.meaning() == other.meaning()
    }
}

impl Eq for TypeStr {}

impl Hash for TypeStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.meaning().hash(state);
    }
}

impl FromStr for TypeStr {
    type Err = Error;

    #[inline]
    fn from_str(text: &str) -> Result<TypeStr> {
        parse::strict(text.as_bytes()).map_err(|fault| fault.explain(text))
    }
}

impl fmt::Display for TypeStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.order.symbol(), self.kind.letter())?;
        if !(self.kind == Kind::Object && self.size == 0) {
            write!(f, "{}", self.size)?;
        }
        match self.unit {
            None => Ok(()),
            Some(unit) if self.multiple == 0 => write!(f, "[{}]", unit.symbol()),
            Some(unit) => write!(f, "[{}{}]", self.multiple, unit.symbol()),
        }
    }
}

impl fmt::Debug for TypeStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(named) => write!(f, "TypeStr({self} {named})"),
            None => write!(f, "TypeStr({self})"),
        }
    }
}

const _: () = assert!(size_of::<TypeStr>() <= 16);
