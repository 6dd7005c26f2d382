//! The arguments of a kernel as its source has them: number, name and type.
//!
//! The PTX has parameters. A kernel of CUDA C++ has one for each argument. numba-cuda makes several of an array: five, and two for each
//! dimension. The mangled symbol of the kernel has the types. The names are those of the definition in the source, if the PTX has lines
//! and the file is there.

use crate::objects::launch::Launch;
use cpp_demangle::{DemangleOptions, Symbol};
use cuarray_ptx::Program;
use cuarray_races::report::kernel_name;
use std::fs;
use std::ops::Range;

/// The parameters that numba-cuda makes of an array without dimensions.
const OF_ARRAY: usize = 5;

/// The argument that a parameter of the PTX belongs to: "argument 2 (`output`, `float*`)".
pub(super) fn argument(program: &Program, kernel: u32, parameter: usize) -> String {
    let function = &program.functions()[kernel as usize];
    let parameters = function.parameters.len();
    let types = types_of(&function.name);
    let (index, of_type) = match place(&types, parameters, parameter) {
        Some(index) => (index, Some(types[index].clone())),
        None => (parameter, None),
    };
    let arguments = if of_type.is_some() { types.len() } else { parameters };
    let name = names_of(program, kernel).filter(|names| names.len() == arguments).map(|names| names[index].clone());
    let known: Vec<String> = [name, of_type].into_iter().flatten().map(|text| format!("`{text}`")).collect();
    match (known.is_empty(), parameters == arguments) {
        (true, true) => format!("argument {}", index + 1),
        (true, false) => format!("parameter {} of the PTX", parameter + 1),
        (false, _) => format!("argument {} ({})", index + 1, known.join(", ")),
    }
}

/// The arguments that point to memory, or to its end, as the rest of a sentence; nothing if none does.
pub(super) fn pointing_to(launch: &Launch, memory: Range<u64>) -> String {
    match pointing(launch, memory) {
        None => String::new(),
        Some(names) if names.contains(" and ") => format!(", to which {names} point"),
        Some(name) => format!(", to which {name} points"),
    }
}

/// The arguments that point to memory, or to its end.
pub(super) fn pointing(launch: &Launch, memory: Range<u64>) -> Option<String> {
    let points = |offset: u32| {
        launch
            .parameters
            .get(offset as usize / 8)
            .is_some_and(|value| offset.is_multiple_of(8) && (memory.start..=memory.end).contains(value))
    };
    let parameters = launch.program.functions()[launch.kernel as usize].parameters.iter().enumerate();
    let pointing = parameters.filter(|(_, parameter)| parameter.size == 8 && points(parameter.offset));
    let names: Vec<String> = pointing.map(|(index, _)| argument(&launch.program, launch.kernel, index)).collect();
    (!names.is_empty()).then(|| names.join(" and "))
}

/// The types of the arguments, from the mangled symbol of a kernel.
fn types_of(symbol: &str) -> Vec<String> {
    let parsed = Symbol::new(symbol).ok();
    let text = parsed.and_then(|parsed| parsed.demangle_with_options(&DemangleOptions::default()).ok());
    let inside = text.as_deref().and_then(|text| last_parentheses(text.strip_suffix(')')?));
    inside.map(parts).unwrap_or_default()
}

/// The text behind the parenthesis that is still open at the end.
fn last_parentheses(text: &str) -> Option<&str> {
    let mut closed = 0;
    let open = text.char_indices().rev().find(|(_, character)| {
        match character {
            ')' => closed += 1,
            '(' if closed == 0 => return true,
            '(' => closed -= 1,
            _ => {}
        }
        false
    });
    open.map(|(at, _)| &text[at + 1..])
}

/// The parts of a list, at the commas outside of all brackets.
fn parts(list: &str) -> Vec<String> {
    let mut depth = 0;
    let parts = list.split(|character| {
        match character {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        character == ',' && depth == 0
    });
    parts.map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The index of the argument that a parameter belongs to; `None` if the types do not explain the number of parameters.
fn place(types: &[String], parameters: usize, parameter: usize) -> Option<usize> {
    if types.len() == parameters {
        return Some(parameter);
    }
    let counts: Option<Vec<usize>> = types.iter().map(|of_type| flattened(of_type)).collect();
    let counts = counts.filter(|counts| counts.iter().sum::<usize>() == parameters)?;
    let mut end = 0;
    counts.iter().position(|count| {
        end += count;
        parameter < end
    })
}

/// The number of parameters that numba-cuda makes of an argument.
fn flattened(of_type: &str) -> Option<usize> {
    let arguments = |name: &str| of_type.strip_prefix(name)?.strip_suffix('>').map(parts);
    if let Some(array) = arguments("Array<") {
        return Some(OF_ARRAY + 2 * array.get(1)?.parse::<usize>().ok()?);
    }
    if let Some(tuple) = arguments("UniTuple<") {
        return Some(flattened(tuple.first()?)? * tuple.get(1)?.parse::<usize>().ok()?);
    }
    match arguments("Tuple<") {
        Some(tuple) => tuple.iter().map(|part| flattened(part)).sum(),
        None => Some(1),
    }
}

/// The names of the arguments in the definition of a kernel, which stands above its first line.
fn names_of(program: &Program, kernel: u32) -> Option<Vec<String>> {
    let function = &program.functions()[kernel as usize];
    let (file, line) = program.first_line(kernel)?;
    let name = kernel_name(&function.name);
    let file = program.file(file)?;
    let text = fs::read_to_string(file).ok().or_else(|| program.whole_text(file))?;
    names_in(&text, line as usize, name.rsplit("::").next()?)
}

fn names_in(text: &str, line: usize, name: &str) -> Option<Vec<String>> {
    let end = text.split_inclusive('\n').take(line).map(str::len).sum();
    let is_name = |at: &usize| {
        let before = text[..*at].chars().next_back().is_none_or(|before| !before.is_alphanumeric() && before != '_');
        before && text[at + name.len()..].trim_start().starts_with('(')
    };
    let at = text[..end].match_indices(name).map(|(at, _)| at).filter(is_name).last()?;
    let list = text[at + name.len()..].trim_start().strip_prefix('(')?;
    let mut depth = 1;
    let close = list.find(|character| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        depth == 0
    })?;
    let of = |part: String| {
        // The colon of Python's annotations, and none of a C++ name.
        let part = part.replace("::", "__");
        let end = part.find([':', '=', '[']).unwrap_or(part.len());
        let words = part[..end].trim_end_matches(|character: char| character == ')' || character.is_whitespace());
        let start =
            words.rfind(|character: char| !character.is_alphanumeric() && character != '_').map_or(0, |at| at + 1);
        words[start..].to_owned()
    };
    let is_separator = |part: &String| ["*", "/"].contains(&part.as_str());
    let names: Vec<String> = parts(&list[..close]).into_iter().filter(|part| !is_separator(part)).map(of).collect();
    names.iter().all(|name| !name.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_belong_to_arguments_of_the_source() {
        for (symbol, parameters, parameter, expected) in [
            ("_Z4copyPKfPfi", 3, 1, Some((1, "float*"))),
            ("_Z4axpyIfEvT_PKS0_PS0_m", 4, 1, Some((1, "float const*"))),
            (
                "_ZN8__main__6fillitB2v1E5ArrayIxLi1E1C7mutable7alignedEx",
                8,
                4,
                Some((0, "Array<long long, 1, C, mutable, aligned>")),
            ),
            ("_ZN8__main__6fillitB2v1E5ArrayIxLi1E1C7mutable7alignedEx", 8, 7, Some((1, "long long"))),
            ("_ZN8__main__6fillitB2v1E5ArrayIxLi1E1C7mutable7alignedEx", 9, 7, None),
            ("fill", 2, 1, None),
        ] {
            let types = types_of(symbol);
            let found = place(&types, parameters, parameter).map(|index| (index, types[index].as_str()));
            assert_eq!(found, expected, "{symbol} {types:?}");
        }
        assert_eq!(flattened("UniTuple<Array<float, 2, C, mutable, aligned>, 3>"), Some(27));
        assert_eq!(flattened("Tuple<long long, Array<float, 1, C, mutable, aligned>>"), Some(8));
    }

    #[test]
    fn names_are_those_of_the_definition_above_a_line() {
        let cpp = "// copy(a, b)\ntemplate <class T>\n__global__ void copy(const T *input, T (&table)[4], std::size_t n = 3)\n{\n  output[0] = 1;\n}\n";
        assert_eq!(names_in(cpp, 5, "copy"), Some(vec!["input".into(), "table".into(), "n".into()]));
        let python = "@cuda.jit\ndef fill(pairs, n: int, *, more=(1, 2)):\n    i = cuda.grid(1)\n";
        assert_eq!(
            names_in(python, 3, "fill").map(|names| names[..2].to_vec()),
            Some(vec!["pairs".into(), "n".into()])
        );
        assert_eq!(names_in(python, 1, "fill"), None);
        assert_eq!(names_in(python, 3, "fil"), None);
    }
}
