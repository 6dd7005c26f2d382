//! Decompression of LZ4 blocks and zstd frames with a bounded result.

use ruzstd::decoding::StreamingDecoder;
use ruzstd::io::Read as _;

/// The maximum length of a decompressed text in bytes, whatever length an entry states.
const LONGEST: usize = 1 << 28;
/// LZ4 encodes at most 255 bytes of a match in one byte of input.
const LZ4_RATIO: usize = 255;
/// Zstd output is read in pieces, so that memory grows with the data and not with the stated length.
const PIECE: usize = 1 << 16;

/// Decompresses an LZ4 block of exactly `length` bytes.
pub(super) fn lz4(data: &[u8], length: usize) -> Option<Vec<u8>> {
    if length > LONGEST.min(data.len().saturating_mul(LZ4_RATIO)) {
        return None;
    }
    let mut text = vec![0; length];
    let written = lz4_flex::block::decompress_into(data, &mut text).ok()?;
    (written == length).then_some(text)
}

/// Decompresses a zstd frame of exactly `length` bytes.
pub(super) fn zstd(data: &[u8], length: usize) -> Option<Vec<u8>> {
    if length > LONGEST {
        return None;
    }
    let mut decoder = StreamingDecoder::new(data).ok()?;
    let mut text = Vec::new();
    while text.len() <= length {
        let start = text.len();
        // One byte more than stated detects a frame that is too long.
        text.resize(start + PIECE.min(length + 1 - start), 0);
        let read = decoder.read(&mut text[start..]).ok()?;
        text.truncate(start + read);
        if read == 0 {
            break;
        }
    }
    (text.len() == length).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &[u8] = include_bytes!("../tests/modules/families.ptx");
    /// Written by `lz4 -9`, without the frame around the block.
    const LZ4: &[u8] = include_bytes!("fixtures/families.ptx.lz4");
    /// Written by `zstd -19`.
    const ZSTD: &[u8] = include_bytes!("fixtures/families.ptx.zst");

    #[test]
    fn real_compressors_are_understood() {
        assert_eq!(lz4(LZ4, PLAIN.len()).as_deref(), Some(PLAIN));
        assert_eq!(zstd(ZSTD, PLAIN.len()).as_deref(), Some(PLAIN));
    }

    #[test]
    fn a_wrong_length_is_refused() {
        for length in [0, 1, PLAIN.len() - 1, PLAIN.len() + 1, LONGEST, LONGEST + 1, usize::MAX] {
            assert_eq!(lz4(LZ4, length), None, "{length}");
            assert_eq!(zstd(ZSTD, length), None, "{length}");
        }
    }

    #[test]
    fn truncated_data_is_refused() {
        for end in 0..LZ4.len() {
            assert_eq!(lz4(&LZ4[..end], PLAIN.len()), None, "{end}");
        }
        for end in 0..ZSTD.len() - 4 {
            assert_eq!(zstd(&ZSTD[..end], PLAIN.len()), None, "{end}");
        }
    }

    #[test]
    fn changed_data_never_panics() {
        for at in 0..ZSTD.len() {
            let mut changed = ZSTD.to_vec();
            changed[at] ^= 0x55;
            zstd(&changed, PLAIN.len());
        }
        for at in 0..LZ4.len() {
            let mut changed = LZ4.to_vec();
            changed[at] ^= 0x55;
            lz4(&changed, PLAIN.len());
        }
    }

    #[test]
    fn a_frame_of_repeated_bytes_stops_at_the_stated_length() {
        // A frame without a content size, with a window of 128 KiB and eight blocks of 128 KiB of one repeated byte.
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
        for last in [0, 0, 0, 0, 0, 0, 0, 1] {
            frame.extend_from_slice(&(((128 << 10) << 3 | 1 << 1 | last) as u32).to_le_bytes()[..3]);
            frame.push(b'x');
        }
        assert_eq!(zstd(&frame, 1 << 20).map(|text| text.len()), Some(1 << 20));
        assert_eq!(zstd(&frame, 100), None);
    }
}
