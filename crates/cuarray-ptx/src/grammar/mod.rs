//! The parser: from tokens to a [`Module`].
//!
//! It is a recursive descent parser with one token of lookahead. It checks the form of
//! [directives](https://docs.nvidia.com/cuda/parallel-thread-execution/#directives) and statements; names are resolved
//! later. Debug sections and performance hints are skipped, because they change no result. The bodies of functions are
//! parsed one by one when they are resolved, so that a large module needs the memory of a few parsed bodies only.

use crate::Error;
use ast::*;
use lexer::{Kind, Token, module_tokens};
use types::{Space, Type};

pub(crate) mod ast;
mod body;
pub(crate) mod header;
mod lexer;
pub(crate) mod types;
mod variable;

/// Parses a module, except for the bodies of its functions; see [`Body::statements`].
///
/// # Errors
/// For invalid PTX, with the line and the token.
pub(crate) fn parse(source: &str) -> Result<Module<'_>, Error> {
    let tokens = module_tokens(source)?;
    let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, assembly: &[], located: 0 };
    let head = source.split(".version").next().unwrap_or_default();
    let mut module = Module { is_of_nvvm: head.contains("NVIDIA NVVM Compiler"), ..Module::default() };
    if let Err(error) = parser.directives(&mut module) {
        // The first error of the text counts.
        let bodies = module.functions.iter().filter_map(|function| function.body);
        return bodies.into_iter().try_for_each(|body| body.statements().map(drop)).and(Err(error));
    }
    if module.version == (0, 0) {
        return Err(Error::new(1, "", "the .version directive is missing"));
    }
    Ok(module)
}

/// The deepest nesting of blocks and initializers.
const DEPTH: usize = 100;

pub(super) struct Parser<'t, 'a> {
    tokens: &'t [Token<'a>],
    at: usize,
    depth: usize,
    /// The lines at which inline assembly begins and ends, by turns.
    assembly: &'t [u32],
    /// The number of these lines before the last `.loc` of inline assembly.
    located: usize,
}

impl<'a> Parser<'_, 'a> {
    fn peek(&self) -> Token<'a> {
        // The last token is the end of the text. The parser never moves past it.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn peek_ahead(&self, ahead: usize) -> Token<'a> {
        self.tokens[(self.at + ahead).min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn wrong(&self, expected: &str) -> Error {
        let token = self.peek();
        let text = match token.kind {
            Kind::End => "the end of the text",
            Kind::Body => "{",
            _ => token.text,
        };
        Error::new(token.line, text, &format!("expected {expected}"))
    }

    fn takes(&mut self, mark: u8) -> bool {
        let taken = self.peek().kind == Kind::Mark(mark);
        self.at += usize::from(taken);
        taken
    }

    fn expect(&mut self, mark: u8) -> Result<(), Error> {
        if self.takes(mark) { Ok(()) } else { Err(self.wrong(&format!("'{}'", char::from(mark)))) }
    }

    /// Takes a word after a dot if it is `text`.
    fn takes_dotted(&mut self, text: &str) -> bool {
        let token = self.peek();
        let taken = token.kind == Kind::Dotted && token.text == text;
        self.at += usize::from(taken);
        taken
    }

    fn word(&mut self, what: &str) -> Result<&'a str, Error> {
        let token = self.peek();
        if token.kind != Kind::Word {
            return Err(self.wrong(what));
        }
        self.at += 1;
        Ok(token.text)
    }

    fn integer(&mut self, what: &str) -> Result<u64, Error> {
        match self.peek().kind {
            Kind::Integer(value) => {
                self.at += 1;
                Ok(value)
            }
            _ => Err(self.wrong(what)),
        }
    }

    /// Parses an integer constant expression: sums and products of integers, with signs and brackets.
    fn expression(&mut self) -> Result<u64, Error> {
        let mut value = self.product()?;
        loop {
            if self.takes(b'+') {
                value = value.wrapping_add(self.product()?);
            } else if self.takes(b'-') {
                value = value.wrapping_sub(self.product()?);
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<u64, Error> {
        let mut value = self.factor()?;
        while self.takes(b'*') {
            value = value.wrapping_mul(self.factor()?);
        }
        Ok(value)
    }

    fn factor(&mut self) -> Result<u64, Error> {
        if self.depth > DEPTH {
            return Err(self.wrong("a shallower nesting"));
        }
        self.depth += 1;
        let value = if self.takes(b'-') {
            self.factor()?.wrapping_neg()
        } else if self.takes(b'+') {
            self.factor()?
        } else if self.takes(b'~') {
            !self.factor()?
        } else if self.takes(b'(') {
            let value = self.expression()?;
            self.expect(b')')?;
            value
        } else {
            self.integer("an integer")?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn directives(&mut self, module: &mut Module<'a>) -> Result<(), Error> {
        while self.peek().kind != Kind::End {
            self.directive(module)?;
        }
        Ok(())
    }

    fn directive(&mut self, module: &mut Module<'a>) -> Result<(), Error> {
        let token = self.peek();
        if self.takes(b';') {
            return Ok(());
        }
        if token.kind == Kind::Word {
            // A label that a debug section refers to.
            if self.peek_ahead(1).kind == Kind::Mark(b':') {
                self.at += 2;
                return Ok(());
            }
            return Err(self.wrong("a directive"));
        }
        if token.kind != Kind::Dotted {
            return Err(self.wrong("a directive"));
        }
        match token.text {
            "version" => {
                self.at += 1;
                module.version = self.version()?;
            }
            "target" => {
                self.at += 1;
                loop {
                    module.target.push(self.word("a target")?);
                    if !self.takes(b',') {
                        break;
                    }
                }
            }
            "address_size" => {
                self.at += 1;
                if self.integer("64")? != 64 {
                    return Err(Error::new(token.line, ".address_size", "only addresses of 64 bits are supported"));
                }
            }
            "file" => {
                self.at += 1;
                let number = self.integer("the number of a file")?;
                let name = self.peek();
                if name.kind != Kind::Text {
                    return Err(self.wrong("the name of a file"));
                }
                self.at += 1;
                module.files.push((number, name.text));
                while self.takes(b',') {
                    self.integer("an integer")?;
                }
            }
            "section" => {
                self.at += 1;
                self.skip_section()?;
            }
            "loc" => drop(self.location()?),
            "pragma" => self.skip_to_semicolon()?,
            "alias" => {
                self.at += 1;
                let alias = self.word("the name of the alias")?;
                self.expect(b',')?;
                let function = self.word("the name of a function")?;
                self.expect(b';')?;
                module.aliases.push((alias, function, token.line));
            }
            "b8" | "b16" | "b32" | "b64" if self.peek_ahead(1).kind != Kind::Dotted => self.skip_line(token.line),
            _ => self.declaration(module)?,
        }
        Ok(())
    }

    fn version(&mut self) -> Result<(u32, u32), Error> {
        let token = self.peek();
        let pair =
            token.text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        let pair = pair.filter(|(major, _)| *major > 0).ok_or_else(|| self.wrong("a version, such as 8.0"))?;
        self.at += 1;
        Ok(pair)
    }

    fn skip_line(&mut self, line: u32) {
        while self.peek().kind != Kind::End && self.peek().line == line {
            self.at += 1;
        }
    }

    fn skip_to_semicolon(&mut self) -> Result<(), Error> {
        while !self.takes(b';') {
            if self.peek().kind == Kind::End {
                return Err(self.wrong("';'"));
            }
            self.at += 1;
        }
        Ok(())
    }

    /// Skips a debug section up to its last bracket.
    fn skip_section(&mut self) -> Result<(), Error> {
        while self.peek().kind != Kind::Mark(b'{') {
            if self.peek().kind == Kind::End {
                return Err(self.wrong("'{'"));
            }
            self.at += 1;
        }
        let mut open = 0_usize;
        loop {
            match self.next().kind {
                Kind::Mark(b'{') => open += 1,
                Kind::Mark(b'}') if open == 1 => return Ok(()),
                Kind::Mark(b'}') => open -= 1,
                Kind::End => return Err(self.wrong("'}'")),
                _ => {}
            }
        }
    }

    /// Parses a variable or a function of a module.
    fn declaration(&mut self, module: &mut Module<'a>) -> Result<(), Error> {
        let mut linkage = Linkage::Private;
        loop {
            let token = self.peek();
            linkage = match (token.kind, token.text) {
                (Kind::Dotted, "visible") => Linkage::Visible,
                (Kind::Dotted, "extern") => Linkage::Extern,
                (Kind::Dotted, "weak") => Linkage::Weak,
                (Kind::Dotted, "common") => Linkage::Common,
                _ => break,
            };
            self.at += 1;
        }
        if self.takes_dotted("entry") {
            let function = self.function(true, linkage)?;
            module.functions.push(function);
        } else if self.takes_dotted("func") {
            let function = self.function(false, linkage)?;
            module.functions.push(function);
        } else {
            let token = self.peek();
            let space =
                Some(token).filter(|token| token.kind == Kind::Dotted).and_then(|token| Space::named(token.text));
            match space {
                Some(space @ (Space::Global | Space::Const | Space::Shared | Space::Local)) => {
                    self.at += 1;
                    self.variables(space, linkage, &mut module.variables)?;
                    self.expect(b';')?;
                }
                _ => return Err(self.wrong("a directive of a module")),
            }
        }
        Ok(())
    }

    /// Parses a kernel or function after `.entry` or `.func`, except for its body.
    fn function(&mut self, entry: bool, linkage: Linkage) -> Result<Function<'a>, Error> {
        let line = self.peek().line;
        // `.attribute(...)` before the name is ignored.
        if self.takes_dotted("attribute") {
            self.expect(b'(')?;
            while !self.takes(b')') {
                if self.next().kind == Kind::End {
                    return Err(self.wrong("')'"));
                }
            }
        }
        let results = if self.peek().kind == Kind::Mark(b'(') { self.parameters()? } else { Vec::new() };
        let name = self.word("the name of a function")?;
        let parameters = if self.peek().kind == Kind::Mark(b'(') { self.parameters()? } else { Vec::new() };
        let mut function = Function {
            name,
            entry,
            linkage,
            results,
            parameters,
            body: None,
            max_threads: None,
            cluster: ClusterDirectives::default(),
            max_registers: 0,
            min_blocks: 0,
            line,
        };
        self.function_directives(&mut function)?;
        if self.takes(b';') {
            return Ok(function);
        }
        let token = self.peek();
        if token.kind == Kind::Body {
            self.at += 1;
            function.body = Some(Body { text: token.text, line: token.line });
            return Ok(function);
        }
        // No bracket closes the body.
        self.expect(b'{')?;
        self.body()?;
        Err(self.wrong("'}'"))
    }

    /// Parses the directives between the parameters of a function and its body.
    fn function_directives(&mut self, function: &mut Function<'a>) -> Result<(), Error> {
        loop {
            let token = self.peek();
            match (token.kind, token.text) {
                (Kind::Dotted, directive @ ("maxntid" | "reqntid")) => {
                    self.at += 1;
                    let mut threads = self.integer("a number of threads")?;
                    while self.takes(b',') {
                        threads = threads.saturating_mul(self.integer("a number of threads")?);
                    }
                    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
                    function.max_threads = Some((threads, directive == "reqntid"));
                }
                (Kind::Dotted, "pragma") => self.skip_to_semicolon()?,
                (Kind::Dotted, "explicitcluster") => {
                    self.at += 1;
                    function.cluster.explicit = true;
                }
                // The grid of a launch would count clusters.
                (Kind::Dotted, "blocksareclusters") => {
                    let message = "the directive is not supported";
                    return Err(Error::unsupported(token.line, ".blocksareclusters", message));
                }
                (Kind::Dotted, "reqnctapercluster") => {
                    self.at += 1;
                    let mut size = [1; 3];
                    for (index, extent) in size.iter_mut().enumerate() {
                        if index == 0 || self.takes(b',') {
                            let blocks = self.integer("a number of blocks")?;
                            *extent = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).unwrap_or(u32::MAX);
                        }
                    }
                    function.cluster.size = Some(size);
                }
                (Kind::Dotted, "maxclusterrank") => {
                    self.at += 1;
                    let blocks = self.integer("a number of blocks")?;
                    function.cluster.max_blocks = Some(u32::try_from(blocks).unwrap_or(u32::MAX));
                }
                (Kind::Dotted, "maxnreg") => {
                    self.at += 1;
                    let most = self.integer("a number of registers")?;
                    function.max_registers = u32::try_from(most).unwrap_or(u32::MAX);
                }
                (Kind::Dotted, "minnctapersm" | "maxnctapersm") => {
                    self.at += 1;
                    let least = self.integer("a number of blocks")?;
                    function.min_blocks = u32::try_from(least).unwrap_or(u32::MAX);
                }
                (Kind::Dotted, _) => {
                    // Performance hints: .noreturn, …
                    self.at += 1;
                    while matches!(self.peek().kind, Kind::Integer(_) | Kind::Mark(b',')) {
                        self.at += 1;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    /// Parses `(.param .u64 a, .reg .b32 b)`.
    pub(super) fn parameters(&mut self) -> Result<Vec<Variable<'a>>, Error> {
        self.expect(b'(')?;
        let mut parameters = Vec::new();
        while !self.takes(b')') {
            let space = if self.takes_dotted("param") {
                Space::Param
            } else if self.takes_dotted("reg") {
                // A parameter in a register has a name but no memory.
                Space::Generic
            } else {
                return Err(self.wrong(".param"));
            };
            parameters.push(self.variable(space, Linkage::Private)?.0);
            if !self.takes(b',') && self.peek().kind != Kind::Mark(b')') {
                return Err(self.wrong("',' or ')'"));
            }
        }
        Ok(parameters)
    }
}

#[cfg(test)]
mod tests;
