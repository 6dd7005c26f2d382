//! The version and target of a module, without parsing the module.

use super::lexer::{Kind, Lexer, Token};
use crate::Error;

/// The `.version` and `.target` of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The major and the minor version of the PTX language.
    pub version: (u32, u32),
    /// The number behind `sm_`; 0 if it is not readable.
    pub target: u32,
    /// The letter behind the number: `a` is for one architecture only, `f` for a family of architectures.
    pub suffix: Option<char>,
    /// The lines of the two directives, counted from 1.
    pub lines: [u32; 2],
}

impl Header {
    /// Whether code for the target runs on a device, by ten times the device's compute capability. A suffix `a` is for
    /// this capability alone, and `f` for later ones of the same major version.
    pub fn runs_on(&self, capability: u32) -> bool {
        match self.suffix {
            Some('a') => self.target == capability,
            Some('f') => self.target <= capability && self.target / 10 == capability / 10,
            _ => self.target <= capability,
        }
    }
}

/// Reads the header of PTX text: the first two directives.
///
/// # Errors
/// If `.version` or `.target` is missing or malformed.
pub(crate) fn header(source: &str) -> Result<Header, Error> {
    let mut lexer = Lexer::new(source);
    let mut expect = |name: &str| -> Result<Token<'_>, Error> {
        let token = lexer.token()?;
        if token.kind != Kind::Dotted || token.text != name {
            return Err(Error::new(token.line, token.text, &format!("expected .{name}")));
        }
        lexer.token()
    };
    let version = expect("version")?;
    let parts = version.text.split_once('.').and_then(|(one, two)| Some((one.parse().ok()?, two.parse().ok()?)));
    let parts = parts.ok_or_else(|| Error::new(version.line, version.text, "expected a version, such as 8.0"))?;
    let target = expect("target")?;
    let name = target.text.strip_prefix("sm_").or_else(|| target.text.strip_prefix("compute_")).unwrap_or("");
    let digits = name.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let suffix = name[digits.len()..].chars().next();
    Ok(Header { version: parts, target: digits.parse().unwrap_or(0), suffix, lines: [version.line, target.line] })
}
