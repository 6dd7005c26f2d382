//! The fields of a structured type: the `descr` entry (clause I9).
//!
//! A type string gives only the length of a structure (`|V16`). `descr` lists its fields one after the other: a name (or a
//! title and a name), a type string or a nested list, and the shape of a sub-array. Gaps are void fields without a name.
//! So offsets need no entry, and the field sizes add up to the item size. A reader that skips a gap misplaces every later
//! element, so this module drops no field. [`Interface::with_descr`](crate::Interface::with_descr) checks the sum against
//! the type string.
//!
//! The list comes from outside and nests, so depth, number of fields and sizes are bounded.

use super::layout::{MAX_NDIM, Tuple};
use crate::{Dims, Error, Kind, Result, TypeStr, error::Brief};
use std::{borrow::Cow, collections::HashSet, fmt, sync::Arc};

/// The type of a field.
///
/// ```
/// use cuarray::{Descr, Field, FieldType, TypeStr};
///
/// let inner = Descr::new(vec![Field::new("x", TypeStr::of::<f32>())])?;
/// assert!(matches!(Field::new("point", inner).ty, FieldType::Struct(_)));
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldType {
    /// One value, or void.
    TypeStr(TypeStr),
    /// A structure.
    Struct(Descr),
}

impl From<TypeStr> for FieldType {
    fn from(typestr: TypeStr) -> FieldType {
        FieldType::TypeStr(typestr)
    }
}

impl From<Descr> for FieldType {
    fn from(descr: Descr) -> FieldType {
        FieldType::Struct(descr)
    }
}

/// One entry of a [`Descr`]: in Python `(name, type)` or `((title, name), type, shape)`.
///
/// ```
/// use cuarray::{Field, TypeStr};
///
/// let field = Field { title: Some("Position".into()), shape: [3usize].into_iter().collect(), ..Field::new("pos", TypeStr::of::<f32>()) };
/// assert_eq!(field.to_string(), "(('Position', 'pos'), '<f4', (3,))");
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name; empty for a gap, and for the only field of a plain type.
    pub name: String,
    /// The title, a second name.
    pub title: Option<String>,
    /// The type of the field, or of each element of the sub-array.
    pub ty: FieldType,
    /// The shape of a sub-array in C order; empty for a single value.
    pub shape: Dims,
}

impl Field {
    /// A field without title or sub-array.
    pub fn new(name: impl Into<String>, ty: impl Into<FieldType>) -> Field {
        Field { name: name.into(), title: None, ty: ty.into(), shape: Dims::new() }
    }

    /// A gap of `bytes` bytes, as in an aligned structure.
    ///
    /// # Panics
    /// As [`TypeStr::void`].
    pub(crate) fn padding(bytes: u32) -> Field {
        Field::new("", TypeStr::void(bytes))
    }

    /// Whether this is a gap: void and without a name.
    pub(crate) fn is_padding(&self) -> bool {
        self.name.is_empty()
            && self.title.is_none()
            && matches!(self.ty, FieldType::TypeStr(typestr) if typestr.kind() == Kind::Void)
    }

    /// The bytes that the field takes, including its whole sub-array.
    ///
    /// # Errors
    /// Key `descr`: a sub-array with too many dimensions or bytes.
    pub(crate) fn itemsize(&self) -> Result<usize> {
        if self.shape.len() > MAX_NDIM {
            let why =
                format!("field {} has {} dimensions; at most {MAX_NDIM} are supported", Brief(self), self.shape.len());
            return Err(Error::entry("descr", why));
        }
        let one = match &self.ty {
            FieldType::TypeStr(typestr) => typestr.itemsize(),
            FieldType::Struct(descr) => descr.itemsize(),
        };
        let elements = self.shape.iter().try_fold(1usize, |elements, &length| elements.checked_mul(length));
        elements.and_then(|elements| elements.checked_mul(one)).filter(|&bytes| bytes <= MAX_ITEMSIZE).ok_or_else(
            || {
                let why = format!("field {} is too big; at most {MAX_ITEMSIZE} bytes are an item", Brief(self));
                Error::entry("descr", why)
            },
        )
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let title = self.title.as_deref().filter(|title| *title != self.name);
        std::iter::once(self.name.as_str()).chain(title).filter(|name| !name.is_empty())
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.title {
            Some(title) => write!(f, "(({}, {}), ", Literal(title), Literal(&self.name))?,
            None => write!(f, "({}, ", Literal(&self.name))?,
        }
        match &self.ty {
            FieldType::TypeStr(typestr) => write!(f, "'{}'", typestr.label())?,
            FieldType::Struct(descr) => write!(f, "{descr}")?,
        }
        match &*self.shape {
            [] => f.write_str(")"),
            shape => write!(f, ", {})", Tuple(shape)),
        }
    }
}

/// The largest item that NumPy can describe.
const MAX_ITEMSIZE: usize = i32::MAX as usize;

/// The fields of a structured type, in order and without gaps between them (clause I9). Cloning is cheap.
///
/// ```
/// use cuarray::{Descr, Field, TypeStr};
///
/// let descr = Descr::new(vec![
///     Field::new("id", TypeStr::of::<u8>()),
///     Field::new("", TypeStr::void(3)), // a gap
///     Field { shape: [2usize].into_iter().collect(), ..Field::new("xy", TypeStr::of::<f32>()) },
/// ])?;
/// assert_eq!(descr.itemsize(), 12);
/// assert_eq!(descr.offsets().collect::<Vec<_>>(), [0, 1, 4]);
/// assert_eq!(descr.to_string(), "[('id', '|u1'), ('', '|V3'), ('xy', '<f4', (2,))]");
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Descr(Arc<Fields>);

#[derive(PartialEq, Eq)]
struct Fields {
    fields: Box<[Field]>,
    /// The end of each field, in bytes.
    ends: Box<[u32]>,
    depth: usize,
    /// The number of fields, including those of nested structures.
    count: usize,
    has_objects: bool,
}

impl Descr {
    /// The maximum number of levels of nested structures. Readers of untrusted lists stop at this depth.
    pub const MAX_DEPTH: usize = 32;

    /// The maximum number of fields, including those of nested structures.
    pub const MAX_FIELDS: usize = 65_536;

    /// The structure with these fields.
    ///
    /// # Errors
    /// Key `descr`: two fields of one name or title, more than [`Descr::MAX_DEPTH`] levels, [`Descr::MAX_FIELDS`] fields or
    /// `i32::MAX` bytes, or a sub-array of more than [`MAX_NDIM`] dimensions.
    pub fn new(fields: Vec<Field>) -> Result<Descr> {
        let too_many = || {
            let why = format!("has more than {} fields; none needs as many", Descr::MAX_FIELDS);
            Error::entry("descr", why)
        };
        let (mut depth, mut count, mut end, mut has_objects) = (1, fields.len(), 0usize, false);
        if count > Descr::MAX_FIELDS {
            return Err(too_many());
        }
        let mut ends = Vec::with_capacity(fields.len());
        let mut names = HashSet::new();
        for (index, field) in fields.iter().enumerate() {
            // NumPy's name for a field without one.
            let given = (field.name.is_empty() && !field.is_padding()).then(|| Cow::from(format!("f{index}")));
            if let Some(name) = field.names().map(Cow::from).chain(given).find(|name| !names.insert(name.clone())) {
                return Err(Error::entry("descr", format!("has two fields named {}", Brief(Literal(&name)))));
            }
            match &field.ty {
                FieldType::TypeStr(typestr) => has_objects |= typestr.kind() == Kind::Object,
                FieldType::Struct(descr) => {
                    depth = depth.max(1 + descr.0.depth);
                    count += descr.0.count;
                    has_objects |= descr.0.has_objects;
                }
            }
            if depth > Descr::MAX_DEPTH {
                let why = format!("nests structures more than {} levels deep", Descr::MAX_DEPTH);
                return Err(Error::entry("descr", why));
            }
            if count > Descr::MAX_FIELDS {
                return Err(too_many());
            }
            // Both are at most `i32::MAX`, so the sum does not overflow.
            end += field.itemsize()?;
            if end > MAX_ITEMSIZE {
                let why = format!("describes items of more than {MAX_ITEMSIZE} bytes");
                return Err(Error::entry("descr", why));
            }
            ends.push(end as u32);
        }
        let (fields, ends) = (fields.into_boxed_slice(), ends.into_boxed_slice());
        Ok(Descr(Arc::new(Fields { fields, ends, depth, count, has_objects })))
    }

    /// The structure of `itemsize` bytes in which each field begins at its offset. Each gap becomes a void field. The
    /// fields must be in the order of their offsets, because a list of fields can express no other order.
    ///
    /// # Errors
    /// Key `descr`: a field begins before its predecessor ends, or ends after the item; and as in [`Descr::new`].
    pub fn from_offsets(itemsize: usize, fields: impl IntoIterator<Item = (usize, Field)>) -> Result<Descr> {
        let mut listed: Vec<Field> = Vec::new();
        let mut end = 0;
        let gap_before = |offset: usize, end: usize, what: &dyn fmt::Display| {
            let gap = offset.checked_sub(end).ok_or_else(|| {
                let why = format!(
                    "{what} at byte {offset}, but the fields before that take {end} bytes; fields that overlap or are out \
                     of order cannot be written, because a descr lists them one behind the other"
                );
                Error::entry("descr", why)
            })?;
            match u32::try_from(gap) {
                Ok(gap) if gap as usize <= MAX_ITEMSIZE => Ok((gap > 0).then(|| Field::padding(gap))),
                _ => {
                    Err(Error::entry("descr", format!("has a gap of {gap} bytes; at most {MAX_ITEMSIZE} are an item")))
                }
            }
        };
        for (offset, field) in fields {
            listed.extend(gap_before(offset, end, &format_args!("field {field} begins"))?);
            // `new` refuses a saturated offset, because no item is that large.
            end = offset.saturating_add(field.itemsize()?);
            listed.push(field);
        }
        listed.extend(gap_before(itemsize, end, &"the item ends")?);
        Descr::new(listed)
    }

    /// The fields, including gaps.
    pub fn fields(&self) -> &[Field] {
        &self.0.fields
    }

    /// The offset of each field in the item, in bytes.
    pub fn offsets(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        (0..self.0.ends.len()).map(|index| if index == 0 { 0 } else { self.0.ends[index - 1] as usize })
    }

    /// The size of the whole item, in bytes.
    pub fn itemsize(&self) -> usize {
        self.0.ends.last().copied().unwrap_or(0) as usize
    }

    /// The depth of nesting: 1 if no field is a structure.
    #[cfg(any(test, feature = "_fuzzing"))]
    pub(crate) fn depth(&self) -> usize {
        self.0.depth
    }

    /// The type of the only field, if it has neither name nor sub-array. Some producers write `[('', '<f4')]` for plain
    /// arrays; it adds nothing to the type string.
    pub(crate) fn as_plain(&self) -> Option<TypeStr> {
        match self.fields() {
            [Field { name, title: None, ty: FieldType::TypeStr(typestr), shape }]
                if name.is_empty() && shape.is_empty() =>
            {
                Some(*typestr)
            }
            _ => None,
        }
    }

    /// Whether a field at any depth is a pointer to a Python object.
    pub(crate) fn has_objects(&self) -> bool {
        self.0.has_objects
    }
}

/// Writes the list as Python does.
impl fmt::Display for Descr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, field) in self.fields().iter().enumerate() {
            write!(f, "{}{field}", if index == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Descr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Descr({self})")
    }
}

/// A string written as a Python literal.
struct Literal<'a>(&'a str);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.0.contains('\'') && !self.0.contains('"') { '"' } else { '\'' };
        write!(f, "{quote}")?;
        for c in self.0.chars() {
            match c {
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\\' => f.write_str("\\\\")?,
                c if c == quote => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        write!(f, "{quote}")
    }
}
