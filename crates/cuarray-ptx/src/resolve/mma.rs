//! `mma`: matrix products of a warp.
//!
//! PTX manual:
//! [mma](https://docs.nvidia.com/cuda/parallel-thread-execution/#warp-level-matrix-instructions-mma). The forms for
//! `sm_120a` (`.kind::f8f6f4`, `.block_scale`) are not supported.

use super::builder::Builder;
use super::draft::{Draft, Operand};
use super::operand::{Modifiers, spelled};
use crate::Error;
use crate::grammar::ast::{Instruction, Operand as Written};
use crate::grammar::types::Type;
use crate::machine::matrix::Sum;
use crate::machine::matrix::element::Element;
use crate::machine::matrix::product::{Form, bits, double, floating, integer};
use crate::machine::matrix::{quad, sparse};
use crate::machine::program::Exec;

/// The first target and version that has a feature.
type Needs = (String, u32, (u32, u32));

/// Reads a shape such as `m16n8k16`.
pub(super) fn shape(word: &str) -> Option<[u32; 3]> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

/// The type of the registers with accumulators.
pub(super) fn register_type(format: Sum) -> Type {
    match format {
        Sum::F16 => Type::B32,
        Sum::F32 => Type::F32,
        Sum::F64 => Type::F64,
        Sum::S32 => Type::S32,
    }
}

/// The needs of a product, or nothing if the manual has no such product.
fn needs(name: &str, [m, n, k]: [u32; 3], [a, b]: [Element; 2], [c, d]: [Sum; 2]) -> Option<Needs> {
    use Element::{B1, BF16, E4M3, E5M2, F16, F64, S4, S8, TF32, U4, U8};
    let shape = format!(".{name}");
    if n != 8 {
        return None;
    }
    let integers = (c, d) == (Sum::S32, Sum::S32);
    let singles = (c, d) == (Sum::F32, Sum::F32);
    Some(match (a, b, m, k) {
        (F16, F16, 16, 8) if c == d && matches!(c, Sum::F16 | Sum::F32) => (shape, 75, (6, 5)),
        (F16, F16, 16, 16) if c == d && matches!(c, Sum::F16 | Sum::F32) => (shape, 80, (7, 0)),
        (BF16, BF16, 16, 8 | 16) if singles => (".bf16".to_owned(), 80, (7, 0)),
        (TF32, TF32, 16, 4 | 8) if singles => (".tf32".to_owned(), 80, (7, 0)),
        (E4M3 | E5M2, E4M3 | E5M2, 16, 16) if c == d && matches!(c, Sum::F16 | Sum::F32) => {
            (format!("mma with FP8 floating point type and {shape} shape"), 89, (8, 7))
        }
        (E4M3 | E5M2, E4M3 | E5M2, 16, 32) if singles => ("mma with FP8 floating point type".to_owned(), 89, (8, 4)),
        (E4M3 | E5M2, E4M3 | E5M2, 16, 32) if (c, d) == (Sum::F16, Sum::F16) => {
            ("mma with FP8 floating point type and FP16 accumulation".to_owned(), 89, (8, 7))
        }
        (F64, F64, 8, 4) if (c, d) == (Sum::F64, Sum::F64) => (format!("{shape} with double types"), 80, (7, 0)),
        (F64, F64, 16, 4 | 8 | 16) if (c, d) == (Sum::F64, Sum::F64) => {
            (format!("{shape} with double types"), 90, (7, 8))
        }
        (S8 | U8, S8 | U8, 8, 16) | (S4 | U4, S4 | U4, 8, 32) if integers => (shape, 75, (6, 5)),
        (S8 | U8, S8 | U8, 16, 16 | 32) | (S4 | U4, S4 | U4, 16, 32 | 64) if integers => (shape, 80, (7, 0)),
        (B1, B1, 8, 128) if integers => (shape, 75, (7, 0)),
        (B1, B1, 16, 128 | 256) if integers => (shape, 80, (7, 0)),
        _ => return None,
    })
}

/// As [`needs`], for a sparse matrix `A`.
fn sparse_needs([m, n, k]: [u32; 3], [a, b]: [Element; 2], [c, d]: [Sum; 2]) -> Option<Needs> {
    use Element::{BF16, E4M3, E5M2, F16, S4, S8, TF32, U4, U8};
    let needs = |target, version| Some(("Sparse MMA".to_owned(), target, version));
    match (a, b, c, d, k) {
        _ if (m, n) != (16, 8) || c != d => None,
        (F16, F16, Sum::F16 | Sum::F32, _, 16 | 32) => needs(80, (7, 1)),
        (BF16, BF16, Sum::F32, _, 16 | 32) | (TF32, TF32, Sum::F32, _, 8 | 16) => needs(80, (7, 1)),
        (E4M3 | E5M2, E4M3 | E5M2, Sum::F32, _, 64) => needs(89, (8, 4)),
        (S8 | U8, S8 | U8, Sum::S32, _, 32 | 64) | (S4 | U4, S4 | U4, Sum::S32, _, 64 | 128) => needs(80, (7, 1)),
        _ => None,
    }
}

/// The function for elements of a format.
pub(super) fn product_function(element: Element) -> Exec {
    match element {
        Element::F64 => double(),
        Element::B1 => bits(),
        _ if element.is_integer() => integer(),
        _ => floating(),
    }
}

impl<'a> Builder<'_, 'a> {
    /// Takes the next word as a part of the instruction.
    pub(super) fn next_as<T>(
        &self,
        instruction: &Instruction<'_>,
        words: &mut Modifiers<'a>,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Error> {
        let found = words.next().and_then(read);
        found.ok_or_else(|| self.form(instruction, "the shape or the types of the instruction are not supported"))
    }

    pub(super) fn mma(&mut self, instruction: &'a Instruction<'a>, words: &mut Modifiers<'a>) -> Result<(), Error> {
        self.sync_aligned(instruction, words)?;
        if words.rest().iter().any(|word| word.starts_with("kind::") || *word == "block_scale") {
            return self.refuse(instruction);
        }
        let sparse = words.one_of(&["sp", "sp::ordered_metadata"]);
        let saturates = words.take("satfinite");
        let rounding = words.one_of(&["rn", "rz", "rm", "rp"]);
        let counts_bits = words.take("popc");
        let combination = words.one_of(&["xor", "and"]);
        let name = words.next().unwrap_or_default();
        let Some(size) = shape(name) else { return self.refuse(instruction) };
        let layout = |word: &str| ["row", "col"].iter().position(|known| *known == word);
        let layouts = [self.next_as(instruction, words, layout)?, self.next_as(instruction, words, layout)?];
        let d = self.next_as(instruction, words, Sum::named)?;
        let a = self.next_as(instruction, words, Element::named)?;
        let b = self.next_as(instruction, words, Element::named)?;
        let c = self.next_as(instruction, words, Sum::named)?;
        self.count(instruction, &[if sparse.is_some() { 6 } else { 4 }])?;
        if sparse.is_none() && size == [8, 8, 4] && (a, b) == (Element::F16, Element::F16) {
            return self.quads(instruction, layouts, [c, d]);
        }
        let wrong = |message: &str| Err(self.wrong(&spelled(instruction), message));
        if layouts != [0, 1] {
            return wrong("mma of this shape needs the layouts .row.col");
        }
        let fits = (!saturates || a.is_integer())
            && (rounding.is_none() || a == Element::F64)
            && (counts_bits, combination.is_some()) == (a == Element::B1, a == Element::B1);
        let needs =
            if sparse.is_some() { sparse_needs(size, [a, b], [c, d]) } else { needs(name, size, [a, b], [c, d]) };
        let Some((feature, target, version)) = needs.filter(|_| fits) else {
            return wrong("Unexpected instruction types specified for 'mma'");
        };
        self.requires(instruction, &feature, target, version)?;
        let conjunction = combination == Some(1);
        if conjunction {
            self.requires(instruction, ".and on mma", 80, (7, 1))?;
        }
        let [rows, _, depth] = size;
        // A register of 32 bits holds neighbouring elements; one of 64 bits holds one.
        let each = if a == Element::F64 { 1 } else { 32 / a.bits() };
        let slabs = depth / (4 * each);
        let rounding = rounding.unwrap_or(0) as u32;
        let form = Form { a, b, c, d, rows, slabs, saturates, conjunction, rounding };
        if let Some(ordered) = sparse {
            if ordered == 1 {
                self.requires(instruction, ".sp::ordered_metadata", 80, (8, 5))?;
            }
            return self.sparse(instruction, form);
        }
        let ty = if a == Element::F64 { Type::F64 } else { Type::B32 };
        let counts = [form.sums(d), (slabs * rows / 8) as usize, slabs as usize, form.sums(c)];
        self.product(
            instruction,
            [register_type(d), ty, ty, register_type(c)],
            counts,
            product_function(a),
            form.code(),
            &[],
        )
    }

    /// `mma.sp`: the metadata and the selector of the lanes that have it follow the matrices.
    fn sparse(&mut self, instruction: &'a Instruction<'a>, form: Form) -> Result<(), Error> {
        let operands = &instruction.operands;
        // Half as many lanes have the metadata of a matrix with twice the columns, or of elements half as wide.
        let most = (if form.a.bits() >= 16 { 4 } else { 2 }) / (form.slabs / 2) - 1;
        let selector = match operands[5] {
            Written::Integer(selector) if selector <= most.into() => selector as u32,
            _ => {
                let message = format!("Argument 6 of instruction 'Sparse mma' is expected to be in range [0..{most}]");
                return Err(self.wrong(&spelled(instruction), &message));
            }
        };
        let metadata = self.source(&operands[4], Type::B32)?;
        let types = [register_type(form.d), Type::B32, Type::B32, register_type(form.c)];
        let slabs = form.slabs as usize;
        let counts = [form.sums(form.d), slabs, slabs, form.sums(form.c)];
        let exec = if form.a.is_integer() { sparse::integer() } else { sparse::floating() };
        let further = [metadata, Operand::Number(selector)];
        self.product(instruction, types, counts, exec, form.code(), &further)
    }

    /// Adds a product with the operands `D`, `A`, `B` and `C`.
    fn product(
        &mut self,
        instruction: &'a Instruction<'a>,
        types: [Type; 4],
        counts: [usize; 4],
        exec: Exec,
        imm: i64,
        further: &[Operand],
    ) -> Result<(), Error> {
        let operands = &instruction.operands;
        let mut extra: Vec<Operand> = Vec::new();
        for index in [0, 3, 1, 2] {
            let operand = (index, &operands[index]);
            extra.extend(self.fragment(instruction, operand, types[index], counts[index], index == 0)?);
        }
        extra.push(self.all_lanes());
        extra.extend(further);
        let draft = Draft { extra, written: counts[0], imm, ..self.draft(exec) };
        self.push(draft);
        Ok(())
    }

    /// `mma.m8n8k4` of `f16`.
    fn quads(&mut self, instruction: &'a Instruction<'a>, layouts: [usize; 2], [c, d]: [Sum; 2]) -> Result<(), Error> {
        self.requires(instruction, ".m8n8k4", 70, (6, 4))?;
        if !matches!((c, d), (Sum::F16, Sum::F16 | Sum::F32) | (Sum::F32, Sum::F32)) {
            let message = ".dtype must be '.f32' when .ctype is '.f32' for 'mma' instruction with shape '.m8n8k4'";
            return Err(self.wrong(&spelled(instruction), message));
        }
        let flag = |holds: bool, bit: i64| if holds { bit } else { 0 };
        let code = flag(layouts[0] == 1, quad::A_BY_COLUMNS)
            | flag(layouts[1] == 0, quad::B_BY_ROWS)
            | flag(c == Sum::F32, quad::C_SINGLE)
            | flag(d == Sum::F32, quad::D_SINGLE);
        let count = |format: Sum| if format == Sum::F32 { 8 } else { 4 };
        let types = [register_type(d), Type::B32, Type::B32, register_type(c)];
        self.product(instruction, types, [count(d), 2, 2, count(c)], quad::quads, code, &[])
    }
}
