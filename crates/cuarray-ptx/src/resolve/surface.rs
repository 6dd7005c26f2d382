//! Surface instructions: `suld`, `sust` and `sured`.
//!
//! PTX manual: [surface instructions](https://docs.nvidia.com/cuda/parallel-thread-execution/#surface-instructions).

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::{Modifiers, spelled};
use super::texture::Object;
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::{Type, Width};
use crate::machine::surface::{COORDINATES, Form, LAYER, OPERANDS, OPERATIONS, load, reduce, store};
use crate::texture::Geometry;
use crate::texture::surface::Outside;

impl<'a> Builder<'_, 'a> {
    /// `suld`, `sust` and `sured`.
    pub(super) fn surface(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        let opcode = instruction.opcode;
        let (loads, reduces) = (opcode == "suld", opcode == "sured");
        let samples = match words.one_of(&["b", "p"]) {
            Some(index) if index == 0 || !loads => index == 1,
            _ => return Err(self.wrong(&spelled(instruction), "the addressing of the surface is missing")),
        };
        let operation = if reduces { words.one_of(&OPERATIONS) } else { Some(0) };
        let operation = self.needed(instruction, operation)?;
        let layers = [Geometry::OneDLayered, Geometry::TwoDLayered];
        let plain = [Geometry::OneD, Geometry::TwoD, Geometry::ThreeD];
        let allowed = if samples || reduces { plain.to_vec() } else { [&plain[..], &layers[..]].concat() };
        let geometry = self.geometry(instruction, words, &allowed)?;
        for hint in ["ca", "cg", "cs", "cv", "wb", "wt"] {
            words.take(hint);
        }
        let count = words.one_of(&["v2", "v4"]).map_or(1, |index| 2_usize << index);
        let ty = words.ty();
        let ty = self.needed(instruction, ty)?;
        let outside = words.one_of(&["trap", "clamp", "zero"]).map_or(Outside::Trap, |index| Outside::ALL[index]);
        self.check_surface_type(instruction, samples, operation, (ty, count))?;
        self.count(instruction, &[2])?;
        let (value, place) = match loads {
            true => (&instruction.operands[0], &instruction.operands[1]),
            false => (&instruction.operands[1], &instruction.operands[0]),
        };
        let Written::Coordinates { base, rest } = place else {
            return Err(self.wrong(&spelled(instruction), "the coordinates are missing"));
        };
        let [coordinates] = rest.as_slice() else {
            return Err(self.wrong(&spelled(instruction), "one vector of coordinates is expected"));
        };
        let elements = self.elements(value)?;
        if elements.len() != count {
            let message = format!("{} elements are given, {count} are expected", elements.len());
            return Err(self.wrong(&spelled(instruction), &message));
        }
        let mut extra = vec![Operand::Nothing; OPERANDS];
        let mut width = None;
        for (place, element) in extra.iter_mut().zip(&elements) {
            if loads && *element == Written::Nothing {
                continue;
            }
            let (register, declared) =
                if loads { self.wide_target(element, ty)? } else { self.wide_source(element, ty)? };
            if width.is_some_and(|width| width != declared.width()) {
                return Err(self.wrong(opcode, "the registers of the vector differ in width"));
            }
            (*place, width) = (register, Some(declared.width()));
        }
        let a = self.handle(*base, Object::Surface)?;
        let all = self.coordinates(instruction, coordinates, geometry, Type::S32)?;
        extra[LAYER] = all[0];
        extra[COORDINATES..COORDINATES + 3].copy_from_slice(&all[1..]);
        let form = Form {
            geometry,
            outside,
            bytes: ty.size() as u32,
            count: count as u32,
            samples,
            wide: width == Some(Width::W64),
            operation: operation as u32,
            signed: ty.is_signed(),
        };
        let exec = match (loads, reduces) {
            (true, _) => load,
            (_, true) => reduce,
            _ => store,
        };
        let written = if loads { count } else { 0 };
        let c = Operand::Number(form.code());
        let draft = Draft { a, c, extra, written, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// Checks the type of a surface instruction by the tables of the manual.
    fn check_surface_type(
        &self,
        instruction: &Instruction<'a>,
        samples: bool,
        operation: usize,
        (ty, count): (Type, usize),
    ) -> Result<(), Error> {
        use Type::{B8, B16, B32, B64, S32, S64, U32, U64};
        let fits = match (instruction.opcode, samples) {
            ("sured", false) => match OPERATIONS[operation] {
                "add" => matches!(ty, U32 | U64 | S32),
                "min" | "max" => matches!(ty, U32 | S32 | U64 | S64),
                _ => ty == B32,
            },
            // The manual's own examples have .u32 too.
            ("sured", true) => matches!(ty, B32 | U32 | S32) || ty == B64 && matches!(operation, 1 | 2),
            ("sust", true) => ty == B32,
            _ => matches!(ty, B8 | B16 | B32 | B64) && ty.size() * count as u64 <= 16,
        };
        if fits && (instruction.opcode != "sured" || count == 1) {
            return Ok(());
        }
        Err(self.wrong(&spelled(instruction), "the instruction does not have this type"))
    }
}
