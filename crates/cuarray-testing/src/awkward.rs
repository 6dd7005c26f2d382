//! The arrays that libraries get wrong, by name.

use cuarray::{Layout, Result, TypeStr};

/// The description of a legal array.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Awkward {
    /// The name, as in `cuarray.testing.ARRAYS` of the Python package.
    pub name: &'static str,
    /// The lengths of the axes.
    pub shape: &'static [usize],
    /// The strides in bytes; `None` if the dictionary has none, for a C-contiguous array.
    pub strides: Option<&'static [isize]>,
    /// The type string.
    pub typestr: &'static str,
    /// The fields of a structured type; empty for others.
    pub descr: &'static [(&'static str, &'static str)],
    /// Whether the array must not be written.
    pub is_read_only: bool,
    /// Whether every second element is invalid.
    pub has_mask: bool,
    /// Whether the elements are written by work that is pending in the exported stream.
    pub is_pending: bool,
    /// The version of the dictionary.
    pub version: u32,
}

impl Awkward {
    /// The layout, with strides in bytes.
    ///
    /// # Errors
    ///
    /// None for the entries of [`AWKWARD`].
    pub fn layout(&self) -> Result<Layout> {
        let itemsize = self.typestr.parse::<TypeStr>()?.itemsize();
        match self.strides {
            Some(strides) => Layout::strided(self.shape, strides, itemsize),
            None => Layout::c_contiguous(self.shape, itemsize),
        }
    }
}

const fn plain(name: &'static str, shape: &'static [usize], strides: Option<&'static [isize]>) -> Awkward {
    typed(name, shape, strides, "<f4")
}

const fn typed(
    name: &'static str,
    shape: &'static [usize],
    strides: Option<&'static [isize]>,
    typestr: &'static str,
) -> Awkward {
    let (is_read_only, has_mask, is_pending) = (false, false, false);
    Awkward { name, shape, strides, typestr, descr: &[], is_read_only, has_mask, is_pending, version: 3 }
}

/// A structure with padding between its fields.
const STRUCTURE: &[(&str, &str)] = &[("id", "|u1"), ("", "|V7"), ("value", "<f8")];

/// Every awkward array: each layout, type and optional entry that a library is known to get wrong.
pub const AWKWARD: &[Awkward] = &[
    plain("C-order", &[3, 4], Some(&[16, 4])),
    plain("F-order", &[3, 4], Some(&[4, 12])),
    plain("sliced", &[3, 4], Some(&[32, 8])),
    plain("transposed-3d", &[2, 3, 4], Some(&[4, 32, 8])),
    plain("one-element-axis", &[3, 1, 4], Some(&[16, 16, 4])),
    plain("zero-dim", &[], Some(&[])),
    plain("reversed-1d", &[5], Some(&[-4])),
    plain("reversed-2d", &[3, 4], Some(&[16, -4])),
    plain("broadcast-1d", &[5], Some(&[0])),
    plain("broadcast-2d", &[3, 4], Some(&[0, 4])),
    plain("empty-0", &[0], None),
    plain("empty-0x3", &[0, 3], None),
    plain("empty-strided", &[0, 3], Some(&[48, 16])),
    plain("overlapping", &[4, 3], Some(&[4, 4])),
    plain("odd-strides", &[3], Some(&[6])),
    plain("one-element", &[1, 1], Some(&[1000, -1000])),
    Awkward { descr: STRUCTURE, ..typed("structured", &[3], None, "|V16") },
    Awkward { descr: STRUCTURE, ..typed("structured-sliced", &[2, 2], Some(&[64, 32]), "|V16") },
    Awkward { has_mask: true, ..plain("masked", &[2, 3], None) },
    Awkward { is_read_only: true, ..plain("read-only", &[2, 3], None) },
    typed("big-endian", &[2, 3], None, ">f4"),
    typed("complex", &[2, 2], Some(&[8, 16]), "<c8"),
    typed("bool", &[5], None, "|b1"),
    Awkward { version: 2, ..plain("version-2", &[2, 3], None) },
    Awkward { is_pending: true, ..plain("pending", &[1024], None) },
];
