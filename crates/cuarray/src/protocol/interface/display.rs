//! Texts for an interface: a table for people, one line for messages.

use super::Interface;
use crate::{Mask, StreamEntry, protocol::layout::Tuple};
use std::fmt;

/// A table for people; its format is not meant for parsing.
impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let line = |f: &mut fmt::Formatter<'_>, key: &str, value: &dyn fmt::Display, note: &dyn fmt::Display| {
            write!(f, "\n  {key:<8} {:<20} {note}", value.to_string())
        };
        write!(f, "CUDA Array Interface, version {}", self.version)?;
        line(f, "typestr", &format_args!("'{}'", self.typestr), &self.typestr.in_words())?;
        let size = format!("{}, {}", count(self.layout.len(), "element"), count(self.nbytes(), "byte"));
        line(f, "shape", &Tuple(self.shape()), &size)?;
        let order = match (self.layout.is_c_contiguous(), self.layout.is_f_contiguous()) {
            (true, true) => "C- and F-contiguous",
            (true, false) => "C-contiguous",
            (false, true) => "F-contiguous",
            (false, false) => "not contiguous",
        };
        line(f, "strides", &Tuple(self.strides()), &order)?;
        let range = self.byte_range();
        let access = if self.read_only { "read-only" } else { "writable" };
        let bytes = if range.is_empty() {
            "no bytes".into()
        } else {
            format!("bytes {:#x} to {:#x}", range.start, range.end - 1)
        };
        line(f, "data", &format_args!("{:#x}", self.data), &format_args!("{access}, {bytes}"))?;
        line(f, "stream", &self.stream, &self.stream.in_words())?;
        if let Some(descr) = &self.descr {
            write!(f, "\n  {:<8} {descr}", "descr")?;
        }
        if let Some(mask) = self.mask.as_ref().map(Mask::interface) {
            line(f, "mask", &Tuple(mask.shape()), &format_args!("'{}' at {:#x}", mask.typestr, mask.data))?;
        }
        Ok(())
    }
}

/// One line with all entries that differ from their defaults.
impl fmt::Debug for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let typestr = self.typestr.label();
        write!(f, "Interface(v{} '{typestr}' {} at {:#x}", self.version, Tuple(self.shape()), self.data)?;
        if !self.layout.is_c_contiguous() {
            write!(f, ", strides {}", Tuple(self.strides()))?;
        }
        if self.read_only {
            f.write_str(", read-only")?;
        }
        if self.stream != StreamEntry::None {
            write!(f, ", stream {}", self.stream)?;
        }
        if let Some(descr) = &self.descr {
            write!(f, ", descr {descr}")?;
        }
        if let Some(mask) = self.mask.as_ref().map(Mask::interface) {
            write!(f, ", mask {mask:?}")?;
        }
        f.write_str(")")
    }
}
