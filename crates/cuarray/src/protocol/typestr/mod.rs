//! The element type, as the NumPy array interface writes it: `<f4`.
//!
//! A type string is three things and, for times, a fourth: a byte order (`<` little, `>` big, `|` none), a letter for the
//! kind, the size, and the unit of a datetime or timedelta (`<M8[ns]`). The size counts bytes, but characters of four
//! bytes in a Unicode string (`U`), and bits in a bit field (`t`).
//!
//! The grammar is read strictly (clause I3), because every consumer that handed its strings to something more generous
//! let producers get away with codes of other protocols, which the next consumer then misread. [`TypeStr::from_lenient`]
//! reads those too, and says what it forgave. What is read is printed again exactly; equality looks through the spellings
//! that mean the same: a byte order where there are no bytes to order (`<i1` is `|i1`, and `<V2`, which is how bfloat16
//! travels, is `|V2`), a written multiple of one (`<M8[1s]`), a written size of an object pointer.
//!
//! Some types have no letter, and then the string is not all that there is to say: a [`NamedType`] travels as void, and
//! whoever knows which it is puts the name beside it ([`TypeStr::named`]).
//!
//! Reading allocates nothing unless it fails: it is part of every import.

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

/// NumPy reads sizes into a C `int`; a string beyond it is no type string that anybody else could read.
const MAX_ITEMSIZE: u32 = i32::MAX as u32;

/// A type string, read and checked (clause I3): a byte order (`<`, `>` or `|`), the letter of a [`Kind`], a size, and for
/// times a unit: `<f4`, `|V12`, `>M8[25s]`. The size counts bytes, but characters of four bytes for `U` and bits for `t`.
///
/// What was read is printed again exactly. Equality looks through spellings that mean the same: a byte order where there
/// is nothing to order (`<i1` is `|i1`, `<V2` is `|V2`), a written multiple of one (`<M8[1s]`), the size of an `O`. A type
/// with a [name](TypeStr::named) is written as void and equal to itself alone.
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
    /// Only of void.
    name: Option<NamedType>,
    /// As written: bytes, characters of `U`, bits of `t`; 0 where `O` has no size.
    size: u32,
    /// As written: 0 where no multiple is.
    multiple: u32,
}

impl TypeStr {
    /// The type of the given order, kind and size; `size` is what a type string would hold: bytes, but characters of `U`
    /// and bits of `t`. Datetimes and timedeltas get no unit.
    ///
    /// # Errors
    /// Key `typestr`, where NumPy has no such type, or the order is missing where it matters.
    pub fn new(order: ByteOrder, kind: Kind, size: u32) -> Result<TypeStr> {
        TypeStr::checked(order, kind, size)
            .map_err(|fault| fault.explain(&format!("{}{}{size}", order.symbol(), kind.letter())))
    }

    const fn checked(order: ByteOrder, kind: Kind, size: u32) -> Result<TypeStr, Fault> {
        if !kind.has_size(size) {
            return Err(Fault::NoSuchSize(kind));
        }
        let typestr = TypeStr { order, kind, unit: None, name: None, size, multiple: 0 };
        // A bit field wider than a byte may go without an order: it is a string of bits.
        if matches!(order, ByteOrder::NotApplicable) && typestr.order_matters() && !matches!(kind, Kind::BitField) {
            return Err(Fault::OrderMissing);
        }
        Ok(typestr)
    }

    /// A number of `size` bytes in this machine's order; for the constants of [`Element`].
    pub(crate) const fn native(kind: Kind, size: u32) -> TypeStr {
        let order = if size == 1 { ByteOrder::NotApplicable } else { ByteOrder::NATIVE };
        TypeStr { order, kind, unit: None, name: None, size, multiple: 0 }
    }

    /// `|V` and a size: the type string of structures.
    ///
    /// # Panics
    /// Beyond 2147483647 bytes, which is the largest item size that NumPy reads. As the value of a constant this is an
    /// error of compilation.
    pub const fn void(itemsize: u32) -> TypeStr {
        assert!(itemsize <= MAX_ITEMSIZE, "no type string is of more than 2147483647 bytes");
        TypeStr {
            order: ByteOrder::NotApplicable,
            kind: Kind::Void,
            unit: None,
            name: None,
            size: itemsize,
            multiple: 0,
        }
    }

    /// What an element is.
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// The byte order, as written.
    pub const fn byte_order(self) -> ByteOrder {
        self.order
    }

    /// The bytes that one element takes. Of a bit field: the whole bytes that hold it; see [`TypeStr::bits`].
    pub const fn itemsize(self) -> usize {
        match self.kind {
            Kind::Unicode => self.size as usize * 4,
            Kind::BitField => self.size.div_ceil(8) as usize,
            Kind::Object => size_of::<usize>(),
            _ => self.size as usize,
        }
    }

    /// The width of a bit field in bits; of nothing else.
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

    /// Whether this machine reads the elements as they are: the order is its own, or there is none.
    pub const fn is_native(self) -> bool {
        !self.order_matters() || matches!(self.order, ByteOrder::NATIVE | ByteOrder::NotApplicable)
    }

    /// Whether another byte order would be another type.
    const fn order_matters(self) -> bool {
        match self.kind {
            Kind::Bool | Kind::Object | Kind::Bytes | Kind::Void => false,
            Kind::Int | Kind::UInt => self.size > 1,
            Kind::BitField => self.size > 8,
            Kind::Float | Kind::Complex | Kind::Timedelta | Kind::Datetime | Kind::Unicode => true,
        }
    }

    /// Reads what real producers write instead of a type string: a buffer-protocol code (`=f`, `Zd`), a code of NumPy
    /// (`f`, `f4`), a name of NumPy or ml_dtypes (`float32`, `datetime64[ns]`, `bfloat16`), or a number with the order
    /// left out (`|f4`). An order that is not given is the machine's. `<f1`, which is what ml_dtypes writes for one of its
    /// 8-bit floats, is void of one byte. The second value describes the deviation; `None` where the string was right.
    ///
    /// # Errors
    /// Key `typestr`: neither a type string nor one of these. The codes `l`, `L` and `g` are refused where their size
    /// depends on who is asked: behind a byte order `l` has 4 bytes in the buffer protocol and 8 in NumPy.
    #[doc(hidden)]
    pub fn from_lenient(text: &str) -> Result<(TypeStr, Option<String>)> {
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

    /// The type of a text that `numpy.dtype` takes beside type strings: a name (`float32`), or a code without a byte order or with `=`
    /// (`f4`, `d`, `=i2`).
    #[cfg(feature = "python")]
    pub(crate) fn from_dtype_text(text: &str) -> Option<TypeStr> {
        let numpy_takes_it =
            text.starts_with(|first: char| first.is_ascii_alphanumeric() || matches!(first, '=' | '?'));
        lenient::read(text.as_bytes()).filter(|_| numpy_takes_it).map(|(typestr, _)| typestr)
    }

    /// In words, for people: `floating point, 4 bytes, little-endian`.
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

    /// What equality and hashing look at.
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
