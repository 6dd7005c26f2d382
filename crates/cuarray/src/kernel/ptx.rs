//! The parameters of a kernel in the text of PTX.
//!
//! The driver reports sizes only, and only from CUDA 12.4 on. The text has names and types too. This reads the head of one kernel and
//! skips everything else. The compiler checks the text, so a head that this does not understand is no error.

/// A parameter, as PTX states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: Box<str>,
    /// The type as written: `.f32`, or `.b8[16]`.
    pub(super) text: Box<str>,
    pub(super) size: usize,
    pub(super) class: Class,
}

/// The values that a type of PTX holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Integer,
    Float,
    /// Bytes of any meaning: `.b32`, or an array.
    Bits,
}

/// The parameters of the kernel `name`; `None` if the text has no such kernel.
pub(super) fn parameters(text: &str, name: &str) -> Option<Vec<Parameter>> {
    let mut tokens = Tokens(text);
    loop {
        tokens.find(|&token| token == ".entry")?;
        if tokens.next()? == name {
            break;
        }
    }
    // A kernel without parameters may have no parentheses.
    if tokens.next()? != "(" {
        return Some(Vec::new());
    }
    let head: Vec<&str> = tokens.take_while(|&token| token != ")").collect();
    let parts = head.split(|&token| token == ",").filter(|part| !part.is_empty());
    parts.map(parameter).collect()
}

fn parameter(tokens: &[&str]) -> Option<Parameter> {
    let (at, (size, class)) = tokens.iter().enumerate().find_map(|(at, token)| Some((at, scalar(token)?)))?;
    let end = tokens.iter().position(|&token| token == "[").unwrap_or(tokens.len());
    let name = tokens[at + 1..].get(..end.checked_sub(at + 1)?)?.last()?;
    let (count, class, text) = match tokens.get(end + 1) {
        None => (1, class, tokens[at].to_owned()),
        Some(count) => (count.parse::<usize>().ok()?, Class::Bits, format!("{}[{count}]", tokens[at])),
    };
    Some(Parameter { name: (*name).into(), text: text.into(), size: size.checked_mul(count)?, class })
}

/// The size in bytes and the class of a scalar type.
fn scalar(token: &str) -> Option<(usize, Class)> {
    let digits = token.find(|character: char| character.is_ascii_digit())?;
    let class = match &token[..digits] {
        ".u" | ".s" => Class::Integer,
        ".f" => Class::Float,
        ".b" => Class::Bits,
        _ => return None,
    };
    match token[digits..].parse() {
        Ok(bits @ (8 | 16 | 32 | 64 | 128)) => Some((bits / 8, class)),
        _ => None,
    }
}

/// The words and signs of PTX, without comments. A dot begins a word.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            self.0 = self.0.trim_start();
            self.0 = match self.0 {
                text if text.starts_with("//") => text.split_once('\n')?.1,
                text if text.starts_with("/*") => text.split_once("*/")?.1,
                text if text.starts_with('"') => text[1..].split_once('"')?.1,
                _ => break,
            };
        }
        let first = self.0.chars().next()?;
        let in_word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '$' | '%');
        let rest = &self.0[first.len_utf8()..];
        let length = match first == '.' || in_word(first) {
            true => rest.find(|character| !in_word(character)).unwrap_or(rest.len()),
            false => 0,
        };
        let (token, rest) = self.0.split_at(first.len_utf8() + length);
        self.0 = rest;
        Some(token)
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, parameters};

    fn read(text: &str, name: &str) -> Vec<(String, String, usize, Class)> {
        let found = parameters(text, name).unwrap().into_iter();
        found.map(|found| (found.name.into(), found.text.into(), found.size, found.class)).collect()
    }

    fn row(name: &str, text: &str, size: usize, class: Class) -> (String, String, usize, Class) {
        (name.into(), text.into(), size, class)
    }

    #[test]
    fn parameters_of_each_form_are_read() {
        let text = "
            .version 8.0 // .entry f(.param .u8 in_a_comment)
            .file 1 \".entry f(.param .u8 in_a_text)\"
            .visible .entry other(.param .u64 x) { ret; }
            .visible .entry f(
                .param .u64 .ptr .global .align 4 f_param_0, // the array
                .param .f32 /* a factor */ f_param_1,
                .param .align 8 .b8 step[24],
                .param.s32 n
            )
            .maxntid 32 { ld.param.u64 %rd1, [f_param_0]; ret; }";
        let expected = [
            row("f_param_0", ".u64", 8, Class::Integer),
            row("f_param_1", ".f32", 4, Class::Float),
            row("step", ".b8[24]", 24, Class::Bits),
            row("n", ".s32", 4, Class::Integer),
        ];
        assert_eq!(read(text, "f"), expected);
        assert_eq!(read(text, "other"), [row("x", ".u64", 8, Class::Integer)]);
    }

    #[test]
    fn kernel_without_parameters_has_none() {
        assert_eq!(read(".entry f() { ret; } .entry g { ret; }", "f"), []);
        assert_eq!(read(".entry f() { ret; } .entry g { ret; }", "g"), []);
    }

    #[test]
    fn text_without_the_kernel_or_with_an_unknown_type_has_no_parameters() {
        for text in ["", ".entry", ".entry ff() {}", "// .entry f()", "/* .entry f()", ".entry f(.param .tensor x) {}"]
        {
            assert_eq!(parameters(text, "f"), None, "{text}");
        }
    }
}
