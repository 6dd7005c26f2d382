//! Where in the program a driver call came from.
//!
//! A finding is worth what its places are worth: a reader wants his own line, not the line of the library that made the
//! call for him. So a site holds several answers, each optional: the innermost Python frame, the first Python frame outside
//! installed packages, the machine code that called the driver, and the library whose call it was. A site is made once and
//! shared by whatever remembers it.

mod capture;
mod frame;
mod library;
mod line;
mod native;
mod python;
mod spot;

pub(crate) use capture::{capture, unknown};
pub(crate) use native::{Entry, ReturnPlace};
pub(crate) use spot::Spot;

use std::fmt;

/// Where a driver call came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Site {
    /// The innermost Python frame.
    pub innermost: Option<Frame>,
    /// The innermost Python frame whose file belongs to no installed package: the user's own line.
    pub user: Option<Frame>,
    /// The machine code that called the driver.
    pub native: Option<Native>,
    /// The library that made the call: the name by which Python imports it (`numba.cuda`), `ctypes` for a call by the
    /// user's own hand, or the file name of a program or a shared object.
    pub library: Option<String>,
}

/// A Python frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The file as the code object names it.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// The name of the function, as in a traceback; `<module>` outside of any.
    pub function: String,
}

/// A place in machine code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Native {
    /// The file of the program or shared object.
    pub object: String,
    /// The distance in bytes from the start of that object.
    pub offset: u64,
    /// The function, where the object tells.
    pub symbol: Option<String>,
}

impl Site {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Site::default()
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{} in {}", self.file, self.line, self.function)
    }
}

impl fmt::Display for Native {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}+{:#x}", self.object, self.offset)?;
        match &self.symbol {
            Some(symbol) => write!(out, " ({symbol})"),
            None => Ok(()),
        }
    }
}

/// The user's line, else the innermost one, else the machine code; `an unknown place` where nothing is known.
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
    fn a_site_shows_the_users_line_before_the_librarys() {
        let frame = |file: &str, line| Some(Frame { file: file.into(), line, function: "f".into() });
        let native = Some(Native { object: "/lib/x.so".into(), offset: 0x10, symbol: None });
        let mut site = Site { innermost: frame("inner.py", 1), user: frame("user.py", 2), native, library: None };
        assert_eq!(site.to_string(), "user.py:2 in f");
        site.user = None;
        site.library = Some("numba.cuda".into());
        assert_eq!(site.to_string(), "inner.py:1 in f, called by numba.cuda");
        site.innermost = None;
        assert_eq!(site.to_string(), "/lib/x.so+0x10, called by numba.cuda");
        assert_eq!(Site::default().to_string(), "an unknown place");
    }
}
