//! Images: the containers in which programs pass PTX to a driver.
//!
//! An image is PTX text, a fat binary, a static library, or a linked image. A linked image is a container of this
//! crate with the modules of a link. Machine code is refused.

mod compression;
mod fatbin;
pub(crate) mod source;

use std::ffi::CStr;

/// The PTX modules of an image.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Image {
    /// The modules that are resolved together: name and PTX text.
    pub modules: Vec<(String, String)>,
    /// The limit of registers of a thread; 0 means none.
    pub max_registers: u32,
    /// The target of PTX for a newer device that takes the place of machine code for the device, if there is such PTX.
    pub newer_target: Option<u32>,
}

/// The reason why an image is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// The image is, or holds only, machine code.
    MachineCode,
    /// The image is code of a compiler that is linked later: NVVM IR or LTO-IR.
    Intermediate,
    /// The image is a fat binary with LTO-IR, and without PTX and machine code: `nvcc -gencode arch=compute_90,code=lto_90`.
    LtoIr,
    /// The image is a fat binary, and all its PTX is for newer devices: the newest target.
    NewerTarget(u32),
    /// The image has no known format.
    Unknown,
}

impl std::error::Error for ImageError {}

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ImageError::MachineCode => "the image holds machine code only, no PTX",
            ImageError::Intermediate => "the image is NVVM IR or LTO-IR, which a linker or a compiler makes PTX of",
            ImageError::LtoIr => "the fat binary holds LTO-IR only, which is linked later, and no PTX",
            ImageError::NewerTarget(target) => {
                return write!(f, "the PTX of the image is for sm_{target}, a newer device or another family");
            }
            ImageError::Unknown => "the image is not PTX text, a fat binary or a static library",
        })
    }
}

/// The magic number of a linked image.
const LINKED: &[u8; 8] = b"\x7fCUSIM\x01\n";
/// The machine of an ELF file with device code.
const CUDA_MACHINE: [u8; 2] = 190_u16.to_le_bytes();
/// The first bytes of NVVM IR, as bitcode and as text, and of LTO-IR, as NVRTC writes it.
const INTERMEDIATE: [&[u8]; 3] = [b"BC\xc0\xde", b"; ModuleID", b"\xedCN\x7f"];
/// The magic number of a fat binary.
const FAT: u32 = 0xba55_ed50;
/// The magic number of a record that points to a fat binary.
const FAT_WRAPPER: u32 = 0x4662_43b1;

impl Image {
    /// Reads an image of known length. Of a fat binary, it takes the PTX of the newest target.
    pub fn read(bytes: &[u8]) -> Result<Image, ImageError> {
        Image::read_for(bytes, u32::MAX)
    }

    /// Reads an image of known length for a device. Of a fat binary, it takes the PTX of the newest target up to
    /// `capability`, ten times the device's compute capability. If the device would run machine code, because all PTX is for newer
    /// devices, it takes the PTX of the oldest of these.
    pub fn read_for(bytes: &[u8], capability: u32) -> Result<Image, ImageError> {
        // An object file of the host may hold fat binaries.
        if bytes.starts_with(b"\x7fELF") && bytes.get(18..20).is_some_and(|machine| machine != CUDA_MACHINE) {
            let image = Image::of(fatbin::archive(bytes, capability));
            return if image.modules.is_empty() { Err(ImageError::MachineCode) } else { Ok(image) };
        }
        if bytes.starts_with(b"\x7fELF") {
            return Err(ImageError::MachineCode);
        }
        if INTERMEDIATE.iter().any(|magic| bytes.starts_with(magic)) {
            return Err(ImageError::Intermediate);
        }
        if let Some(rest) = bytes.strip_prefix(LINKED) {
            return linked(rest).ok_or(ImageError::Unknown);
        }
        if bytes.starts_with(&FAT.to_le_bytes()) {
            return Ok(Image::of([fatbin::ptx(bytes, capability).ok_or(ImageError::Unknown)??]));
        }
        if bytes.starts_with(b"!<arch>\n") {
            return Ok(Image::of(fatbin::archive(bytes, capability)));
        }
        // The length may include the nul that ends the text.
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| ImageError::Unknown)?;
        // In UTF-8, the further control characters begin with 0xc2.
        let may_control = |byte: u8| byte < b' ' && !byte.is_ascii_whitespace() || byte == 0x7f || byte == 0xc2;
        let suspicious =
            text.as_bytes().chunks(1024).any(|part| part.iter().fold(false, |any, byte| any | may_control(*byte)));
        let control = |c: char| c.is_control() && !c.is_ascii_whitespace();
        if text.trim().is_empty() || suspicious && text.contains(control) {
            return Err(ImageError::Unknown);
        }
        Ok(Image { modules: vec![(String::new(), text.to_owned())], ..Image::default() })
    }

    fn of(found: impl IntoIterator<Item = fatbin::Ptx>) -> Image {
        let mut image = Image::default();
        for ptx in found {
            image.newer_target = image.newer_target.max(ptx.newer_target);
            image.modules.push((String::new(), ptx.text));
        }
        image
    }

    /// Reads an image of unknown length for a device; see [`read_for`](Image::read_for).
    ///
    /// # Safety
    /// `image` points to an image: a container of the length that its head states, or text that ends in a nul.
    pub unsafe fn from_ptr(image: *const u8, capability: u32) -> Result<Image, ImageError> {
        // SAFETY: this function's contract.
        unsafe { Image::from_readable(image, capability, |_, _| true) }
    }

    /// Reads an image of unknown length, as far as `is_readable` allows. It is asked for an address and a length before
    /// these bytes are read. An image that states a greater length is [`ImageError::Unknown`].
    ///
    /// # Safety
    /// The bytes for which `is_readable` returns true can be read, and no thread writes them meanwhile.
    pub unsafe fn from_readable(
        image: *const u8,
        capability: u32,
        is_readable: impl Fn(*const u8, usize) -> bool,
    ) -> Result<Image, ImageError> {
        let memory = Memory { is_readable: &is_readable };
        // SAFETY: this function's contract.
        unsafe {
            if memory.head(image, 4) == FAT_WRAPPER.to_le_bytes() {
                return memory.wrapped(image, capability);
            }
            Image::read_for(memory.image(image).ok_or(ImageError::Unknown)?, capability)
        }
    }

    /// Returns the image as an input of a link, which takes no PTX for newer devices.
    ///
    /// # Errors
    /// [`ImageError::NewerTarget`].
    pub fn for_link(self) -> Result<Image, ImageError> {
        self.newer_target.map_or(Ok(self), |target| Err(ImageError::NewerTarget(target)))
    }

    /// Returns a linked image with these modules.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = LINKED.to_vec();
        bytes.extend([0; 8]);
        bytes.extend(self.max_registers.to_le_bytes());
        bytes.extend((self.modules.len() as u32).to_le_bytes());
        for (name, text) in &self.modules {
            for part in [name, text] {
                bytes.extend((part.len() as u64).to_le_bytes());
                bytes.extend(part.as_bytes());
            }
        }
        let length = bytes.len() as u64;
        bytes[8..16].copy_from_slice(&length.to_le_bytes());
        bytes
    }
}

/// Memory of the process that holds images.
struct Memory<'a> {
    is_readable: &'a dyn Fn(*const u8, usize) -> bool,
}

impl<'a> Memory<'a> {
    /// The number of bytes of text that one check covers. Pages of all targets are multiples of it.
    const STEP: usize = 4096;
    /// The largest number of fat binaries of a wrapper.
    const LIST: usize = 1 << 16;

    /// Up to `length` bytes: those before the first that cannot be read, and before the first nul.
    ///
    /// # Safety
    /// As for [`Image::from_readable`].
    unsafe fn head(&self, address: *const u8, length: usize) -> Vec<u8> {
        // SAFETY: this function's contract.
        unsafe { self.bytes(address) }.take(length).take_while(|byte| *byte != 0).collect()
    }

    /// The bytes from an address up to the first that cannot be read. One check covers the rest of a page if all of it can be read.
    ///
    /// # Safety
    /// As for [`Image::from_readable`].
    unsafe fn bytes(&self, address: *const u8) -> impl Iterator<Item = u8> {
        let mut readable = 0;
        (0_usize..).map_while(move |index| {
            let place = address.wrapping_add(index);
            if index == readable {
                let rest = Self::STEP - place.addr() % Self::STEP;
                readable += [rest, 1].into_iter().find(|length| (self.is_readable)(place, *length))?;
            }
            // SAFETY: the byte was found readable.
            Some(unsafe { place.read() })
        })
    }

    /// The length of a text without the nul at its end; `None` if that cannot be read.
    ///
    /// # Safety
    /// As for [`Image::from_readable`].
    unsafe fn text_length(&self, text: *const u8) -> Option<usize> {
        let mut length = 0_usize;
        loop {
            let place = text.wrapping_add(length);
            let rest = Self::STEP - place.addr() % Self::STEP;
            if !(self.is_readable)(place, rest) {
                // SAFETY: this function's contract.
                return Some(length + unsafe { self.bytes(place) }.position(|byte| byte == 0)?);
            }
            // SAFETY: the rest of the page was found readable, and no thread writes it meanwhile.
            let page = unsafe { std::slice::from_raw_parts(place, rest) };
            match CStr::from_bytes_until_nul(page) {
                Ok(end) => return Some(length + end.count_bytes()),
                Err(_) => length += rest,
            }
        }
    }

    /// # Safety
    /// As for [`Image::from_readable`]. The element type has no invalid values.
    unsafe fn value<T: Copy>(&self, address: *const u8) -> Option<T> {
        // SAFETY: the bytes were found readable.
        (self.is_readable)(address, size_of::<T>()).then(|| unsafe { address.cast::<T>().read_unaligned() })
    }

    /// The bytes of an image, without those of the text after its nul.
    ///
    /// # Safety
    /// As for [`Image::from_readable`].
    unsafe fn image(&self, image: *const u8) -> Option<&'a [u8]> {
        // SAFETY: this function's contract, for each of the reads.
        unsafe {
            // No more is read than the shortest image has.
            let magic = self.head(image, 4);
            let length = if magic.starts_with(&FAT.to_le_bytes()) {
                let head = self.value::<u16>(image.wrapping_add(6))?;
                u64::from(head).checked_add(self.value(image.wrapping_add(8))?)?
            } else if magic.starts_with(b"\x7fELF") {
                4
            } else if self.head(image, 8) == LINKED {
                self.value(image.wrapping_add(8))?
            } else {
                self.text_length(image)? as u64
            };
            let length = usize::try_from(length).ok().filter(|length| *length < isize::MAX as usize)?;
            (self.is_readable)(image, length).then(|| std::slice::from_raw_parts(image, length))
        }
    }

    /// The fat binary of a wrapper: a record with its magic number, a version, and two addresses. The first is that of
    /// a fat binary. In version 2, which `nvcc -rdc=true` writes, the second is a list of the fat binaries that were linked.
    ///
    /// # Safety
    /// As for [`Image::from_readable`].
    unsafe fn wrapped(&self, wrapper: *const u8, capability: u32) -> Result<Image, ImageError> {
        // SAFETY: this function's contract, for each of the reads.
        unsafe {
            let fat_at = |place: *const u8| {
                let data = self.value::<*const u8>(place).filter(|data| !data.is_null()).ok_or(ImageError::Unknown)?;
                self.image(data).filter(|bytes| bytes.starts_with(&FAT.to_le_bytes())).ok_or(ImageError::Unknown)
            };
            let version = self.value::<u32>(wrapper.wrapping_add(4)).ok_or(ImageError::Unknown)?;
            let list = self.value::<*const u8>(wrapper.wrapping_add(16)).filter(|list| !list.is_null());
            let (2, Some(list)) = (version, list) else {
                return Image::read_for(fat_at(wrapper.wrapping_add(8))?, capability);
            };
            let mut found = Vec::new();
            for index in 0..Self::LIST {
                let place = list.wrapping_add(index * size_of::<*const u8>());
                if self.value::<*const u8>(place).is_some_and(|fat| fat.is_null()) {
                    break;
                }
                found.extend(fatbin::linkable(fat_at(place)?, capability)?);
            }
            if found.is_empty() {
                return Image::read_for(fat_at(wrapper.wrapping_add(8))?, capability);
            }
            Ok(Image::of(found))
        }
    }
}

/// Reads a linked image after its magic number.
fn linked(bytes: &[u8]) -> Option<Image> {
    let mut at = 8_usize;
    let mut take = |length: usize| {
        let part = bytes.get(at..at.checked_add(length)?)?;
        at += length;
        Some(part)
    };
    let max_registers = u32::from_le_bytes(take(4)?.try_into().ok()?);
    let count = u32::from_le_bytes(take(4)?.try_into().ok()?);
    let mut text = || {
        let length = u64::from_le_bytes(take(8)?.try_into().ok()?);
        String::from_utf8(take(usize::try_from(length).ok()?)?.to_vec()).ok()
    };
    let modules = (0..count).map(|_| Some((text()?, text()?))).collect::<Option<Vec<_>>>()?;
    Some(Image { modules, max_registers, newer_target: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_images_are_distinguished() {
        let text = ".version 8.0";
        assert_eq!(Image::read(b".version 8.0\0").unwrap().modules[0].1, text);
        assert_eq!(Image::read(b"\x7fELF\x02"), Err(ImageError::MachineCode));
        for intermediate in [&b"BC\xc0\xde5\x14"[..], b"; ModuleID = 'a'\n", b"\xedCN\x7f\x01C\x83\0"] {
            assert_eq!(Image::read(intermediate), Err(ImageError::Intermediate));
        }
        for unknown in [&b""[..], b"\0", b"\x01\x02\x03\x04", b"\xff\xfe", b"P\xed\x55\xba\0", LINKED] {
            assert_eq!(Image::read(unknown), Err(ImageError::Unknown), "{unknown:?}");
        }
    }

    #[test]
    fn object_files_of_the_host_are_searched_for_fat_binaries() {
        let fat = fatbin::tests::fat(&[fatbin::tests::entry(1, 80, 1, b".version 8.0\0", 0)]);
        let elf =
            |machine: u16, rest: &[u8]| [b"\x7fELF\x02\x01\x01", &[0; 11][..], &machine.to_le_bytes(), rest].concat();
        assert_eq!(Image::read(&elf(62, &fat)).unwrap().modules.len(), 1);
        assert_eq!(Image::read(&elf(62, b"")), Err(ImageError::MachineCode));
        assert_eq!(Image::read(&elf(190, &fat)), Err(ImageError::MachineCode));
    }

    /// Reads at the start of `bytes` as if nothing else of the process could be read.
    fn at(bytes: &[u8]) -> Result<Image, ImageError> {
        let all = bytes.as_ptr_range();
        let within =
            |address: *const u8, length: usize| all.contains(&address) && length <= all.end.addr() - address.addr();
        // SAFETY: only these bytes are called readable.
        unsafe { Image::from_readable(bytes.as_ptr(), 90, within) }
    }

    #[test]
    fn image_that_states_more_bytes_than_are_readable_is_refused() {
        let fat = fatbin::tests::fat(&[fatbin::tests::entry(1, 80, 1, b".version 8.0\0", 0)]);
        assert_eq!(at(&fat).map(|image| image.modules.len()), Ok(1));
        let linked = Image { modules: vec![(String::new(), "x".to_owned())], ..Image::default() }.to_bytes();
        for bytes in [&fat[..], &linked] {
            assert!(at(bytes).is_ok());
            assert!((0..bytes.len()).all(|length| at(&bytes[..length]) == Err(ImageError::Unknown)));
            let mut lying = bytes.to_vec();
            for length in [bytes.len() as u64 + 1, 1 << 40, u64::MAX, u64::MAX - 15] {
                lying[8..16].copy_from_slice(&length.to_le_bytes());
                assert_eq!(at(&lying), Err(ImageError::Unknown), "{length:#x}");
            }
        }
        assert_eq!(at(b".version 8.0"), Err(ImageError::Unknown));
        assert_eq!(at(b"\x7fELF"), Err(ImageError::MachineCode));
    }

    /// A wrapper in memory of the process, and the error or the modules that a driver reads from it.
    fn wrapped(version: u32, data: *const u8, list: *const *const u8) -> Result<Vec<String>, ImageError> {
        let mut wrapper = FAT_WRAPPER.to_le_bytes().to_vec();
        wrapper.extend(version.to_le_bytes());
        wrapper.extend((data.addr() as u64).to_le_bytes());
        wrapper.extend((list.addr() as u64).to_le_bytes());
        let exposed = |address: *const u8, _: usize| address.addr() > 4096;
        data.expose_provenance();
        list.expose_provenance();
        // SAFETY: addresses above the first page are those of live values of the tests.
        let image = unsafe { Image::from_readable(wrapper.as_ptr(), 90, exposed) };
        image.map(|image| image.modules.into_iter().map(|(_, text)| text).collect())
    }

    #[test]
    fn wrapper_leads_to_its_fat_binary_or_to_those_of_a_link() {
        use fatbin::tests::{entry, fat};
        use std::ptr::null;
        let ptx = |target, text: &str| fat(&[entry(2, 90, 1, b"\x7fELF", 0), entry(1, target, 1, text.as_bytes(), 0)]);
        let [first, second] = [ptx(80, "first"), ptx(90, "second")];
        let newer = fat(&[entry(1, 100, 1, b"newer", 0)]);
        let (linked, code) = (fat(&[]), fat(&[entry(2, 75, 1, b"\x7fELF", 0)]));
        let runtime = ptx(121, ".global .u32 __CNPRT_VERSION_NUMBER__;");
        let list = [first.as_ptr(), second.as_ptr(), runtime.as_ptr(), null()];
        let of = |texts: &[&str]| Ok(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(wrapped(1, first.as_ptr(), null()), of(&["first"]));
        assert_eq!(wrapped(1, first.as_ptr(), list.as_ptr()), of(&["first"]));
        assert_eq!(wrapped(2, first.as_ptr(), null()), of(&["first"]));
        assert_eq!(wrapped(2, linked.as_ptr(), list.as_ptr()), of(&["first", "second"]));
        for (last, error) in [(&newer, ImageError::NewerTarget(100)), (&code, ImageError::MachineCode)] {
            let list = [first.as_ptr(), last.as_ptr(), null()];
            assert_eq!(wrapped(2, linked.as_ptr(), list.as_ptr()), Err(error));
        }
        assert_eq!(wrapped(2, code.as_ptr(), [null()].as_ptr()), Err(ImageError::MachineCode));
        let wild = std::ptr::without_provenance::<u8>(64);
        for (data, list) in [(null(), null()), (wild, null()), (first.as_ptr(), &raw const wild), (wild, wild.cast())] {
            assert_eq!(wrapped(2, data, list), Err(ImageError::Unknown));
        }
        for data in [null(), wild] {
            assert_eq!(wrapped(1, data, null()), Err(ImageError::Unknown));
        }
    }

    #[test]
    fn wrapper_of_itself_is_refused() {
        let mut wrapper = [u64::from(FAT_WRAPPER), 0, 0];
        wrapper[1] = wrapper.as_ptr().expose_provenance() as u64;
        // SAFETY: the record is live.
        assert_eq!(unsafe { Image::from_ptr(wrapper.as_ptr().cast(), 90) }, Err(ImageError::Unknown));
    }

    #[test]
    fn linked_images_are_read_back() {
        let modules = vec![("a".to_owned(), ".version 8.0".to_owned()), (String::new(), "x".repeat(1000))];
        let image = Image { modules, max_registers: 57, newer_target: None };
        let bytes = image.to_bytes();
        assert_eq!(Image::read(&bytes).as_ref(), Ok(&image));
        // SAFETY: the container states its length.
        assert_eq!(unsafe { Image::from_ptr(bytes.as_ptr(), 90) }, Ok(image));
        for length in 8..bytes.len() {
            assert_eq!(Image::read(&bytes[..length]), Err(ImageError::Unknown));
        }
    }
}
