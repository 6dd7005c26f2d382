//! Texture instructions: `tex`, `tld4`, `txq`, `suq` and `istypep`.
//!
//! PTX manual: [texture instructions](https://docs.nvidia.com/cuda/parallel-thread-execution/#texture-instructions).

use super::builder::{Builder, Local};
use super::draft::{Access, Draft, Operand};
use super::operand::{Modifiers, spelled};
use super::symbols::Symbol;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Type, Width};
use crate::machine::linear::Operation;
use crate::machine::memory::load_parameter;
use crate::machine::texture::{
    COORDINATES, Chosen, DETAIL, Form, GEOMETRIES, LAYER, OFFSET, OPERANDS, RESIDENT, Results, WRITTEN, fetch,
};
use crate::machine::texture_query::{ATTRIBUTES, is_type, query};
use crate::texture::{Geometry, Opaque};

/// The object that an instruction names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    Texture,
    Sampler,
    /// A texture or a sampler, whose attribute an instruction queries.
    TextureOrSampler,
    Surface,
}

/// The names of the geometries, in the order of [`GEOMETRIES`]; behind them those with several samples for a texel.
const NAMES: [&str; 9] = ["1d", "2d", "3d", "a1d", "a2d", "cube", "acube", "2dms", "a2dms"];

/// The number of coordinates of a geometry, without the layer.
pub(super) fn dimensions(geometry: Geometry) -> usize {
    match geometry {
        Geometry::OneD | Geometry::OneDLayered => 1,
        Geometry::TwoD | Geometry::TwoDLayered => 2,
        Geometry::ThreeD | Geometry::Cube | Geometry::CubeLayered => 3,
    }
}

/// Whether the first coordinate is the number of a layer.
pub(super) fn is_layered(geometry: Geometry) -> bool {
    matches!(geometry, Geometry::OneDLayered | Geometry::TwoDLayered | Geometry::CubeLayered)
}

impl<'a> Builder<'_, 'a> {
    /// Takes the geometry of a texture or surface instruction.
    pub(super) fn geometry(
        &mut self,
        instruction: &Instruction<'a>,
        words: &mut Modifiers<'a>,
        allowed: &[Geometry],
    ) -> Result<Geometry, Error> {
        let Some(index) = words.one_of(&NAMES) else {
            return Err(self.wrong(&spelled(instruction), "the geometry is missing"));
        };
        match GEOMETRIES.get(index) {
            Some(geometry) if allowed.contains(geometry) => Ok(*geometry),
            Some(_) => {
                let message = format!("'{}' does not have the geometry .{}", instruction.opcode, NAMES[index]);
                Err(self.wrong(&spelled(instruction), &message))
            }
            None => {
                let message = "multi-sample textures are not supported: CUDA cannot create them";
                Err(self.unsupported(&spelled(instruction), message))
            }
        }
    }

    /// Resolves the handle of an object: an opaque variable, a parameter, or a register of 64 bits.
    pub(super) fn handle(&mut self, name: Option<&'a str>, object: Object) -> Result<Operand, Error> {
        let Some(name) = name else { return Err(self.wrong("[...]", "the name of a texture or surface is expected")) };
        if let Some((register, declared)) = self.find_register(name) {
            return match declared.width() {
                Width::W64 => Ok(Operand::Register(register)),
                _ => Err(self.wrong(name, "a handle has 64 bits")),
            };
        }
        let number = match self.find_variable(name) {
            Some(Local::Parameter { offset, size: 8 }) => {
                let d = Operand::Register(self.register(Width::W64));
                let access = Access::Parameter(8);
                let exec = load_parameter::<u64, u64>();
                let linear = Some(Operation::Parameter);
                let draft = Draft { d, imm: offset.into(), access, linear, guard: None, ..self.draft(exec) };
                self.push(draft);
                return Ok(d);
            }
            Some(Local::Program(number)) => number,
            Some(_) => return Err(self.wrong(name, "the variable does not hold a handle")),
            None => match self.symbols.lookup(self.module, name) {
                Some(Symbol::Variable(number)) => number,
                _ => return Err(self.wrong(name, "the name is not declared")),
            },
        };
        let is = match self.program_variable(number).opaque {
            Some(Opaque::Texture) => matches!(object, Object::Texture | Object::TextureOrSampler),
            Some(Opaque::Sampler(_)) => matches!(object, Object::Sampler | Object::TextureOrSampler),
            Some(Opaque::Surface) => object == Object::Surface,
            None => false,
        };
        if !is {
            let kind = match object {
                Object::Texture => ".texref",
                Object::Sampler => ".samplerref",
                Object::TextureOrSampler => ".texref or .samplerref",
                Object::Surface => ".surfref",
            };
            return Err(self.wrong(name, &format!("the variable is no {kind}")));
        }
        let address = self.variable_address(number, 0);
        Ok(self.constant(address, Width::W64))
    }

    /// The elements of a vector or of a vector register; a value alone is one element.
    pub(super) fn elements(&mut self, operand: &'a Written<'a>) -> Result<Vec<Written<'a>>, Error> {
        Ok(match operand {
            Written::Vector(list) | Written::Resident(list, _) => list.clone(),
            Written::Name(name) => match self.find_vector(name).map(<[_]>::len) {
                Some(count) => {
                    let components = ["x", "y", "z", "w"].into_iter().take(count);
                    components.map(|component| Written::Component(name, component)).collect()
                }
                None => vec![operand.clone()],
            },
            _ => vec![operand.clone()],
        })
    }

    /// Resolves the coordinates: the layer, and up to three further ones. A vector of four may have unused elements.
    pub(super) fn coordinates(
        &mut self,
        instruction: &Instruction<'a>,
        operand: &'a Written<'a>,
        geometry: Geometry,
        ty: Type,
    ) -> Result<[Operand; 4], Error> {
        let elements = self.elements(operand)?;
        let layered = is_layered(geometry);
        let needed = usize::from(layered) + dimensions(geometry);
        if elements.len() < needed || elements.len() > needed.max(if needed > 2 { 4 } else { needed }) {
            let message = format!("{} coordinates are given, {needed} are expected", elements.len());
            return Err(self.wrong(&spelled(instruction), &message));
        }
        let mut all = [Operand::Nothing; 4];
        for (index, element) in elements.iter().take(needed).enumerate() {
            let place = index + usize::from(!layered);
            all[place] = self.source(element, if place == 0 { Type::B32 } else { ty })?;
        }
        Ok(all)
    }

    /// Resolves a vector of values, which may be longer than needed.
    fn values(&mut self, operand: &'a Written<'a>, count: usize, ty: Type) -> Result<Vec<Operand>, Error> {
        let elements = self.elements(operand)?;
        if elements.len() < count || elements.len() > 4 {
            return Err(self.wrong("{...}", &format!("{} elements are given, {count} are expected", elements.len())));
        }
        elements.iter().take(count).map(|element| self.source(element, ty)).collect()
    }

    /// `tex` and `tld4`.
    #[expect(clippy::too_many_lines, reason = "the parts of the instruction are read in the order of its syntax")]
    pub(super) fn texture(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let gathers = instruction.opcode == "tld4";
        let component = if gathers { words.one_of(&["r", "g", "b", "a"]) } else { None };
        if gathers && component.is_none() {
            return Err(self.wrong(&spelled(instruction), "the component is missing"));
        }
        let chosen = match words.one_of(&["base", "level", "grad"]).filter(|_| !gathers) {
            Some(1) => Chosen::Level,
            Some(2) => Chosen::Gradients,
            _ => Chosen::Base,
        };
        const GATHERED: [Geometry; 4] = [Geometry::TwoD, Geometry::TwoDLayered, Geometry::Cube, Geometry::CubeLayered];
        let geometry = self.geometry(instruction, words, if gathers { &GATHERED } else { &GEOMETRIES })?;
        let cube = matches!(geometry, Geometry::Cube | Geometry::CubeLayered);
        let pairs = words.one_of(&["v4", "v2"]);
        let (result, coordinate) = (words.ty(), words.ty());
        let (result, coordinate) = (self.needed(instruction, result)?, self.needed(instruction, coordinate)?);
        let (results, ty, count) = match (pairs, result) {
            (Some(0), Type::F32 | Type::S32 | Type::U32) => (Results::Words, Type::B32, 4),
            (Some(0), Type::F16) if !gathers => (Results::Halves, Type::F16, 4),
            (Some(1), Type::F16x2) if !gathers => (Results::Pairs, Type::B32, 2),
            _ => return self.refuse(instruction),
        };
        let integral = match coordinate {
            Type::S32 if !gathers && !cube => true,
            Type::F32 => false,
            _ => return Err(self.wrong(&spelled(instruction), "the coordinates cannot have this type")),
        };
        let [target, place, rest @ ..] = instruction.operands.as_slice() else { return self.count(instruction, &[2]) };
        let Written::Coordinates { base, rest: named } = place else {
            return Err(self.wrong(&spelled(instruction), "the coordinates are missing"));
        };
        let mut extra = vec![Operand::Nothing; OPERANDS];
        let targets = self.elements(target)?;
        if targets.len() != count {
            let message = format!("{} results are given, {count} are expected", targets.len());
            return Err(self.wrong(&spelled(instruction), &message));
        }
        for (place, target) in extra.iter_mut().zip(&targets).filter(|(_, target)| **target != Written::Nothing) {
            *place = self.target(target, ty)?;
        }
        if let Written::Resident(_, name) = target {
            extra[RESIDENT] = self.predicate_target(name)?;
        }
        let a = self.handle(*base, Object::Texture)?;
        let (b, coordinates) = match named.as_slice() {
            [coordinates] => (Operand::Nothing, coordinates),
            [Written::Name(sampler), coordinates] => (self.handle(Some(sampler), Object::Sampler)?, coordinates),
            _ => return Err(self.wrong("[...]", "a texture, a sampler and coordinates are expected")),
        };
        let all = self.coordinates(instruction, coordinates, geometry, coordinate)?;
        extra[LAYER] = all[0];
        extra[COORDINATES..COORDINATES + 3].copy_from_slice(&all[1..]);
        let size = dimensions(geometry);
        let details = match chosen {
            Chosen::Base => 0,
            Chosen::Level => 1,
            Chosen::Gradients => 2,
        };
        if rest.len() < details {
            return self.count(instruction, &[2 + details]);
        }
        let (details, rest) = rest.split_at(details);
        for (index, detail) in details.iter().enumerate() {
            let wanted = if chosen == Chosen::Level { 1 } else { size };
            let values = self.values(detail, wanted, Type::F32)?;
            let start = DETAIL + index * 3;
            extra[start..start + wanted].copy_from_slice(&values);
        }
        let rest = match rest {
            [offset @ Written::Vector(_), rest @ ..] => {
                if cube {
                    return Err(self.wrong(&spelled(instruction), "a cubemap has no offsets"));
                }
                let values = self.values(offset, size, Type::S32)?;
                extra[OFFSET..OFFSET + size].copy_from_slice(&values);
                rest
            }
            rest => rest,
        };
        if !rest.is_empty() {
            let message = "the comparison of depths is not supported: CUDA cannot create depth textures";
            return Err(self.unsupported(&spelled(instruction), message));
        }
        let form = Form { geometry, integral, chosen, results, component: component.map(|component| component as u32) };
        let c = Operand::Number(form.code());
        let draft = Draft { a, b, c, extra, written: WRITTEN, ..self.draft(fetch) };
        self.push(draft);
        Ok(())
    }

    /// `txq`, `suq` and `istypep`.
    pub(super) fn texture_query(
        &mut self,
        instruction: &'a Instruction<'a>,
        words: &mut Modifiers<'a>,
    ) -> Result<(), Error> {
        if instruction.opcode == "istypep" {
            let kind = words.one_of(&["texref", "samplerref", "surfref"]);
            let kind = self.needed(instruction, kind)?;
            self.count(instruction, &[2])?;
            let Written::Name(name) = &instruction.operands[0] else { return self.refuse(instruction) };
            let d = self.predicate_target(name)?;
            let a = self.source(&instruction.operands[1], Type::U64)?;
            let draft = Draft { d, a, imm: kind as i64, ..self.draft(is_type) };
            self.push(draft);
            return Ok(());
        }
        let surface = instruction.opcode == "suq";
        let level = words.take("level");
        if words.one_of(&["filter_mode", "addr_mode_0", "addr_mode_1", "addr_mode_2"]).is_some() {
            let message = "the manual does not tell the number of a mode, so the query is not supported";
            return Err(self.unsupported(&spelled(instruction), message));
        }
        let attribute = words.one_of(&ATTRIBUTES);
        let attribute = self.needed(instruction, attribute)?;
        // The attributes that only textures have, only surfaces have, and each level has.
        let exists = match attribute {
            0..=2 => !(level && surface),
            6 | 7 | 9 | 10 => !surface && !level,
            8 => surface && !level,
            _ => !level,
        };
        if !exists || !words.take("b32") {
            return Err(self.wrong(&spelled(instruction), "the query does not exist"));
        }
        self.count(instruction, if level { &[3] } else { &[2] })?;
        let d = self.target(&instruction.operands[0], Type::B32)?;
        let Written::Address { base, offset: 0 } = &instruction.operands[1] else {
            return Err(self.wrong(&spelled(instruction), "a texture or surface in brackets is expected"));
        };
        let a = self.handle(*base, if surface { Object::Surface } else { Object::TextureOrSampler })?;
        let b = match instruction.operands.get(2) {
            Some(level) => self.source(level, Type::B32)?,
            None => Operand::Nothing,
        };
        let c = Operand::Number(u32::from(surface));
        let draft = Draft { d, a, b, c, imm: attribute as i64, ..self.draft(query) };
        self.push(draft);
        Ok(())
    }
}
