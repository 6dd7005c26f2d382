//! Fields of structured types (clause I9): any tree of fields.

use crate::assert_readable;
use arbitrary::{Arbitrary, Result, Unstructured};
use cuarray::{
    __private::fuzzing::{depth, plain_type},
    Descr, Dims, Field, FieldType, Interface, Kind, Layout, MAX_NDIM, TypeStr,
};
use std::collections::HashSet;

/// A structure is refused with a message, or has the offsets, the size and the depth that its fields add up to.
pub fn check(data: &[u8]) {
    let mut u = Unstructured::new(data);
    // When the bytes end, the list so far is the input.
    let mut made = Vec::new();
    while !u.is_empty() && structure(&mut u, &mut made).is_ok() {}
}

/// Makes a structure, whose fields may be earlier structures, and checks it.
fn structure(u: &mut Unstructured<'_>, made: &mut Vec<(Descr, Sum)>) -> Result<()> {
    let count = u8::arbitrary(u)? % 6;
    let (mut fields, mut structures) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let (field, structure) = field(u, made)?;
        fields.push(field);
        structures.push(structure);
    }
    let sums = structures.iter().map(|structure| structure.map(|index: usize| &made[index].1));
    let expected = Sum::of(&fields, sums);
    match Descr::new(fields.clone()) {
        Ok(descr) => {
            let expected = expected.expect("a structure beyond the limits was accepted");
            assert_eq!((descr.itemsize() as u128, depth(&descr)), (expected.bytes, expected.depth));
            let offsets: Vec<u128> = descr.offsets().map(|offset| offset as u128).collect();
            assert_eq!(offsets, expected.offsets);
            assert_eq!(descr.fields(), fields);
            printed(&descr, &expected);
            describes_an_array(&descr, &expected);
            made.push((descr, expected));
        }
        Err(error) => {
            assert!(expected.is_none(), "{error}");
            assert_eq!(error.key(), Some("descr"));
            assert_readable(&error.to_string());
        }
    }
    Ok(())
}

/// A field, and the index of its structure.
fn field(u: &mut Unstructured<'_>, made: &[(Descr, Sum)]) -> Result<(Field, Option<usize>)> {
    const NAMES: [&str; 8] = ["", "x", "y", "f0", "größe", "it's", "a\"b'c\\", "\n\u{1}"];
    let shape = match u8::arbitrary(u)? {
        ..160 => Dims::default(),
        160..200 => (0..u8::arbitrary(u)? % 4).map(|_| Ok(usize::from(u8::arbitrary(u)?))).collect::<Result<_>>()?,
        200..240 => (0..u8::arbitrary(u)? % 4).map(|_| usize::arbitrary(u)).collect::<Result<_>>()?,
        240.. => (0..MAX_NDIM - 2 + usize::from(u8::arbitrary(u)? % 4)).map(|_| 1).collect(),
    };
    let name = match u8::arbitrary(u)? {
        index @ ..128 => NAMES[usize::from(index) % NAMES.len()].to_owned(),
        number => format!("f{number}"),
    };
    let title = match u8::arbitrary(u)? {
        ..200 => None,
        index => Some(NAMES[usize::from(index) % NAMES.len()].to_owned()),
    };
    let choice = u8::arbitrary(u)?;
    let structure = (choice >= 128 && !made.is_empty()).then(|| usize::from(choice) % made.len());
    let ty = match structure {
        Some(index) => FieldType::Struct(made[index].0.clone()),
        None => FieldType::TypeStr(typestr(u, choice)?),
    };
    Ok((Field { name, title, ty, shape }, structure))
}

fn typestr(u: &mut Unstructured<'_>, choice: u8) -> Result<TypeStr> {
    const COMMON: [&str; 12] =
        ["<f4", "|u1", ">i8", "|b1", "<c16", "<M8[25s]", "|t1", "|t12", "<U3", "|S0", "|O", "|V2147483647"];
    Ok(match usize::from(choice) {
        index @ ..96 => COMMON[index % COMMON.len()].parse().expect("these are type strings"),
        _ => TypeStr::void(u32::from(u16::arbitrary(u)?)),
    })
}

/// The size, offsets and depth of fields, by definition.
struct Sum {
    bytes: u128,
    depth: usize,
    count: usize,
    offsets: Vec<u128>,
    has_objects: bool,
}

impl Sum {
    /// `None` beyond the limits, or with two fields of one name. Each field comes with the totals of its structure.
    fn of<'a>(fields: &[Field], structures: impl Iterator<Item = Option<&'a Sum>>) -> Option<Sum> {
        let mut sum = Sum { bytes: 0, depth: 1, count: 0, offsets: Vec::new(), has_objects: false };
        let mut names = HashSet::new();
        for (index, (field, structure)) in fields.iter().zip(structures).enumerate() {
            let is_void = matches!(&field.ty, FieldType::TypeStr(typestr) if typestr.kind() == Kind::Void);
            let name = match field.name.as_str() {
                "" if is_void && field.title.is_none() => String::new(),
                // NumPy names a field without a name by its place.
                "" => format!("f{index}"),
                name => name.to_owned(),
            };
            let titled = field.title.iter().filter(|title| **title != field.name).cloned();
            if !std::iter::once(name).chain(titled).filter(|name| !name.is_empty()).all(|name| names.insert(name)) {
                return None;
            }
            let one = match (&field.ty, structure) {
                (FieldType::TypeStr(typestr), _) => {
                    sum.has_objects |= typestr.kind() == Kind::Object;
                    typestr.itemsize() as u128
                }
                (FieldType::Struct(_), structure) => {
                    let inner = structure?;
                    sum.depth = sum.depth.max(1 + inner.depth);
                    sum.count += inner.count;
                    sum.has_objects |= inner.has_objects;
                    inner.bytes
                }
                _ => return None,
            };
            // A size beyond 64 bits is refused even if a length of 0 follows.
            let elements = field.shape.iter().try_fold(1usize, |elements, &length| elements.checked_mul(length))?;
            let bytes = one * elements as u128;
            sum.offsets.push(sum.bytes);
            sum.bytes += bytes;
            sum.count += 1;
            if field.shape.len() > MAX_NDIM || sum.bytes > i32::MAX as u128 {
                return None;
            }
        }
        (sum.depth <= Descr::MAX_DEPTH && sum.count <= Descr::MAX_FIELDS).then_some(sum)
    }
}

fn printed(descr: &Descr, sum: &Sum) {
    if sum.count < 100 {
        let text = descr.to_string();
        assert!(text.starts_with('[') && text.ends_with(']'));
        assert!(!text.contains(char::is_control));
        assert_eq!(text, Descr::new(descr.fields().to_vec()).expect("its own fields make it again").to_string());
    }
}

fn describes_an_array(descr: &Descr, sum: &Sum) {
    let layout = Layout::c_contiguous(&[2], descr.itemsize()).expect("two items of any size are addressable");
    let typestr = TypeStr::void(descr.itemsize() as u32);
    let interface = Interface::new(0x1000, typestr, layout).expect("a structure has an address");
    match interface.with_descr(descr.clone()) {
        Ok(interface) => {
            assert!(!sum.has_objects);
            // A single unnamed gap adds nothing to the type string.
            assert_eq!(interface.descr(), Some(descr).filter(|descr| plain_type(descr) != Some(typestr)));
        }
        Err(error) => {
            assert!(sum.has_objects, "{error}");
            assert_eq!(error.key(), Some("descr"));
            assert_readable(&error.to_string());
        }
    }
}
