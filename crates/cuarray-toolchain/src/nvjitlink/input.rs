//! Inputs that NVIDIA's linker compiles.

/// An input that NVIDIA's linker compiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The kind, as the program gave it.
    pub kind: i32,
    /// The name, for messages.
    pub name: String,
    /// The bytes.
    pub data: Vec<u8>,
}
