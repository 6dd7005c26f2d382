//! The lexer: splits PTX text into tokens.
//!
//! The lexical structure ([manual](https://docs.nvidia.com/cuda/parallel-thread-execution/#syntax)) has words, dotted
//! words (directives and modifiers), numbers, strings, and punctuation characters. A token borrows from the source and
//! has its line. The body of a function is one token at first, so that several cores can read the bodies of a large module.

use crate::Error;

/// The kind of a token.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Kind {
    /// `add`, `%r1`, `$L__BB0_2`, `_ZN3foo`.
    Word,
    /// `.global`, `.f32`, `.shared::cta`; the text excludes the dot.
    Dotted,
    /// An integer; the suffix `U` is ignored.
    Integer(u64),
    /// `0f3F800000`: the bits of a single-precision number.
    Single(u32),
    /// `0d3FF0000000000000` or `1.0`: the bits of a double-precision number.
    Double(u64),
    /// A string; the text excludes the quotes.
    Text,
    /// One punctuation character.
    Mark(u8),
    /// The body of a function: the text after the opening bracket, with the closing one.
    Body,
    End,
}

/// A token.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// The line, counted from 1.
    pub line: u32,
}

/// Splits a module into tokens. The last token is [`Kind::End`]. A body whose brackets are not in pairs is no [`Kind::Body`].
///
/// # Errors
/// For an unknown character, a malformed number, and a comment or string without an end, outside of bodies.
pub(super) fn module_tokens(source: &str) -> Result<Vec<Token<'_>>, Error> {
    let mut lexer = Lexer::new(source);
    let mut tokens = Vec::new();
    let (mut function, mut pragma) = (false, false);
    loop {
        let mut token = lexer.token()?;
        match (token.kind, token.text) {
            (Kind::Dotted, "entry" | "func") => function = true,
            (Kind::Dotted, "pragma") => pragma = true,
            (Kind::Mark(b';'), _) if pragma => pragma = false,
            (Kind::Mark(b';'), _) => function = false,
            (Kind::Mark(b'{'), _) if function => {
                if let Some(text) = lexer.body() {
                    token = Token { kind: Kind::Body, text, ..token };
                }
                function = false;
            }
            _ => {}
        }
        tokens.push(token);
        if token.kind == Kind::End {
            return Ok(tokens);
        }
    }
}

/// Splits the text of a body, which begins in a line, into tokens. The last token is [`Kind::End`]. Also returns the lines of the
/// comments by which compilers mark inline assembly: of its begin and of its end, by turns.
///
/// # Errors
/// For an unknown character, a malformed number, and a comment or string without an end.
pub(super) fn body_tokens(text: &str, line: u32) -> Result<(Vec<Token<'_>>, Vec<u32>), Error> {
    let mut lexer = Lexer { line, ..Lexer::new(text) };
    let mut tokens = Vec::with_capacity(text.len() / 4);
    loop {
        let token = lexer.token()?;
        tokens.push(token);
        if token.kind == Kind::End {
            return Ok((tokens, lexer.assembly));
        }
    }
}

/// The state of the lexer in a source.
pub(super) struct Lexer<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: u32,
    /// The lines of the comments that begin and end inline assembly.
    assembly: Vec<u32>,
}

/// Whether a byte continues a word.
fn continues(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Lexer<'a> {
        Lexer { source, bytes: source.as_bytes(), at: 0, line: 1, assembly: Vec::new() }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn wrong(&self, what: &str, text: &str) -> Error {
        Error::new(self.line, text, what)
    }

    /// Skips spaces and comments.
    fn skip(&mut self) -> Result<(), Error> {
        loop {
            match self.peek(0) {
                b'\n' => self.line += 1,
                byte if byte.is_ascii_whitespace() => {}
                // A line of a preprocessor, such as `#line`, is no part of the program.
                b'#' | b'/' if self.peek(0) == b'#' || self.peek(1) == b'/' => {
                    let marks = [&b"// begin inline asm"[..], b"// end inline asm"];
                    let mark = marks.iter().position(|mark| self.bytes[self.at..].starts_with(mark));
                    // A mark without its counterpart is none.
                    if mark.is_some_and(|mark| mark == self.assembly.len() % 2) {
                        self.assembly.push(self.line);
                    }
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                    continue;
                }
                b'/' if self.peek(1) == b'*' => {
                    let start = self.line;
                    self.at += 2;
                    while !(self.peek(0) == b'*' && self.peek(1) == b'/') {
                        if self.at >= self.bytes.len() {
                            return Err(Error::new(start, "/*", "the comment does not end"));
                        }
                        self.line += u32::from(self.peek(0) == b'\n');
                        self.at += 1;
                    }
                    self.at += 2;
                    continue;
                }
                _ => return Ok(()),
            }
            self.at += 1;
        }
    }

    /// Reads the next token.
    pub(super) fn token(&mut self) -> Result<Token<'a>, Error> {
        self.skip()?;
        let (start, line) = (self.at, self.line);
        let first = self.peek(0);
        let kind = match first {
            0 if self.at >= self.bytes.len() => Kind::End,
            b'%' | b'_' | b'$' | b'a'..=b'z' | b'A'..=b'Z' => {
                self.at += 1;
                self.word();
                Kind::Word
            }
            b'.' if self.peek(1).is_ascii_alphabetic() || self.peek(1) == b'_' || self.is_shape() => {
                self.at += 1;
                self.word();
                while self.peek(0) == b':' && self.peek(1) == b':' && continues(self.peek(2)) {
                    self.at += 2;
                    self.word();
                }
                let text = &self.source[start + 1..self.at];
                return Ok(Token { kind: Kind::Dotted, text, line });
            }
            b'0'..=b'9' => self.number()?,
            b'.' if self.peek(1).is_ascii_digit() => self.decimal(start)?,
            b'"' => {
                self.string()?;
                let text = &self.source[start + 1..self.at - 1];
                return Ok(Token { kind: Kind::Text, text, line });
            }
            byte if byte.is_ascii_punctuation() => {
                self.at += 1;
                Kind::Mark(byte)
            }
            _ => {
                let text: String = self.source[start..].chars().take(1).collect();
                return Err(self.wrong("the character is not valid", &text));
            }
        };
        Ok(Token { kind, text: &self.source[start..self.at], line })
    }

    /// Moves past the bracket that closes a body, whose opening one was just read, and returns the text. Moves nowhere if no bracket
    /// closes it.
    fn body(&mut self) -> Option<&'a str> {
        let (start, line, mut open) = (self.at, self.line, 1_usize);
        while let Some(byte) = self.bytes.get(self.at) {
            let at = self.at;
            match byte {
                b'{' => open += 1,
                b'}' if open == 1 => {
                    self.at += 1;
                    return Some(&self.source[start..self.at]);
                }
                b'}' => open -= 1,
                b'\n' => self.line += 1,
                // A bracket in a comment or in a string is none.
                b'/' | b'#' => drop(self.skip()),
                b'"' => drop(self.string()),
                _ => {}
            }
            self.at += usize::from(self.at == at);
        }
        (self.at, self.line) = (start, line);
        None
    }

    /// Moves past a string.
    fn string(&mut self) -> Result<(), Error> {
        self.at += 1;
        while self.peek(0) != b'"' {
            if self.at >= self.bytes.len() || self.peek(0) == b'\n' {
                return Err(self.wrong("the string does not end", "\""));
            }
            // An escaped quote does not end the string.
            self.at += if self.peek(0) == b'\\' && self.peek(1) == b'"' { 2 } else { 1 };
        }
        self.at += 1;
        Ok(())
    }

    /// Whether the text is a modifier that begins with digits: `.2d`, `.32x32b`.
    fn is_shape(&self) -> bool {
        let digits = self.bytes[self.at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits > 0 && matches!(self.peek(1 + digits), b'd' | b'x')
    }

    fn word(&mut self) {
        while continues(self.peek(0)) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Result<Kind, Error> {
        let start = self.at;
        let (radix, prefix) = match (self.peek(0), self.peek(1)) {
            (b'0', b'x' | b'X') => (16, 2),
            (b'0', b'b' | b'B') => (2, 2),
            (b'0', b'f' | b'F') => return Ok(Kind::Single(self.bits(8)? as u32)),
            (b'0', b'd' | b'D') => return Ok(Kind::Double(self.bits(16)?)),
            (b'0', b'0'..=b'9') => (8, 1),
            _ => (10, 0),
        };
        self.at += prefix;
        let digits = self.at;
        while char::from(self.peek(0)).is_digit(radix.max(10)) {
            self.at += 1;
        }
        let fraction = self.peek(0) == b'.' && self.peek(1).is_ascii_digit();
        let ends_in_dot = self.peek(0) == b'.' && !continues(self.peek(1));
        let exponent =
            matches!(self.peek(0), b'e' | b'E') && (self.peek(1).is_ascii_digit() || b"+-".contains(&self.peek(1)));
        if radix != 16 && radix != 2 && (fraction || exponent || ends_in_dot) {
            return self.decimal(start);
        }
        let value = u64::from_str_radix(&self.source[digits..self.at], radix);
        let value =
            value.map_err(|_| self.wrong("the number does not fit into 64 bits", &self.source[start..self.at]))?;
        if matches!(self.peek(0), b'U' | b'u') {
            self.at += 1;
        }
        if continues(self.peek(0)) {
            self.word();
            return Err(self.wrong("a number is expected", &self.source[start..self.at]));
        }
        Ok(Kind::Integer(value))
    }

    /// Reads the digits after `0f` and `0d`.
    fn bits(&mut self, digits: usize) -> Result<u64, Error> {
        let start = self.at;
        self.at += 2;
        self.word();
        let text = &self.source[start..self.at];
        let value = u64::from_str_radix(&text[2..], 16).ok().filter(|_| text.len() == digits + 2);
        value.ok_or_else(|| self.wrong("a floating-point constant is expected", text))
    }

    fn decimal(&mut self, start: usize) -> Result<Kind, Error> {
        while self.peek(0).is_ascii_digit() || self.peek(0) == b'.' {
            self.at += 1;
        }
        if matches!(self.peek(0), b'e' | b'E') {
            self.at += 1 + usize::from(b"+-".contains(&self.peek(1)));
            while self.peek(0).is_ascii_digit() {
                self.at += 1;
            }
        }
        let text = &self.source[start..self.at];
        let value: f64 = text.parse().map_err(|_| self.wrong("a floating-point constant is expected", text))?;
        Ok(Kind::Double(value.to_bits()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind> {
        module_tokens(source).unwrap().iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_are_read_with_their_kind() {
        assert_eq!(
            kinds("12 0x1F 017 0b101 7U 0f3F800000 0d3FF0000000000000 1.5 2e3"),
            [
                Kind::Integer(12),
                Kind::Integer(31),
                Kind::Integer(15),
                Kind::Integer(5),
                Kind::Integer(7),
                Kind::Single(0x3f80_0000),
                Kind::Double(0x3ff0_0000_0000_0000),
                Kind::Double(1.5_f64.to_bits()),
                Kind::Double(2000_f64.to_bits()),
                Kind::End,
            ]
        );
    }

    #[test]
    fn modifiers_are_split_from_the_opcode() {
        let (tokens, _) =
            body_tokens("ld.shared::cta.v2.u32 {%r1, %r2}, [%rd1+-4]; // end\n/* a\n b */ ret;", 1).unwrap();
        let texts: Vec<&str> = tokens.iter().map(|token| token.text).collect();
        assert_eq!(
            texts,
            [
                "ld",
                "shared::cta",
                "v2",
                "u32",
                "{",
                "%r1",
                ",",
                "%r2",
                "}",
                ",",
                "[",
                "%rd1",
                "+",
                "-",
                "4",
                "]",
                ";",
                "ret",
                ";",
                ""
            ]
        );
        assert_eq!(tokens[17].line, 3);
    }

    #[test]
    fn modifiers_that_begin_with_a_digit_are_words() {
        assert_eq!(
            kinds("tex.2d .5 .32x32b 1.5"),
            [
                Kind::Word,
                Kind::Dotted,
                Kind::Double(0.5_f64.to_bits()),
                Kind::Dotted,
                Kind::Double(1.5_f64.to_bits()),
                Kind::End,
            ]
        );
    }

    #[test]
    fn invalid_tokens_are_reported_with_their_line() {
        for (source, line) in [("ret;\n\u{1}", 2), ("/* a", 1), ("\n\n\"x", 3), ("0f12", 1), ("12abc", 1), ("é", 1)] {
            assert_eq!(module_tokens(source).unwrap_err().line, line, "{source}");
        }
    }

    #[test]
    fn bodies_are_one_token() {
        let source = ".func f() .pragma \"}\"; {\n{ ret; /* } */ // }\n .pragma \"}\"; }\n } .global .b8 a[1] = {1};\n.func g();";
        let tokens = module_tokens(source).unwrap();
        let body = tokens.iter().find(|token| token.kind == Kind::Body).unwrap();
        assert_eq!((body.text, body.line), ("\n{ ret; /* } */ // }\n .pragma \"}\"; }\n }", 1));
        let lines: Vec<u32> = body_tokens(body.text, body.line).unwrap().0.iter().map(|token| token.line).collect();
        assert_eq!(lines, [2, 2, 2, 3, 3, 3, 3, 4, 4]);
        assert_eq!(tokens.iter().filter(|token| token.kind == Kind::Mark(b'{')).count(), 1);
        assert_eq!(tokens.last().map(|token| token.line), Some(5));
        assert!(module_tokens(".entry k() { ret; ").unwrap().iter().all(|token| token.kind != Kind::Body));
    }
}
