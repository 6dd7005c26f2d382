//! Fat binaries: containers of machine code and PTX for several targets.
//!
//! NVIDIA does not document the format. The reader uses what is publicly known: a head of 16 bytes, then entries. The head of
//! an entry states its own length, and the length of the data. PTX is in entries of kind 1: plain, as an LZ4 block, or as a
//! zstd frame.

use super::{ImageError, compression};

/// The kind of an entry that holds PTX.
const PTX: u16 = 1;
/// The kind of an entry that holds machine code.
const MACHINE_CODE: u16 = 2;
/// The kind of an entry that holds LTO-IR; nvcc writes it for the code `lto_90`.
const LTO_IR: u16 = 8;
/// The flag of an entry that is an LZ4 block.
const LZ4: u64 = 0x2000;
/// The flag of an entry that is a zstd frame; CUDA 13 writes these.
const ZSTD: u64 = 0x8000;
/// The variable that marks NVIDIA's device runtime library.
const DEVICE_RUNTIME: &str = "__CNPRT_VERSION_NUMBER__";

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut number = [0; 8];
    number[..N].copy_from_slice(bytes.get(at..at.checked_add(N)?)?);
    Some(u64::from_le_bytes(number))
}

/// The PTX of a fat binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ptx {
    pub text: String,
    /// Its target, if that is a newer device, and the PTX takes the place of machine code for this one.
    pub newer_target: Option<u32>,
}

/// Returns the PTX of the newest target up to `most`. If there is machine code for such a device instead, that of the oldest newer target.
/// An error without such PTX, `None` for damaged data.
pub(super) fn ptx(bytes: &[u8], most: u32) -> Option<Result<Ptx, ImageError>> {
    let head = number::<2>(bytes, 6)? as usize;
    let end = (number::<8>(bytes, 8)?).checked_add(head as u64)?;
    let bytes = bytes.get(..usize::try_from(end).ok()?.min(bytes.len()))?;
    let mut found: Option<((u32, bool), String)> = None;
    let mut later: Option<(u32, String)> = None;
    let (mut newer, mut has_machine_code, mut has_lto_ir, mut has_code_for_device) = (None, false, false, false);
    let mut at = head;
    while at < bytes.len() {
        let kind = number::<2>(bytes, at)? as u16;
        let (head, size) = (number::<4>(bytes, at + 4)?, number::<8>(bytes, at + 8)?);
        let start = at.checked_add(usize::try_from(head).ok()?)?;
        let next = start.checked_add(usize::try_from(size).ok()?)?;
        if next <= at || head < 64 {
            return None;
        }
        if kind == MACHINE_CODE {
            let target = number::<4>(bytes, at + 28)? as u32;
            has_machine_code = true;
            // By the manual, a device runs machine code for its major version with at most its minor version.
            has_code_for_device |= target / 10 == most / 10 && target <= most;
        }
        has_lto_ir |= kind == LTO_IR;
        if kind == PTX {
            let (stored, target) = (number::<4>(bytes, at + 16)?, number::<4>(bytes, at + 28)?);
            let (flags, length) = (number::<8>(bytes, at + 40)?, number::<8>(bytes, at + 56)?);
            let data = bytes.get(start..next)?;
            let packed = || Some((data.get(..usize::try_from(stored).ok()?)?, usize::try_from(length).ok()?));
            let text = if flags & ZSTD != 0 {
                packed().and_then(|(data, length)| compression::zstd(data, length))
            } else if flags & LZ4 != 0 {
                packed().and_then(|(data, length)| compression::lz4(data, length))
            } else {
                Some(data.to_vec())
            };
            let text = text.and_then(|text| {
                let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
                String::from_utf8(text[..end].to_vec()).ok()
            });
            let target = target as u32;
            let Some(text) = text else {
                newer = newer.max((target > most).then_some(target));
                at = next;
                continue;
            };
            let suffix = suffix(&text);
            // Of PTX for one architecture, the code that has its own instructions comes first.
            let rank = (target, suffix.is_some());
            if !runs(target, suffix, most) {
                newer = newer.max(Some(target));
                if suffix.is_none() && target > most && later.as_ref().is_none_or(|(oldest, _)| target < *oldest) {
                    later = Some((target, text));
                }
            } else if found.as_ref().is_none_or(|(newest, _)| *newest < rank) {
                found = Some((rank, text));
            }
        }
        at = next;
    }
    let without = if has_lto_ir && !has_machine_code { ImageError::LtoIr } else { ImageError::MachineCode };
    let missing = newer.map_or(without, ImageError::NewerTarget);
    let replacing =
        later.filter(|_| has_code_for_device).map(|(target, text)| Ptx { text, newer_target: Some(target) });
    Some(found.map(|(_, text)| Ptx { text, newer_target: None }).or(replacing).ok_or(missing))
}

/// The letter behind the number of PTX text's `.target`.
fn suffix(text: &str) -> Option<char> {
    let (_, target) = text.split_once(".target")?;
    let name = target.trim_start().strip_prefix("sm_")?;
    name.chars().find(|letter| !letter.is_ascii_digit()).filter(char::is_ascii_alphabetic)
}

/// Whether PTX for a target runs on a device: with the suffix `a` on this device alone, with `f` on later ones of its family.
fn runs(target: u32, suffix: Option<char>, capability: u32) -> bool {
    target <= capability
        && match suffix {
            _ if capability == u32::MAX => true,
            Some('a') => target == capability,
            Some('f') => target / 10 == capability / 10,
            _ => true,
        }
}

/// Returns the PTX of a fat binary that takes part in a link; `None` for NVIDIA's device runtime library.
pub(super) fn linkable(bytes: &[u8], most: u32) -> Result<Option<Ptx>, ImageError> {
    let is_runtime = |text: &str| text.contains(DEVICE_RUNTIME);
    match ptx(bytes, most).ok_or(ImageError::Unknown)? {
        Ok(found) => Ok(Some(found).filter(|found| !is_runtime(&found.text))),
        // The library may have PTX for the newest devices only.
        Err(_) if matches!(ptx(bytes, u32::MAX), Some(Ok(found)) if is_runtime(&found.text)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the PTX for a device of every fat binary in a static library.
///
/// NVIDIA's device runtime library (`libcudadevrt.a`) is left out, because the machine provides its functions.
pub(super) fn archive(bytes: &[u8], most: u32) -> Vec<Ptx> {
    let magic = 0xba55_ed50_u32.to_le_bytes();
    let mut texts = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(4).position(|window| window == magic) {
        at += found;
        if number::<2>(bytes, at + 4) == Some(1) {
            let is_input = |found: &Ptx| found.newer_target.is_none() && !found.text.contains(DEVICE_RUNTIME);
            texts.extend(ptx(&bytes[at..], most).and_then(Result::ok).filter(is_input));
        }
        at += 4;
    }
    texts
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn entry(kind: u16, target: u32, flags: u64, data: &[u8], length: u64) -> Vec<u8> {
        let padded = data.len().next_multiple_of(8);
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend([1, 1]);
        bytes.extend(64_u32.to_le_bytes());
        bytes.extend((padded as u64).to_le_bytes());
        bytes.extend((data.len() as u32).to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(target.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(flags.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(length.to_le_bytes());
        bytes.extend(data);
        bytes.resize(64 + padded, 0);
        bytes
    }

    pub(in super::super) fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
        let body = entries.concat();
        let mut bytes = 0xba55_ed50_u32.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// The text of the chosen PTX.
    fn text_of(bytes: &[u8], most: u32) -> Option<Result<String, ImageError>> {
        ptx(bytes, most).map(|found| found.map(|found| found.text))
    }

    #[test]
    fn ptx_for_a_newer_device_takes_the_place_of_machine_code_for_the_device() {
        let (older, newer) = (entry(1, 100, 1, b"older\0", 0), entry(1, 120, 1, b"newer\0", 0));
        let own = entry(1, 100, 1, b".target sm_100a\0", 0);
        let code = |target| entry(2, target, 1, b"\x7fELF", 0);
        let chosen = |entries: &[&Vec<u8>], device| {
            let entries: Vec<_> = entries.iter().map(|entry| (*entry).clone()).collect();
            ptx(&fat(&entries), device).unwrap().map(|found| (found.text, found.newer_target))
        };
        let text = |text: &str, target| Ok((text.to_owned(), target));
        assert_eq!(chosen(&[&code(90), &newer, &older], 90), text("older", Some(100)));
        assert_eq!(chosen(&[&older, &code(80), &code(86)], 89), text("older", Some(100)));
        assert_eq!(chosen(&[&code(90), &older, &newer], 120), text("newer", None));
        assert_eq!(chosen(&[&code(90), &own, &newer], 90), text("newer", Some(120)));
        // Machine code for another device does not run, and neither does PTX for one newer architecture alone.
        assert_eq!(chosen(&[&code(80), &code(100), &newer], 90), Err(ImageError::NewerTarget(120)));
        assert_eq!(chosen(&[&code(89), &newer], 86), Err(ImageError::NewerTarget(120)));
        assert_eq!(chosen(&[&code(90), &own], 90), Err(ImageError::NewerTarget(100)));
    }

    #[test]
    fn newest_target_of_the_device_is_chosen() {
        let bytes = fat(&[entry(2, 90, 1, b"\x7fELF", 0), entry(1, 75, 1, b"old\0", 0), entry(1, 80, 1, b"new\0", 0)]);
        assert_eq!(text_of(&bytes, 90), Some(Ok("new".to_owned())));
        assert_eq!(text_of(&bytes, 79), Some(Ok("old".to_owned())));
        assert_eq!(text_of(&bytes, 70), Some(Err(ImageError::NewerTarget(80))));
        assert_eq!(text_of(&fat(&[entry(2, 90, 1, b"\x7fELF", 0)]), 90), Some(Err(ImageError::MachineCode)));
    }

    #[test]
    fn lto_ir_is_named_if_there_is_no_other_code() {
        let (ir, elf) = (entry(8, 90, 1, b"w\xcf\x18\xc3", 0), entry(2, 90, 1, b"\x7fELF", 0));
        let text = entry(1, 80, 1, b"text\0", 0);
        assert_eq!(text_of(&fat(std::slice::from_ref(&ir)), 90), Some(Err(ImageError::LtoIr)));
        assert_eq!(text_of(&fat(&[ir.clone(), elf]), 90), Some(Err(ImageError::MachineCode)));
        assert_eq!(text_of(&fat(&[ir.clone(), text.clone()]), 90), Some(Ok("text".to_owned())));
        assert_eq!(text_of(&fat(&[ir, text]), 70), Some(Err(ImageError::NewerTarget(80))));
    }

    #[test]
    fn ptx_of_one_architecture_or_family_is_chosen_for_its_devices_only() {
        let text = |target: &str| format!(".version 9.0\n.target sm_{target}\n");
        let ptx_for = |number, target: &str| entry(1, number, 1, text(target).as_bytes(), 0);
        let bytes = fat(&[ptx_for(80, "80"), ptx_for(90, "90a"), ptx_for(100, "100f"), ptx_for(120, "120")]);
        for (device, target) in [(75, None), (80, Some("80")), (90, Some("90a")), (89, Some("80")), (100, Some("100f"))]
        {
            assert_eq!(text_of(&bytes, device).unwrap().ok(), target.map(text), "{device}");
        }
        for (device, target) in [(103, "100f"), (110, "80"), (120, "120"), (121, "120"), (u32::MAX, "120")] {
            assert_eq!(text_of(&bytes, device), Some(Ok(text(target))), "{device}");
        }
        let both = fat(&[ptx_for(90, "90a"), ptx_for(90, "90")]);
        assert_eq!(text_of(&both, 90), Some(Ok(text("90a"))));
        assert_eq!(text_of(&both, 100), Some(Ok(text("90"))));
        assert_eq!(text_of(&fat(&[ptx_for(90, "90a")]), 100), Some(Err(ImageError::NewerTarget(90))));
    }

    #[test]
    fn truncated_fat_binaries_never_panic() {
        let bytes = fat(&[entry(1, 75, 1, b"old\0", 0), entry(1, 80, ZSTD, ZSTD_DATA, PLAIN.len() as u64)]);
        for length in 0..bytes.len() {
            ptx(&bytes[..length], 90);
        }
    }

    const PLAIN: &str = include_str!("../tests/modules/families.ptx");
    const LZ4_DATA: &[u8] = include_bytes!("fixtures/families.ptx.lz4");
    const ZSTD_DATA: &[u8] = include_bytes!("fixtures/families.ptx.zst");

    #[test]
    fn compressed_ptx_is_expanded() {
        for (flags, data) in [(LZ4, LZ4_DATA), (ZSTD, ZSTD_DATA)] {
            let length = PLAIN.len() as u64;
            assert_eq!(
                text_of(&fat(&[entry(1, 80, flags, data, length)]), 90),
                Some(Ok(PLAIN.to_owned())),
                "{flags:#x}"
            );
            for wrong in [0, length - 1, length + 1, 1 << 40, u64::MAX] {
                let image = fat(&[entry(1, 80, flags, data, wrong)]);
                assert_eq!(text_of(&image, 90), Some(Err(ImageError::MachineCode)), "{flags:#x}: {wrong}");
            }
        }
    }

    #[test]
    fn the_device_runtime_library_and_ptx_for_newer_devices_are_left_out_of_archives() {
        let runtime = format!(".global .u32 {DEVICE_RUNTIME};");
        let parts = [&b"first"[..], runtime.as_bytes(), b"second"];
        let mut bytes: Vec<u8> = parts.iter().flat_map(|text| fat(&[entry(1, 80, 1, text, 0)])).collect();
        bytes.extend(fat(&[entry(2, 90, 1, b"\x7fELF", 0), entry(1, 100, 1, b"newer", 0)]));
        let texts: Vec<_> = archive(&bytes, 90).into_iter().map(|found| found.text).collect();
        assert_eq!(texts, ["first", "second"]);
    }
}
