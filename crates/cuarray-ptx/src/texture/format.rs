//! The formats of texels, and their conversion to the channels that a fetch returns.

use super::sampler::ReadMode;
use crate::float::{self, Rounding};

/// The kind of a texel's channels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ChannelKind {
    /// Unsigned integers of 8 bits.
    Unsigned8,
    /// Unsigned integers of 16 bits.
    Unsigned16,
    /// Unsigned integers of 32 bits.
    Unsigned32,
    /// Signed integers of 8 bits.
    Signed8,
    /// Signed integers of 16 bits.
    Signed16,
    /// Signed integers of 32 bits.
    Signed32,
    /// Floating point of 16 bits, which is read as 32 bits.
    Half,
    /// Floating point of 32 bits.
    Float,
    /// Unsigned integers of 8 bits that are always read as numbers from 0 to 1.
    UnsignedNorm8,
    /// Unsigned integers of 16 bits that are always read as numbers from 0 to 1.
    UnsignedNorm16,
    /// Signed integers of 8 bits that are always read as numbers from -1 to 1.
    SignedNorm8,
    /// Signed integers of 16 bits that are always read as numbers from -1 to 1.
    SignedNorm16,
}

impl ChannelKind {
    /// The size of a channel in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            ChannelKind::Unsigned8 | ChannelKind::Signed8 => 1,
            ChannelKind::UnsignedNorm8 | ChannelKind::SignedNorm8 => 1,
            ChannelKind::Unsigned16 | ChannelKind::Signed16 | ChannelKind::Half => 2,
            ChannelKind::UnsignedNorm16 | ChannelKind::SignedNorm16 => 2,
            ChannelKind::Unsigned32 | ChannelKind::Signed32 | ChannelKind::Float => 4,
        }
    }
}

/// The format of texels: channels of one kind, one after another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Format {
    /// The kind of the channels.
    pub kind: ChannelKind,
    /// The number of channels: 1, 2 or 4.
    pub channels: u32,
}

impl Format {
    /// The size of a texel in bytes: 1 to 16.
    pub fn bytes(self) -> u32 {
        self.kind.bytes() * self.channels
    }
}

/// Whether channels are returned as integers.
pub(crate) fn is_integral(kind: ChannelKind, read: ReadMode) -> bool {
    match kind {
        ChannelKind::Unsigned8 | ChannelKind::Unsigned16 | ChannelKind::Signed8 | ChannelKind::Signed16 => {
            read == ReadMode::Element
        }
        ChannelKind::Unsigned32 | ChannelKind::Signed32 => true,
        _ => false,
    }
}

/// The bits of the four channels that a fetch returns for a texel. Channels that the format lacks are 0, and the fourth is 1.
pub(crate) fn channels(format: Format, read: ReadMode, srgb: bool, bytes: [u8; 16]) -> [u32; 4] {
    let integral = is_integral(format.kind, read);
    let mut channels = [0, 0, 0, if integral { 1 } else { 1.0_f32.to_bits() }];
    let size = format.kind.bytes() as usize;
    for (index, channel) in channels.iter_mut().enumerate().take(format.channels as usize) {
        let mut raw = [0; 4];
        for (target, source) in raw.iter_mut().zip(bytes.iter().skip(index * size).take(size)) {
            *target = *source;
        }
        let raw = u32::from_le_bytes(raw);
        *channel = match (integral, srgb && index < 3) {
            (true, _) => widened(format.kind, raw) as u32,
            (false, true) if matches!(format.kind, ChannelKind::Unsigned8 | ChannelKind::UnsignedNorm8) => {
                linear_of_srgb(raw as u8).to_bits()
            }
            (false, _) => floating(format.kind, raw).to_bits(),
        };
    }
    channels
}

/// The integer of a channel's bits, with its sign.
fn widened(kind: ChannelKind, raw: u32) -> i32 {
    match kind {
        ChannelKind::Signed8 | ChannelKind::SignedNorm8 => (raw as u8 as i8).into(),
        ChannelKind::Signed16 | ChannelKind::SignedNorm16 => (raw as u16 as i16).into(),
        _ => raw as i32,
    }
}

/// The number of a channel's bits. Integers become numbers from 0 to 1, or from -1 to 1.
fn floating(kind: ChannelKind, raw: u32) -> f32 {
    let largest = match kind {
        ChannelKind::Half => {
            return f32::from_bits(float::convert(float::F16, float::F32, raw.into(), Rounding::Near) as u32);
        }
        ChannelKind::Float => return f32::from_bits(raw),
        ChannelKind::Unsigned8 | ChannelKind::UnsignedNorm8 => 255.0,
        ChannelKind::Unsigned16 | ChannelKind::UnsignedNorm16 => 65535.0,
        ChannelKind::Signed8 | ChannelKind::SignedNorm8 => 127.0,
        ChannelKind::Signed16 | ChannelKind::SignedNorm16 => 32767.0,
        ChannelKind::Unsigned32 => 4_294_967_295.0,
        ChannelKind::Signed32 => 2_147_483_647.0,
    };
    // The least signed integer is one step below -1.
    ((f64::from(widened(kind, raw)) / largest) as f32).max(-1.0)
}

/// The linear number of a channel in sRGB, by the formula of IEC 61966-2-1.
fn linear_of_srgb(raw: u8) -> f32 {
    let value = f64::from(raw) / 255.0;
    let linear = if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) };
    linear as f32
}

/// The bytes of a texel for the four 32-bit channels of a formatted store, as the manual converts them: numbers for floating-point
/// and normalized formats, otherwise integers, which are truncated.
pub(crate) fn stored(format: Format, channels: [u32; 4]) -> [u8; 16] {
    let mut bytes = [0; 16];
    let size = format.kind.bytes() as usize;
    let values = channels.into_iter().take(format.channels as usize);
    for (channel, target) in values.zip(bytes.chunks_mut(size)) {
        let scaled = |least: f32, largest: f32| {
            let value = f32::from_bits(channel);
            let value = if value.is_nan() { 0.0 } else { value.clamp(least, 1.0) };
            (f64::from(value) * f64::from(largest)).round_ties_even() as i32 as u32
        };
        let raw = match format.kind {
            ChannelKind::Half => float::convert(float::F32, float::F16, channel.into(), Rounding::Near) as u32,
            ChannelKind::UnsignedNorm8 => scaled(0.0, 255.0),
            ChannelKind::UnsignedNorm16 => scaled(0.0, 65535.0),
            ChannelKind::SignedNorm8 => scaled(-1.0, 127.0),
            ChannelKind::SignedNorm16 => scaled(-1.0, 32767.0),
            _ => channel,
        };
        let raw = raw.to_le_bytes();
        for (target, source) in target.iter_mut().zip(raw) {
            *target = source;
        }
    }
    bytes
}
