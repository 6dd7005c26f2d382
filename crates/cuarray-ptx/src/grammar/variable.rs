//! Variables and their initializers.

use super::*;

impl<'a> Parser<'_, 'a> {
    /// Parses variables of one space, after the space; several names share a type.
    pub(super) fn variables(
        &mut self,
        space: Space,
        linkage: Linkage,
        into: &mut Vec<Variable<'a>>,
    ) -> Result<(), Error> {
        let (first, vector) = self.variable(space, linkage)?;
        let (ty, align, managed) = (first.ty, first.align, first.managed);
        into.push(first);
        while self.takes(b',') {
            let other = self.named_variable(ty, vector)?;
            into.push(Variable { space, linkage, align, managed, ..other });
        }
        Ok(())
    }

    /// Parses `.align 8 .ptr .v2 .b8 name[4][2] = {…}`. Also returns the width of the vector.
    pub(super) fn variable(&mut self, space: Space, linkage: Linkage) -> Result<(Variable<'a>, u64), Error> {
        let (mut align, mut ty, mut vector, mut opaque, mut managed) = (None, None, 1, None, false);
        loop {
            let token = self.peek();
            if token.kind != Kind::Dotted {
                break;
            }
            match token.text {
                "align" => {
                    self.at += 1;
                    let value = self.integer("an alignment")?;
                    if !value.is_power_of_two() || value > 1 << 20 {
                        return Err(Error::new(token.line, ".align", "an alignment must be a power of two"));
                    }
                    // The number after `.ptr` is the alignment of the target, without a type.
                    align = align.or(Some(value));
                    continue;
                }
                "v2" => vector = 2,
                "v4" => vector = 4,
                "v8" => vector = 8,
                "ptr" => {
                    self.at += 1;
                    self.pointer()?;
                    continue;
                }
                "attribute" => {
                    self.at += 1;
                    self.managed_attribute(space)?;
                    managed = true;
                    continue;
                }
                // A variable has room for a handle, and a parameter is one.
                "texref" => (ty, opaque) = (Some(Type::B64), Some(Opaque::Texture)),
                "surfref" => (ty, opaque) = (Some(Type::B64), Some(Opaque::Surface)),
                "samplerref" => (ty, opaque) = (Some(Type::B64), Some(Opaque::Sampler(Vec::new()))),
                name => ty = Some(Type::named(name).ok_or_else(|| self.wrong("a type"))?),
            }
            self.at += 1;
        }
        let ty = ty.ok_or_else(|| self.wrong("a type"))?;
        let mut variable = self.named_variable(ty, vector)?;
        if opaque.is_some() && self.takes(b'=') {
            let attributes = self.attributes()?;
            match &mut opaque {
                Some(Opaque::Sampler(known)) => *known = attributes,
                _ => {
                    let message = "only a .samplerref can have an initializer";
                    return Err(Error::unsupported(variable.line, variable.name, message));
                }
            }
        }
        (variable.opaque, variable.managed) = (opaque, managed);
        let align = align.unwrap_or(ty.size() * vector);
        Ok((Variable { space, linkage, align, ..variable }, vector))
    }

    /// Parses `(.managed)`, which only variables in global memory can have.
    fn managed_attribute(&mut self, space: Space) -> Result<(), Error> {
        self.expect(b'(')?;
        let token = self.peek();
        if !self.takes_dotted("managed") {
            let message = "the only supported attribute of a variable is .managed";
            return Err(Error::unsupported(token.line, token.text, message));
        }
        if space != Space::Global {
            return Err(Error::new(token.line, ".managed", "a managed variable must be in global memory"));
        }
        self.expect(b')')
    }

    /// Skips `.ptr` of a parameter: the space and alignment of its target are hints.
    fn pointer(&mut self) -> Result<(), Error> {
        loop {
            let token = self.peek();
            if token.kind == Kind::Dotted && Space::named(token.text).is_some() {
                self.at += 1;
            } else if self.takes_dotted("align") {
                self.integer("an alignment")?;
            } else {
                return Ok(());
            }
        }
    }

    fn named_variable(&mut self, ty: Type, vector: u64) -> Result<Variable<'a>, Error> {
        let line = self.peek().line;
        let name = self.word("a name")?;
        let mut elements = vector;
        let mut open = false;
        while self.takes(b'[') {
            if self.takes(b']') {
                open = true;
                continue;
            }
            let count = self.expression()?;
            elements = elements
                .checked_mul(count)
                .filter(|count| *count < 1 << 40)
                .ok_or_else(|| Error::new(line, name, "the array has too many elements"))?;
            self.expect(b']')?;
        }
        let mut initializer = Vec::new();
        // The initializer of an opaque variable names its attributes.
        let named = self.peek().kind == Kind::Mark(b'=')
            && self.peek_ahead(1).kind == Kind::Mark(b'{')
            && self.peek_ahead(3).kind == Kind::Mark(b'=');
        if !named && self.takes(b'=') {
            self.initializer(&mut initializer)?;
            if open {
                elements = initializer.len() as u64;
                open = false;
            }
            if initializer.len() as u64 > elements {
                return Err(Error::new(line, name, "the initializer has more elements than the variable"));
            }
        }
        if open {
            elements = 0;
        }
        // The caller sets space, linkage and alignment.
        let (space, linkage, align) = (Space::Generic, Linkage::Private, 1);
        Ok(Variable { name, space, ty, linkage, align, elements, initializer, opaque: None, managed: false, line })
    }

    /// Parses `{ filter_mode = nearest, force_unnormalized_coords = 1 }` of an opaque variable.
    fn attributes(&mut self) -> Result<Vec<(&'a str, &'a str)>, Error> {
        self.expect(b'{')?;
        let mut attributes = Vec::new();
        while !self.takes(b'}') {
            let name = self.word("an attribute")?;
            self.expect(b'=')?;
            let value = self.peek();
            if !matches!(value.kind, Kind::Word | Kind::Integer(_)) {
                return Err(self.wrong("the value of an attribute"));
            }
            self.at += 1;
            attributes.push((name, value.text));
            if !self.takes(b',') && self.peek().kind != Kind::Mark(b'}') {
                return Err(self.wrong("',' or '}'"));
            }
        }
        Ok(attributes)
    }

    fn initializer(&mut self, into: &mut Vec<Value<'a>>) -> Result<(), Error> {
        if self.takes(b'{') {
            self.depth += 1;
            if self.depth > DEPTH {
                return Err(self.wrong("a shallower nesting"));
            }
            while !self.takes(b'}') {
                self.initializer(into)?;
                if !self.takes(b',') && self.peek().kind != Kind::Mark(b'}') {
                    return Err(self.wrong("',' or '}'"));
                }
            }
            self.depth -= 1;
            return Ok(());
        }
        let negative = self.peek().kind == Kind::Mark(b'-');
        let token = self.peek_ahead(usize::from(negative));
        let value = match token.kind {
            Kind::Single(bits) => {
                self.at += 1 + usize::from(negative);
                Value::Single(bits ^ u32::from(negative) << 31)
            }
            Kind::Double(bits) => {
                self.at += 1 + usize::from(negative);
                Value::Double(bits ^ u64::from(negative) << 63)
            }
            Kind::Word => self.address(0)?,
            // A mask selects a byte of an address: 0xFF00(name).
            Kind::Integer(mask) if !negative && self.peek_ahead(1).kind == Kind::Mark(b'(') => {
                self.at += 2;
                let value = self.address(mask.trailing_zeros().min(56))?;
                self.expect(b')')?;
                value
            }
            _ => Value::Bits(self.expression()?),
        };
        into.push(value);
        Ok(())
    }

    fn address(&mut self, shift: u32) -> Result<Value<'a>, Error> {
        let mut name = self.word("a name")?;
        let generic = name == "generic" && self.takes(b'(');
        if generic {
            name = self.word("the name of a variable")?;
            self.expect(b')')?;
        }
        let offset = match self.peek().kind {
            Kind::Mark(b'+' | b'-') => {
                let negative = self.takes(b'-');
                self.takes(b'+');
                let value = self.product()?;
                if negative { value.wrapping_neg() } else { value }
            }
            _ => 0,
        };
        Ok(Value::Address { name, generic, offset: offset as i64, shift })
    }
}
