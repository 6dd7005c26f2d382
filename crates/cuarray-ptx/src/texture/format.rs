//! The formats of texels.

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
