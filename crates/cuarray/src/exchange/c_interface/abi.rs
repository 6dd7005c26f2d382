//! The C structures, as `include/cuarray.h` lays them out.
//!
//! The members are private to this folder. Only [`super::read`] reads a structure of another library; it copies the structure
//! first and then checks it. No member is an `enum`, because an unknown number from outside would be undefined behaviour.
//! Offsets are asserted below and in the header, and a test compares the two compilers.

use std::ffi::{c_char, c_void};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("lengths and pointers are taken to have 64 bits, as on every machine that CUDA runs on");

/// The version of the layout of the structures.
pub(super) const MAJOR: u32 = 1;
/// The version of the flags and codes.
pub(super) const MINOR: u32 = 0;

/// The elements must not be written.
pub(super) const READ_ONLY: u64 = 1 << 0;
/// There is a stream.
pub(super) const HAS_STREAM: u64 = 1 << 1;
/// There is an event.
pub(super) const HAS_EVENT: u64 = 1 << 2;
/// Flags that a reader must understand, whatever the version.
pub(super) const BINDING: u64 = 0xffff_ffff;
pub(super) const KNOWN: u64 = READ_ONLY | HAS_STREAM | HAS_EVENT;

/// The value of `memory` for an unknown kind of memory.
pub(super) const MEMORY_UNKNOWN: i32 = 0;
pub(super) const MEMORY_DEVICE: i32 = 1;
pub(super) const MEMORY_HOST: i32 = 2;
pub(super) const MEMORY_MANAGED: i32 = 3;

/// The size of a type string or a name with its terminating zero.
pub(super) const TEXT: usize = 24;

/// `cuarray_field`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct CField {
    pub(super) name: *const c_char,
    pub(super) title: *const c_char,
    pub(super) fields: *const CField,
    pub(super) shape: *const i64,
    pub(super) nfields: i32,
    pub(super) ndim: i32,
    pub(super) typestr: [u8; TEXT],
    pub(super) type_name: [u8; TEXT],
}

/// `cuarray`, the structure of `include/cuarray.h`; [`CArray`](super::CArray) owns one.
///
/// ```
/// use cuarray::{CArray, Interface, c_interface::RawCArray};
///
/// /// A function of your own C interface. Its caller must call the release of the structure.
/// fn export(interface: Interface) -> *mut RawCArray {
///     CArray::new(interface, None).map_or(std::ptr::null_mut(), CArray::into_raw)
/// }
/// ```
#[repr(C)]
#[derive(Debug)]
pub struct RawCArray {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) release: Option<unsafe extern "C" fn(*mut RawCArray)>,
    pub(super) owner: *mut c_void,
    pub(super) flags: u64,
    pub(super) data: u64,
    pub(super) stream: u64,
    pub(super) event: u64,
    pub(super) shape: *const i64,
    pub(super) strides: *const i64,
    pub(super) fields: *const CField,
    pub(super) mask: *const RawCArray,
    pub(super) ndim: i32,
    pub(super) nfields: i32,
    pub(super) device: i32,
    pub(super) memory: i32,
    pub(super) typestr: [u8; TEXT],
    pub(super) type_name: [u8; TEXT],
}

const _: () = {
    use std::mem::offset_of;
    assert!(size_of::<RawCArray>() == 152);
    assert!(offset_of!(RawCArray, release) == 8 && offset_of!(RawCArray, owner) == 16);
    assert!(offset_of!(RawCArray, flags) == 24 && offset_of!(RawCArray, event) == 48);
    assert!(offset_of!(RawCArray, shape) == 56 && offset_of!(RawCArray, mask) == 80);
    assert!(offset_of!(RawCArray, ndim) == 88 && offset_of!(RawCArray, memory) == 100);
    assert!(offset_of!(RawCArray, typestr) == 104 && offset_of!(RawCArray, type_name) == 128);
    assert!(size_of::<CField>() == 88 && offset_of!(CField, typestr) == 40);
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::{env, fmt::Write, fs, mem::offset_of, path::Path, process::Command};

    /// One line for each member, in the format of the C program.
    fn ours() -> String {
        let mut text = String::new();
        macro_rules! offsets {
            ($struct:ident as $name:literal: $($member:ident)*) => {
                writeln!(text, "{} {}", $name, size_of::<$struct>()).unwrap();
                $(writeln!(text, "{}.{} {}", $name, stringify!($member), offset_of!($struct, $member)).unwrap();)*
            };
        }
        offsets!(RawCArray as "cuarray": major minor release owner flags data stream event shape strides fields mask
            ndim nfields device memory typestr type_name);
        offsets!(CField as "cuarray_field": name title fields shape nfields ndim typestr type_name);
        let constants = [
            ("MAJOR", u64::from(MAJOR)),
            ("MINOR", u64::from(MINOR)),
            ("READ_ONLY", READ_ONLY),
            ("HAS_STREAM", HAS_STREAM),
            ("HAS_EVENT", HAS_EVENT),
            ("KNOWN_FLAGS", KNOWN),
            ("MEMORY_UNKNOWN", MEMORY_UNKNOWN as u64),
            ("MEMORY_DEVICE", MEMORY_DEVICE as u64),
            ("MEMORY_HOST", MEMORY_HOST as u64),
            ("MEMORY_MANAGED", MEMORY_MANAGED as u64),
            ("MAX_NDIM", crate::MAX_NDIM as u64),
        ];
        constants.iter().for_each(|(name, value)| writeln!(text, "{name} {value}").unwrap());
        text
    }

    /// A C program that prints the layout as the C compiler sees it.
    fn program() -> String {
        let mut text = "#include <stdio.h>\n#include \"cuarray.h\"\nint main(void) {\n".to_owned();
        for line in ours().lines() {
            let name = line.split(' ').next().unwrap();
            let value = match name.split_once('.') {
                Some((of, member)) => format!("offsetof({of}, {member})"),
                None if name.starts_with("cuarray") => format!("sizeof({name})"),
                None => format!("CUARRAY_{name}"),
            };
            writeln!(text, "    printf(\"{name} %lu\\n\", (unsigned long)({value}));").unwrap();
        }
        text + "    return 0;\n}\n"
    }

    #[test]
    #[cfg_attr(windows, ignore = "the compilers have other names")]
    fn c_and_cpp_layouts_equal_the_rust_layout() {
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
        let at = env::temp_dir().join(format!("cuarray-layout-{}", std::process::id()));
        fs::create_dir_all(&at).unwrap();
        let (source, built) = (at.join("layout.c"), at.join("layout"));
        fs::write(&source, program()).unwrap();
        for (compiler, language, standard) in [("cc", "c", "-std=c99"), ("c++", "c++", "-std=c++11")] {
            let mut command = Command::new(compiler);
            command.args(["-x", language, standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-I"]).arg(&include);
            let status = command.arg(&source).arg("-o").arg(&built).status().unwrap();
            assert!(status.success(), "{compiler}");
            let printed = Command::new(&built).output().unwrap();
            assert_eq!(String::from_utf8(printed.stdout).unwrap(), ours(), "{compiler}");
        }
        fs::remove_dir_all(&at).unwrap();
    }
}
