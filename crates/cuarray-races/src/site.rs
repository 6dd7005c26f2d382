//! Sites: where in the program operations were called.

use serde::Serialize;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A call site. Each part is optional.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Site {
    /// The innermost Python frame whose file belongs to no installed package: the user's line.
    pub user: Option<Frame>,
    /// The innermost Python frame.
    pub innermost: Option<Frame>,
    /// The machine code that made the call.
    pub native: Option<Native>,
    /// The calling library: its import name in Python (`numba.cuda`), `ctypes` for a call that the user made through `ctypes`, or
    /// the file name of a program or a shared object.
    pub library: Option<String>,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourceLine {
    /// The file as the compiler named it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
}

/// A Python frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Frame {
    /// The file as the code object names it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The name of the function as in a traceback; `<module>` outside of any.
    pub function: String,
}

/// A place in machine code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Native {
    /// The file of the program or shared object.
    pub object: String,
    /// The distance in bytes from the start of that object.
    pub offset: u64,
    /// Whether `offset` is a return address: the call is the instruction in front of it.
    #[serde(skip)]
    pub is_return_address: bool,
    /// The function, if the object names it.
    pub symbol: Option<String>,
    /// The line of source, if the object has debug information.
    pub source: Option<SourceLine>,
}

impl Site {
    /// The site of a call without any known part.
    pub fn unknown() -> &'static Arc<Site> {
        static UNKNOWN: OnceLock<Arc<Site>> = OnceLock::new();
        UNKNOWN.get_or_init(Arc::default)
    }

    /// A short form: the file's name and the line. Empty if all parts are missing.
    pub(crate) fn place(&self) -> String {
        let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        match (self.user.as_ref().or(self.innermost.as_ref()), &self.native) {
            (Some(frame), _) => format!("{}:{}", base(&frame.file), frame.line),
            (None, Some(native)) => match (&native.source, &native.symbol) {
                (Some(source), _) => format!("{}:{}", base(&source.file), source.line),
                (None, Some(symbol)) => symbol.clone(),
                (None, None) => format!("{}+{:#x}", base(&native.object), native.offset),
            },
            (None, None) => String::new(),
        }
    }

    /// Whether all parts are missing.
    pub fn is_unknown(&self) -> bool {
        *self == Site::default()
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{} in {}", self.file, self.line, self.function)
    }
}

/// The line of source, else the object and the offset, each with the function.
impl fmt::Display for Native {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, &self.symbol) {
            (Some(SourceLine { file, line }), Some(symbol)) => write!(out, "{file}:{line} in {symbol}"),
            (Some(SourceLine { file, line }), None) => write!(out, "{file}:{line}"),
            (None, Some(symbol)) => write!(out, "{}+{:#x} ({symbol})", self.object, self.offset),
            (None, None) => write!(out, "{}+{:#x}", self.object, self.offset),
        }
    }
}

/// The user's line, else the innermost one, else the machine code; `an unknown place` if all are missing.
impl fmt::Display for Site {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.user.as_ref().or(self.innermost.as_ref()), &self.native) {
            (Some(frame), _) => frame.fmt(out)?,
            (None, Some(native)) => native.fmt(out)?,
            (None, None) => out.write_str("an unknown place")?,
        }
        match &self.library {
            Some(library) => write!(out, ", called by {library}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_line_is_shown_before_the_librarys() {
        let frame = |file: &str, line| Some(Frame { file: file.into(), line, function: "f".into() });
        let native = Native { object: "/lib/x.so".into(), offset: 0x10, ..Native::default() };
        let mut site =
            Site { innermost: frame("inner.py", 1), user: frame("user.py", 2), native: Some(native), library: None };
        assert_eq!(site.to_string(), "user.py:2 in f");
        site.user = None;
        site.library = Some("numba.cuda".into());
        assert_eq!(site.to_string(), "inner.py:1 in f, called by numba.cuda");
        site.innermost = None;
        assert_eq!(site.to_string(), "/lib/x.so+0x10, called by numba.cuda");
        assert_eq!(Site::default().to_string(), "an unknown place");
    }

    #[test]
    fn line_of_source_is_shown_before_the_offset() {
        let source = Some(SourceLine { file: "main.c".into(), line: 7 });
        let mut native = Native { object: "a.out".into(), offset: 0x10, source, ..Native::default() };
        assert_eq!(native.to_string(), "main.c:7");
        native.symbol = Some("main".into());
        assert_eq!(native.to_string(), "main.c:7 in main");
        native.source = None;
        assert_eq!(native.to_string(), "a.out+0x10 (main)");
    }
}
