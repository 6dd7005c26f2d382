//! Images: the containers in which programs pass PTX to a driver.
//!
//! An image is PTX text, a fat binary, a static library, or a linked image. A linked image is a container of this
//! crate with the modules of a link. Machine code is refused.

mod compression;
mod fatbin;

/// The PTX modules of an image.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Image {
    /// The modules that are resolved together: name and PTX text.
    pub modules: Vec<(String, String)>,
    /// The limit of registers of a thread; 0 means none.
    pub max_registers: u32,
}

/// The reason why an image is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// The image is, or holds only, machine code or compiler bitcode.
    MachineCode,
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
            ImageError::NewerTarget(target) => {
                return write!(f, "the PTX of the image is for sm_{target}, a newer device");
            }
            ImageError::Unknown => "the image is not PTX text, a fat binary or a static library",
        })
    }
}

/// The magic number of a linked image.
const LINKED: &[u8; 8] = b"\x7fCUSIM\x01\n";
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
    /// `capability`, ten times the device's compute capability.
    pub fn read_for(bytes: &[u8], capability: u32) -> Result<Image, ImageError> {
        if bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"BC\xc0\xde") {
            return Err(ImageError::MachineCode);
        }
        if let Some(rest) = bytes.strip_prefix(LINKED) {
            return linked(rest).ok_or(ImageError::Unknown);
        }
        if bytes.starts_with(&FAT.to_le_bytes()) {
            let text = fatbin::ptx(bytes, capability).ok_or(ImageError::Unknown)??;
            return Ok(Image { modules: vec![(String::new(), text)], max_registers: 0 });
        }
        if bytes.starts_with(b"!<arch>\n") {
            let modules = fatbin::archive(bytes, capability).into_iter().map(|text| (String::new(), text)).collect();
            return Ok(Image { modules, max_registers: 0 });
        }
        // The length may include the nul that ends the text.
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| ImageError::Unknown)?;
        let control = |c: char| c.is_control() && !c.is_ascii_whitespace();
        if text.trim().is_empty() || text.contains(control) {
            return Err(ImageError::Unknown);
        }
        Ok(Image { modules: vec![(String::new(), text.to_owned())], max_registers: 0 })
    }

    /// Reads an image of unknown length for a device; see [`read_for`](Image::read_for).
    ///
    /// # Safety
    /// `image` points to an image: a container of the length that its head states, or text that ends in a nul.
    pub unsafe fn from_ptr(image: *const u8, capability: u32) -> Result<Image, ImageError> {
        // SAFETY: a byte is read only if the byte before it did not end the text. A container is longer than its head,
        // which states its length.
        unsafe {
            let head = |length: usize| {
                (0..length).map(|index| image.add(index).read()).take_while(|byte| *byte != 0).collect::<Vec<u8>>()
            };
            let magic = head(4);
            let number = <[u8; 4]>::try_from(magic.as_slice()).map_or(0, u32::from_le_bytes);
            let length = match number {
                FAT_WRAPPER => {
                    let data = image.add(8).cast::<*const u8>().read_unaligned();
                    return if data.is_null() { Err(ImageError::Unknown) } else { Image::from_ptr(data, capability) };
                }
                FAT => {
                    let head = u64::from(image.add(6).cast::<u16>().read_unaligned());
                    head.saturating_add(image.add(8).cast::<u64>().read_unaligned())
                }
                _ if magic == b"\x7fELF" => return Err(ImageError::MachineCode),
                _ if head(8) == LINKED => image.add(8).cast::<u64>().read_unaligned(),
                _ => (0..).take_while(|index| image.add(*index as usize).read() != 0).count() as u64,
            };
            let length = usize::try_from(length).ok().filter(|length| *length < isize::MAX as usize);
            Image::read_for(std::slice::from_raw_parts(image, length.ok_or(ImageError::Unknown)?), capability)
        }
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
    Some(Image { modules, max_registers })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_images_are_distinguished() {
        let text = ".version 8.0";
        assert_eq!(Image::read(b".version 8.0\0").unwrap().modules[0].1, text);
        assert_eq!(Image::read(b"\x7fELF\x02"), Err(ImageError::MachineCode));
        for unknown in [&b""[..], b"\0", b"\x01\x02\x03\x04", b"\xff\xfe", b"P\xed\x55\xba\0", LINKED] {
            assert_eq!(Image::read(unknown), Err(ImageError::Unknown), "{unknown:?}");
        }
    }

    #[test]
    fn linked_images_are_read_back() {
        let modules = vec![("a".to_owned(), ".version 8.0".to_owned()), (String::new(), "x".repeat(1000))];
        let image = Image { modules, max_registers: 57 };
        let bytes = image.to_bytes();
        assert_eq!(Image::read(&bytes).as_ref(), Ok(&image));
        // SAFETY: the container states its length.
        assert_eq!(unsafe { Image::from_ptr(bytes.as_ptr(), 90) }, Ok(image));
        for length in 8..bytes.len() {
            assert_eq!(Image::read(&bytes[..length]), Err(ImageError::Unknown));
        }
    }
}
