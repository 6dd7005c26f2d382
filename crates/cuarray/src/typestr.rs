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
//! Reading allocates nothing unless it fails: it is part of every import.

use crate::{Element, Error, Result};
use std::{
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

/// What an element is, whatever its size.
///
/// ```
/// use cuarray::{Kind, TypeStr};
///
/// let typestr: TypeStr = "<c16".parse()?;
/// assert_eq!(typestr.kind(), Kind::Complex);
/// assert_eq!(typestr.kind().letter(), 'c');
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `t`: a bit field, whose size counts bits.
    BitField,
    /// `b`: a truth value in a byte, 0 or 1.
    Bool,
    /// `i`: a signed integer.
    Int,
    /// `u`: an unsigned integer.
    UInt,
    /// `f`: an IEEE 754 floating-point number, or the platform's extended one.
    Float,
    /// `c`: two floating-point numbers, the real part first.
    Complex,
    /// `m`: a duration, a signed 64-bit count of units.
    Timedelta,
    /// `M`: a point in time, a signed 64-bit count of units since 1970.
    Datetime,
    /// `O`: a pointer to a Python object. It can be read, but no device array has such elements.
    Object,
    /// `S`: a byte string of fixed length, padded with zeros.
    Bytes,
    /// `U`: a string of fixed length in characters of four bytes.
    Unicode,
    /// `V`: bytes without a meaning of their own: structures, and types for which there is no letter.
    Void,
}

impl Kind {
    /// The letter that stands for this kind in a type string.
    ///
    /// ```
    /// assert_eq!(cuarray::Kind::Timedelta.letter(), 'm');
    /// ```
    pub const fn letter(self) -> char {
        match self {
            Kind::BitField => 't',
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::UInt => 'u',
            Kind::Float => 'f',
            Kind::Complex => 'c',
            Kind::Timedelta => 'm',
            Kind::Datetime => 'M',
            Kind::Object => 'O',
            Kind::Bytes => 'S',
            Kind::Unicode => 'U',
            Kind::Void => 'V',
        }
    }

    const fn from_letter(letter: u8) -> Option<Kind> {
        Some(match letter {
            b't' => Kind::BitField,
            b'b' => Kind::Bool,
            b'i' => Kind::Int,
            b'u' => Kind::UInt,
            b'f' => Kind::Float,
            b'c' => Kind::Complex,
            b'm' => Kind::Timedelta,
            b'M' => Kind::Datetime,
            b'O' => Kind::Object,
            b'S' => Kind::Bytes,
            b'U' => Kind::Unicode,
            b'V' => Kind::Void,
            _ => return None,
        })
    }

    /// The sizes that exist, as a type string counts them.
    const fn has_size(self, size: u32) -> bool {
        match self {
            Kind::Bool => size == 1,
            Kind::Int | Kind::UInt => matches!(size, 1 | 2 | 4 | 8),
            Kind::Float => matches!(size, 2 | 4 | 8 | 12 | 16),
            Kind::Complex => matches!(size, 8 | 16 | 24 | 32),
            Kind::Timedelta | Kind::Datetime => size == 8,
            Kind::Object => matches!(size, 0 | 4 | 8),
            Kind::Bytes | Kind::Void => size <= MAX_ITEMSIZE,
            Kind::Unicode => size <= MAX_ITEMSIZE / 4,
            Kind::BitField => size >= 1 && size <= MAX_ITEMSIZE,
        }
    }

    const fn sizes(self) -> &'static str {
        match self {
            Kind::Bool => "1 byte",
            Kind::Int | Kind::UInt => "1, 2, 4 or 8 bytes",
            Kind::Float => "2, 4, 8, 12 or 16 bytes",
            Kind::Complex => "8, 16, 24 or 32 bytes",
            Kind::Timedelta | Kind::Datetime => "8 bytes",
            Kind::Object => "no size, 4 or 8 bytes",
            Kind::Bytes | Kind::Void => "0 to 2147483647 bytes",
            Kind::Unicode => "0 to 536870911 characters",
            Kind::BitField => "1 to 2147483647 bits",
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Kind::BitField => "bit field",
            Kind::Bool => "bool",
            Kind::Int => "signed integer",
            Kind::UInt => "unsigned integer",
            Kind::Float => "floating point",
            Kind::Complex => "complex",
            Kind::Timedelta => "timedelta",
            Kind::Datetime => "datetime",
            Kind::Object => "Python object",
            Kind::Bytes => "byte string",
            Kind::Unicode => "Unicode string",
            Kind::Void => "void",
        }
    }
}

/// How the bytes of one number are ordered, as the first character of a type string says it.
///
/// ```
/// use cuarray::{ByteOrder, TypeStr};
///
/// assert_eq!(">f4".parse::<TypeStr>()?.byte_order(), ByteOrder::Big);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// `<`: the least significant byte first, as every GPU has it.
    Little,
    /// `>`: the most significant byte first.
    Big,
    /// `|`: there is nothing to order.
    NotApplicable,
}

impl ByteOrder {
    /// The order of the machine that this was built for.
    ///
    /// ```
    /// assert_eq!(cuarray::ByteOrder::NATIVE.symbol(), if cfg!(target_endian = "big") { '>' } else { '<' });
    /// ```
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

    /// The character that stands for this order in a type string.
    ///
    /// ```
    /// assert_eq!(cuarray::ByteOrder::NotApplicable.symbol(), '|');
    /// ```
    pub const fn symbol(self) -> char {
        match self {
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
            ByteOrder::NotApplicable => '|',
        }
    }
}

/// The unit of a datetime or timedelta.
///
/// ```
/// use cuarray::{TimeUnit, TypeStr};
///
/// let typestr: TypeStr = "<m8[25s]".parse()?;
/// assert_eq!(typestr.unit(), Some((25, TimeUnit::Second)));
/// assert_eq!(TimeUnit::Second.symbol(), "s");
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// `Y`
    Year,
    /// `M`
    Month,
    /// `W`
    Week,
    /// `D`
    Day,
    /// `h`
    Hour,
    /// `m`
    Minute,
    /// `s`
    Second,
    /// `ms`
    Millisecond,
    /// `us`
    Microsecond,
    /// `ns`
    Nanosecond,
    /// `ps`
    Picosecond,
    /// `fs`
    Femtosecond,
    /// `as`
    Attosecond,
}

impl TimeUnit {
    /// How the unit is written in a type string.
    ///
    /// ```
    /// assert_eq!(cuarray::TimeUnit::Microsecond.symbol(), "us");
    /// ```
    pub const fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Year => "Y",
            TimeUnit::Month => "M",
            TimeUnit::Week => "W",
            TimeUnit::Day => "D",
            TimeUnit::Hour => "h",
            TimeUnit::Minute => "m",
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "us",
            TimeUnit::Nanosecond => "ns",
            TimeUnit::Picosecond => "ps",
            TimeUnit::Femtosecond => "fs",
            TimeUnit::Attosecond => "as",
        }
    }

    const fn from_symbol(symbol: &[u8]) -> Option<TimeUnit> {
        Some(match symbol {
            b"Y" => TimeUnit::Year,
            b"M" => TimeUnit::Month,
            b"W" => TimeUnit::Week,
            b"D" => TimeUnit::Day,
            b"h" => TimeUnit::Hour,
            b"m" => TimeUnit::Minute,
            b"s" => TimeUnit::Second,
            b"ms" => TimeUnit::Millisecond,
            b"us" => TimeUnit::Microsecond,
            b"ns" => TimeUnit::Nanosecond,
            b"ps" => TimeUnit::Picosecond,
            b"fs" => TimeUnit::Femtosecond,
            b"as" => TimeUnit::Attosecond,
            _ => return None,
        })
    }
}

/// NumPy reads sizes into a C `int`; a string beyond it is no type string that anybody else could read.
const MAX_ITEMSIZE: u32 = i32::MAX as u32;

/// A type string, read and checked: `<f4`, `|V12`, `>M8[25s]` (clause I3). See the module's text in the source for the grammar.
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
    ///
    /// ```
    /// use cuarray::{ByteOrder, Kind, TypeStr};
    ///
    /// assert_eq!(TypeStr::new(ByteOrder::Little, Kind::Int, 2)?.to_string(), "<i2");
    /// assert!(TypeStr::new(ByteOrder::Little, Kind::Int, 3).is_err());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn new(order: ByteOrder, kind: Kind, size: u32) -> Result<TypeStr> {
        TypeStr::checked(order, kind, size)
            .map_err(|fault| fault.explain(&format!("{}{}{size}", order.symbol(), kind.letter())))
    }

    const fn checked(order: ByteOrder, kind: Kind, size: u32) -> Result<TypeStr, Fault> {
        if !kind.has_size(size) {
            return Err(Fault::NoSuchSize(kind));
        }
        let typestr = TypeStr { order, kind, unit: None, size, multiple: 0 };
        // A bit field wider than a byte may go without an order: it is a string of bits.
        if matches!(order, ByteOrder::NotApplicable) && typestr.order_matters() && !matches!(kind, Kind::BitField) {
            return Err(Fault::OrderMissing);
        }
        Ok(typestr)
    }

    /// The type string of a Rust type.
    ///
    /// ```
    /// use cuarray::TypeStr;
    ///
    /// assert_eq!(TypeStr::of::<u8>().to_string(), "|u1");
    /// assert_eq!(TypeStr::of::<f64>().itemsize(), 8);
    /// ```
    pub const fn of<T: Element>() -> TypeStr {
        const { assert!(size_of::<T>() == T::TYPESTR.itemsize(), "Element::TYPESTR is of another size than the type") };
        T::TYPESTR
    }

    /// A number of `size` bytes in this machine's order; for the constants of [`Element`].
    pub(crate) const fn native(kind: Kind, size: u32) -> TypeStr {
        let order = if size == 1 { ByteOrder::NotApplicable } else { ByteOrder::NATIVE };
        TypeStr { order, kind, unit: None, size, multiple: 0 }
    }

    /// `|V` and a size: the type string of structures.
    ///
    /// # Panics
    /// Beyond 2147483647 bytes, which is the largest item size that NumPy reads. As the value of a constant this is an
    /// error of compilation.
    ///
    /// ```
    /// const PIXEL: cuarray::TypeStr = cuarray::TypeStr::void(12);
    /// assert_eq!(PIXEL.to_string(), "|V12");
    /// ```
    pub const fn void(itemsize: u32) -> TypeStr {
        assert!(itemsize <= MAX_ITEMSIZE, "no type string is of more than 2147483647 bytes");
        TypeStr { order: ByteOrder::NotApplicable, kind: Kind::Void, unit: None, size: itemsize, multiple: 0 }
    }

    /// What an element is.
    ///
    /// ```
    /// assert_eq!(cuarray::TypeStr::of::<i32>().kind(), cuarray::Kind::Int);
    /// ```
    pub const fn kind(self) -> Kind {
        self.kind
    }

    /// The byte order, as written.
    ///
    /// ```
    /// assert_eq!(cuarray::TypeStr::of::<i8>().byte_order(), cuarray::ByteOrder::NotApplicable);
    /// ```
    pub const fn byte_order(self) -> ByteOrder {
        self.order
    }

    /// The bytes that one element takes. Of a bit field: the whole bytes that hold it; see [`TypeStr::bits`].
    ///
    /// ```
    /// use cuarray::TypeStr;
    ///
    /// assert_eq!("<c16".parse::<TypeStr>()?.itemsize(), 16);
    /// assert_eq!("<U3".parse::<TypeStr>()?.itemsize(), 12);
    /// assert_eq!("|t1".parse::<TypeStr>()?.itemsize(), 1);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub const fn itemsize(self) -> usize {
        match self.kind {
            Kind::Unicode => self.size as usize * 4,
            Kind::BitField => self.size.div_ceil(8) as usize,
            Kind::Object => size_of::<usize>(),
            _ => self.size as usize,
        }
    }

    /// The width of a bit field in bits; of nothing else.
    ///
    /// ```
    /// use cuarray::TypeStr;
    ///
    /// assert_eq!("|t1".parse::<TypeStr>()?.bits(), Some(1));
    /// assert_eq!("|u1".parse::<TypeStr>()?.bits(), None);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub const fn bits(self) -> Option<u32> {
        match self.kind {
            Kind::BitField => Some(self.size),
            _ => None,
        }
    }

    /// The multiple and unit of a datetime or timedelta. `None` for other kinds, and for a time without a unit (`<M8`).
    ///
    /// ```
    /// use cuarray::{TimeUnit, TypeStr};
    ///
    /// assert_eq!("<M8[ns]".parse::<TypeStr>()?.unit(), Some((1, TimeUnit::Nanosecond)));
    /// assert_eq!("<M8".parse::<TypeStr>()?.unit(), None);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub const fn unit(self) -> Option<(u32, TimeUnit)> {
        match self.unit {
            Some(unit) => Some((if self.multiple == 0 { 1 } else { self.multiple }, unit)),
            None => None,
        }
    }

    /// Whether this machine reads the elements as they are: the order is its own, or there is none.
    ///
    /// ```
    /// use cuarray::TypeStr;
    ///
    /// assert!(TypeStr::of::<f32>().is_native());
    /// assert!(">i1".parse::<TypeStr>()?.is_native());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
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
    /// (`f`, `f4`), a name of NumPy (`float32`, `datetime64[ns]`), or a number with the order left out (`|f4`). An order
    /// that is not given is the machine's. With it comes what was forgiven; `None` where the string was right.
    ///
    /// # Errors
    /// Key `typestr`: neither a type string nor one of these. The codes `l`, `L` and `g` are refused where their size
    /// depends on who is asked: behind a byte order `l` has 4 bytes in the buffer protocol and 8 in NumPy.
    ///
    /// ```
    /// use cuarray::TypeStr;
    ///
    /// let (typestr, forgiven) = TypeStr::from_lenient("=f")?;
    /// assert_eq!(typestr, TypeStr::of::<f32>());
    /// assert!(forgiven.unwrap().contains("'=f'"));
    ///
    /// assert!(TypeStr::from_lenient("<f4")?.1.is_none());
    /// assert!(TypeStr::from_lenient("float33").is_err());
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn from_lenient(text: &str) -> Result<(TypeStr, Option<String>)> {
        let fault = match parse(text.as_bytes()) {
            Ok(typestr) => return Ok((typestr, None)),
            Err(fault) => fault,
        };
        match parse_leniently(text.as_bytes()) {
            Some((typestr, what)) => {
                Ok((typestr, Some(format!("typestr {} {what}; read as '{typestr}'", Quoted(text)))))
            }
            None => Err(fault.explain(text)),
        }
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
            kind => format!("{}, {bytes} byte{}{order}", kind.noun(), plural(bytes)),
        }
    }

    /// What equality and hashing look at.
    fn meaning(self) -> (Kind, usize, Option<ByteOrder>, Option<(u32, TimeUnit)>) {
        let size = match self.kind {
            Kind::BitField => self.size as usize,
            _ => self.itemsize(),
        };
        (self.kind, size, self.order_matters().then_some(self.order), self.unit())
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

    fn from_str(text: &str) -> Result<TypeStr> {
        parse(text.as_bytes()).map_err(|fault| fault.explain(text))
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
        write!(f, "TypeStr({self})")
    }
}

/// Why a string is no type string; the sentence is made only when somebody will read it.
#[derive(Clone, Copy)]
enum Fault {
    NoOrder,
    NoKind,
    NoSize,
    NoSuchSize(Kind),
    OrderMissing,
    Unit,
    Trailing,
}

impl Fault {
    #[cold]
    fn explain(self, text: &str) -> Error {
        let why = match self {
            Fault::NoOrder => "does not begin with a byte order ('<', '>' or '|')".into(),
            Fault::NoKind => {
                "has no kind ('t', 'b', 'i', 'u', 'f', 'c', 'm', 'M', 'O', 'S', 'U' or 'V') after its byte \
                              order"
                    .into()
            }
            Fault::NoSize => "has no size after its kind (a decimal number without leading zeros)".into(),
            Fault::NoSuchSize(kind) => {
                format!("has a size that its kind has not: {} takes {}", kind.noun(), kind.sizes())
            }
            Fault::OrderMissing => {
                "needs a byte order, '<' or '>': its elements have more than one byte to order".into()
            }
            Fault::Unit => {
                "has no unit that exists: a time ends in nothing, or as in '[ns]' or '[25s]', with Y, M, W, D, h, \
                            m, s, ms, us, ns, ps, fs or as"
                    .into()
            }
            Fault::Trailing => "goes on after its size".into(),
        };
        Error::entry("typestr", format!("{} {why}; expected a NumPy type string, such as '<f4'", Quoted(text)))
    }
}

/// A string from outside in a message: quoted, escaped, and not longer than anybody reads.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 60;
        f.write_str("'")?;
        for c in self.0.chars().take(SHOWN) {
            match c {
                '"' => f.write_str("\"")?,
                c => write!(f, "{}", c.escape_debug())?,
            }
        }
        f.write_str(if self.0.chars().nth(SHOWN).is_some() { "…'" } else { "'" })
    }
}

/// A decimal number without leading zeros, and what follows it.
fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    if digits.is_empty() || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    let value =
        digits.iter().try_fold(0u32, |value, digit| value.checked_mul(10)?.checked_add(u32::from(digit - b'0')))?;
    Some((value, rest))
}

fn parse(text: &[u8]) -> Result<TypeStr, Fault> {
    let (order, rest) = match text {
        [b'<', rest @ ..] => (ByteOrder::Little, rest),
        [b'>', rest @ ..] => (ByteOrder::Big, rest),
        [b'|', rest @ ..] => (ByteOrder::NotApplicable, rest),
        _ => return Err(Fault::NoOrder),
    };
    parse_behind_order(order, rest)
}

fn parse_behind_order(order: ByteOrder, text: &[u8]) -> Result<TypeStr, Fault> {
    let (&letter, rest) = text.split_first().ok_or(Fault::NoKind)?;
    let kind = Kind::from_letter(letter).ok_or(Fault::NoKind)?;
    let (size, rest) = match number(rest) {
        Some(found) => found,
        None if kind == Kind::Object && rest.is_empty() => (0, rest),
        None => return Err(Fault::NoSize),
    };
    // `|O` may go without a size, but `|O0` is nothing that anybody writes.
    if kind == Kind::Object && size == 0 && text.len() > 1 {
        return Err(Fault::NoSuchSize(kind));
    }
    let typestr = TypeStr::checked(order, kind, size)?;
    match (kind, rest) {
        (_, []) => Ok(typestr),
        (Kind::Timedelta | Kind::Datetime, [b'[', unit @ .., b']']) => with_unit(typestr, unit),
        (Kind::Timedelta | Kind::Datetime, _) => Err(Fault::Unit),
        _ => Err(Fault::Trailing),
    }
}

fn with_unit(typestr: TypeStr, text: &[u8]) -> Result<TypeStr, Fault> {
    let (multiple, symbol) = match text.first() {
        Some(byte) if byte.is_ascii_digit() => number(text).ok_or(Fault::Unit)?,
        _ => (0, text),
    };
    let unit = TimeUnit::from_symbol(symbol).ok_or(Fault::Unit)?;
    if multiple > MAX_ITEMSIZE || (multiple == 0 && symbol.len() < text.len()) {
        return Err(Fault::Unit);
    }
    Ok(TypeStr { unit: Some(unit), multiple, ..typestr })
}

/// The byte order that a producer who gave none can only have meant.
fn implied_order(kind: Kind, size: u32) -> ByteOrder {
    let ordered = TypeStr { order: ByteOrder::NATIVE, kind, unit: None, size, multiple: 0 }.order_matters();
    if ordered { ByteOrder::NATIVE } else { ByteOrder::NotApplicable }
}

fn parse_leniently(text: &[u8]) -> Option<(TypeStr, &'static str)> {
    if let Some(typestr) = parse_name(text) {
        return Some((typestr, "is the name of a type"));
    }
    let (order, rest, what) = match text {
        [b'<', rest @ ..] => (Some(ByteOrder::Little), rest, "has no size"),
        [b'>', rest @ ..] => (Some(ByteOrder::Big), rest, "has no size"),
        [b'!', rest @ ..] => (Some(ByteOrder::Big), rest, "has a byte order of the buffer protocol"),
        [b'=' | b'@', rest @ ..] => (None, rest, "has a byte order of the buffer protocol"),
        [b'|', rest @ ..] => (None, rest, "leaves out the byte order"),
        rest => (None, rest, "leaves out the byte order"),
    };
    if let Ok(typestr) = parse_behind_order(ByteOrder::NATIVE, rest) {
        let order = match order {
            Some(order) if typestr.order_matters() => order,
            _ => implied_order(typestr.kind, typestr.size),
        };
        return Some((TypeStr { order, ..typestr }, what));
    }
    let (kind, size) = parse_code(rest, rest.len() == text.len())?;
    let order = match order {
        Some(order) if implied_order(kind, size) != ByteOrder::NotApplicable => order,
        _ => implied_order(kind, size),
    };
    Some((TypeStr { order, kind, unit: None, size, multiple: 0 }, "is a code of the buffer protocol"))
}

/// The letters of Python's `struct` module, the buffer protocol and NumPy, where they agree.
fn parse_code(code: &[u8], bare: bool) -> Option<(Kind, u32)> {
    Some(match code {
        b"?" => (Kind::Bool, 1),
        b"b" => (Kind::Int, 1),
        b"B" => (Kind::UInt, 1),
        b"h" => (Kind::Int, 2),
        b"H" => (Kind::UInt, 2),
        b"i" => (Kind::Int, 4),
        b"I" => (Kind::UInt, 4),
        b"q" => (Kind::Int, 8),
        b"Q" => (Kind::UInt, 8),
        // With no byte order before it everybody means the C `long`; NumPy calls int64 so on most machines.
        b"l" if bare => (Kind::Int, size_of::<std::ffi::c_long>() as u32),
        b"L" if bare => (Kind::UInt, size_of::<std::ffi::c_ulong>() as u32),
        b"e" => (Kind::Float, 2),
        b"f" => (Kind::Float, 4),
        b"d" => (Kind::Float, 8),
        b"F" | b"Zf" => (Kind::Complex, 8),
        b"D" | b"Zd" => (Kind::Complex, 16),
        b"c" => (Kind::Bytes, 1),
        _ => return None,
    })
}

fn parse_name(name: &[u8]) -> Option<TypeStr> {
    let (kind, size) = match name {
        b"bool" => (Kind::Bool, 1),
        b"int8" => (Kind::Int, 1),
        b"int16" => (Kind::Int, 2),
        b"int32" => (Kind::Int, 4),
        b"int64" => (Kind::Int, 8),
        b"uint8" => (Kind::UInt, 1),
        b"uint16" => (Kind::UInt, 2),
        b"uint32" => (Kind::UInt, 4),
        b"uint64" => (Kind::UInt, 8),
        b"float16" => (Kind::Float, 2),
        b"float32" => (Kind::Float, 4),
        b"float64" => (Kind::Float, 8),
        b"complex64" => (Kind::Complex, 8),
        b"complex128" => (Kind::Complex, 16),
        _ => {
            let (kind, unit) = match name.strip_prefix(b"datetime64") {
                Some(unit) => (Kind::Datetime, unit),
                None => (Kind::Timedelta, name.strip_prefix(b"timedelta64")?),
            };
            let time = TypeStr { order: ByteOrder::NATIVE, kind, unit: None, size: 8, multiple: 0 };
            return match unit {
                [] => Some(time),
                [b'[', unit @ .., b']'] => with_unit(time, unit).ok(),
                _ => None,
            };
        }
    };
    Some(TypeStr { order: implied_order(kind, size), kind, unit: None, size, multiple: 0 })
}

const _: () = assert!(size_of::<TypeStr>() <= 16);
