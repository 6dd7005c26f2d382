//! The statements of a function's body.

use super::lexer::body_tokens;
use super::*;

impl<'a> Body<'a> {
    /// Parses the body.
    ///
    /// # Errors
    /// For invalid PTX, with the line and the token.
    pub(crate) fn statements(&self) -> Result<Vec<Statement<'a>>, Error> {
        let (tokens, assembly) = body_tokens(self.text, self.line)?;
        let mut parser = Parser { tokens: &tokens, at: 0, depth: 0, assembly: &assembly, located: 0 };
        let statements = parser.body()?;
        if parser.peek().kind == Kind::End { Ok(statements) } else { Err(parser.wrong("brackets in pairs")) }
    }
}

impl<'a> Parser<'_, 'a> {
    /// Parses statements up to and including the closing bracket.
    pub(super) fn body(&mut self) -> Result<Vec<Statement<'a>>, Error> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.wrong("a less deep nesting"));
        }
        let mut statements = Vec::new();
        while !self.takes(b'}') {
            self.statement(&mut statements)?;
        }
        self.depth -= 1;
        Ok(statements)
    }

    fn statement(&mut self, into: &mut Vec<Statement<'a>>) -> Result<(), Error> {
        let token = self.peek();
        match token.kind {
            Kind::Mark(b';') => self.at += 1,
            Kind::Mark(b'{') => {
                self.at += 1;
                let block = self.body()?;
                into.push(Statement::Block(block));
            }
            Kind::Mark(b'@') => into.push(Statement::Instruction(self.instruction()?)),
            Kind::Word if self.peek_ahead(1).kind == Kind::Mark(b':') => {
                self.at += 2;
                let directive = self.peek();
                match (directive.kind, directive.text) {
                    (Kind::Dotted, "branchtargets") => {
                        self.at += 1;
                        let mut labels = vec![self.word("a label")?];
                        while self.takes(b',') {
                            labels.push(self.word("a label")?);
                        }
                        self.expect(b';')?;
                        into.push(Statement::BranchTargets { name: token.text, labels, line: token.line });
                    }
                    (Kind::Dotted, "calltargets") => {
                        self.at += 1;
                        let function = self.word("the name of a function")?;
                        self.skip_to_semicolon()?;
                        into.push(Statement::CallTargets { name: token.text, function });
                    }
                    (Kind::Dotted, "callprototype") => {
                        self.at += 1;
                        into.push(Statement::Prototype(self.prototype(token.text)?));
                    }
                    _ => into.push(Statement::Label(token.text, token.line)),
                }
            }
            Kind::Word => into.push(Statement::Instruction(self.instruction()?)),
            Kind::Dotted => self.local_directive(into)?,
            _ => return Err(self.wrong("a statement")),
        }
        Ok(())
    }

    fn prototype(&mut self, name: &'a str) -> Result<Prototype<'a>, Error> {
        let results = if self.peek().kind == Kind::Mark(b'(') { self.parameters()? } else { Vec::new() };
        self.word("_")?;
        let parameters = if self.peek().kind == Kind::Mark(b'(') { self.parameters()? } else { Vec::new() };
        self.skip_to_semicolon()?;
        Ok(Prototype { name, results, parameters })
    }

    /// Parses `.loc 1 36 0, function_name $L, inlined_at 1 2 3`. Files and lines are kept. In inline assembly only the first one counts,
    /// because LLVM adds the number of the line within the assembly to those that follow.
    pub(super) fn location(&mut self) -> Result<Option<Statement<'a>>, Error> {
        let line = self.next().line;
        let (file, source_line) = (self.integer("the number of a file")?, self.integer("a line")?);
        let mut inlined_at = None;
        while self.peek().kind != Kind::End && self.peek().line == line {
            if self.next().text == "inlined_at" {
                inlined_at = Some((self.integer("the number of a file")?, self.integer("a line")?));
            }
        }
        let marks = self.assembly.partition_point(|mark| *mark < line);
        let follows = marks % 2 == 1 && std::mem::replace(&mut self.located, marks) == marks;
        Ok((!follows).then_some(Statement::Location { file, line: source_line, inlined_at }))
    }

    fn local_directive(&mut self, into: &mut Vec<Statement<'a>>) -> Result<(), Error> {
        let token = self.peek();
        match token.text {
            "loc" => into.extend(self.location()?),
            "pragma" => self.skip_to_semicolon()?,
            "reg" => {
                self.at += 1;
                let (mut ty, mut vector) = (None, 1);
                while self.peek().kind == Kind::Dotted {
                    match self.peek().text {
                        "v2" => vector = 2,
                        "v4" => vector = 4,
                        "align" => {
                            self.at += 1;
                            self.integer("an alignment")?;
                            continue;
                        }
                        name => ty = Some(Type::named(name).ok_or_else(|| self.wrong("a type"))?),
                    }
                    self.at += 1;
                }
                let ty = ty.ok_or_else(|| self.wrong("a type"))?;
                let mut names = Vec::new();
                loop {
                    let name = self.word("the name of a register")?;
                    let count = if self.takes(b'<') {
                        let count = self.integer("a number of registers")?;
                        self.expect(b'>')?;
                        Some(count)
                    } else {
                        None
                    };
                    names.push((name, count));
                    if !self.takes(b',') {
                        break;
                    }
                }
                self.expect(b';')?;
                into.push(Statement::Registers { ty, vector, names, line: token.line });
            }
            text => {
                let mut variables = Vec::new();
                let linkage = match text {
                    "extern" => Linkage::Extern,
                    _ => Linkage::Private,
                };
                self.at += usize::from(linkage == Linkage::Extern);
                let space = Some(self.peek()).filter(|token| token.kind == Kind::Dotted);
                match space.and_then(|token| Space::named(token.text)) {
                    Some(space @ (Space::Shared | Space::Local | Space::Param | Space::Global | Space::Const)) => {
                        self.at += 1;
                        self.variables(space, linkage, &mut variables)?;
                        self.expect(b';')?;
                        into.extend(variables.into_iter().map(Statement::Variable));
                    }
                    _ => return Err(self.wrong("a directive of a function")),
                }
            }
        }
        Ok(())
    }

    fn instruction(&mut self) -> Result<Instruction<'a>, Error> {
        let guard = if self.takes(b'@') {
            let negated = self.takes(b'!');
            Some((self.word("a predicate")?, negated))
        } else {
            None
        };
        let line = self.peek().line;
        let opcode = self.word("an instruction")?;
        let mut modifiers = Vec::new();
        while self.peek().kind == Kind::Dotted {
            modifiers.push(self.next().text);
        }
        let mut operands = Vec::new();
        if !self.takes(b';') {
            loop {
                operands.push(self.operand()?);
                if !self.takes(b',') {
                    break;
                }
            }
            self.expect(b';')?;
        }
        Ok(Instruction { guard, opcode, modifiers, operands, line })
    }

    fn operand(&mut self) -> Result<Operand<'a>, Error> {
        let token = self.peek();
        Ok(match token.kind {
            Kind::Mark(b'!') => {
                self.at += 1;
                Operand::Not(self.word("a predicate")?)
            }
            Kind::Mark(b'[') => self.brackets()?,
            Kind::Mark(mark @ (b'{' | b'(')) => self.elements_within(mark)?,
            Kind::Single(bits) => {
                self.at += 1;
                Operand::Single(bits)
            }
            Kind::Double(bits) => {
                self.at += 1;
                Operand::Double(bits)
            }
            Kind::Mark(b'-') => self.negative()?,
            Kind::Integer(_) | Kind::Mark(b'+' | b'~') => Operand::Integer(self.expression()?),
            Kind::Word if token.text == "_" && self.peek_ahead(1).kind != Kind::Mark(b'|') => {
                self.at += 1;
                Operand::Nothing
            }
            Kind::Word => {
                self.at += 1;
                let after = self.peek();
                match after.kind {
                    Kind::Dotted => {
                        self.at += 1;
                        Operand::Component(token.text, after.text)
                    }
                    Kind::Mark(b'|') => {
                        self.at += 1;
                        Operand::Pair(token.text, self.word("a predicate")?)
                    }
                    Kind::Mark(b'+' | b'-') => Operand::Sum(token.text, self.offset()?),
                    Kind::Mark(b'[') => self.element(token.text)?,
                    _ => Operand::Name(token.text),
                }
            }
            _ => return Err(self.wrong("an operand")),
        })
    }

    /// Parses `[%rd1+8]`, or `[texture, {coordinates}]`.
    fn brackets(&mut self) -> Result<Operand<'a>, Error> {
        self.at += 1;
        let base = match self.peek().kind {
            Kind::Word => Some(self.next().text),
            _ => None,
        };
        let offset = match (base, self.peek().kind) {
            (Some(_), Kind::Mark(b']' | b',')) => 0,
            (Some(_), Kind::Mark(b'+' | b'-')) => self.offset()?,
            (Some(_), _) => return Err(self.wrong("']' or an offset")),
            (None, _) => self.expression()? as i64,
        };
        let mut rest = Vec::new();
        while self.takes(b',') {
            rest.push(self.nested(Self::operand)?);
        }
        self.expect(b']')?;
        match rest.is_empty() {
            true => Ok(Operand::Address { base, offset }),
            false if offset == 0 || base.is_none() => Ok(Operand::Coordinates { base, rest }),
            false => Err(self.wrong("an operand without an offset")),
        }
    }

    /// Parses `{...}` or `(...)`, which begins with `mark`.
    fn elements_within(&mut self, mark: u8) -> Result<Operand<'a>, Error> {
        self.at += 1;
        let close = if mark == b'{' { b'}' } else { b')' };
        let mut list = Vec::new();
        while !self.takes(close) {
            list.push(self.nested(Self::operand)?);
            if !self.takes(b',') && self.peek().kind != Kind::Mark(close) {
                return Err(self.wrong(&format!("',' or '{}'", char::from(close))));
            }
        }
        if mark == b'{' && self.takes(b'|') {
            return Ok(Operand::Resident(list, self.word("a predicate")?));
        }
        Ok(if mark == b'{' { Operand::Vector(list) } else { Operand::List(list) })
    }

    /// Parses an operand that begins with a minus sign.
    fn negative(&mut self) -> Result<Operand<'a>, Error> {
        Ok(match self.peek_ahead(1).kind {
            Kind::Single(bits) => {
                self.at += 2;
                Operand::Single(bits ^ 1 << 31)
            }
            Kind::Double(bits) => {
                self.at += 2;
                Operand::Double(bits ^ 1 << 63)
            }
            Kind::Word => {
                self.at += 1;
                let name = self.next().text;
                let part = Some(self.peek()).filter(|token| token.kind == Kind::Dotted).map(|token| token.text);
                self.at += usize::from(part.is_some());
                Operand::Minus(name, part)
            }
            _ => Operand::Integer(self.expression()?),
        })
    }

    /// Parses `[4]`, `[%r1]` or `[%r1+4]` after the name of an array.
    fn element(&mut self, name: &'a str) -> Result<Operand<'a>, Error> {
        self.expect(b'[')?;
        let register = Some(self.peek()).filter(|token| token.kind == Kind::Word).map(|token| token.text);
        self.at += usize::from(register.is_some());
        let index = match (register, self.peek().kind) {
            (None, _) => self.expression()? as i64,
            (Some(_), Kind::Mark(b'+')) => self.offset()?,
            (Some(_), _) => 0,
        };
        self.expect(b']')?;
        Ok(Operand::Element { name, register, index })
    }

    /// Parses one level deeper in the nesting.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.wrong("a less deep nesting"));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    /// Parses `+4`, `+-4` or `-4`.
    fn offset(&mut self) -> Result<i64, Error> {
        let negative = self.peek().kind == Kind::Mark(b'-');
        self.at += 1;
        let value = self.expression()? as i64;
        Ok(if negative { value.wrapping_neg() } else { value })
    }
}
