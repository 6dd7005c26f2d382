//! The names of shared arrays in the source of a kernel of numba-cuda, which numbers them.

use crate::objects::launch::Launch;
use cuarray_races::report::kernel_name;
use std::fs;

/// The start of the names that numba-cuda makes.
const NUMBERED: &str = "_cudapy_smem_";

/// The name of a shared variable in the source: `box` of `box = cuda.shared.array(1, int32)`.
///
/// The arrays of a kernel are numbered in the order of its source. Nothing is known if their number differs from that of the source, or
/// if the source is not there.
pub(super) fn name_of(launch: &Launch, symbol: &str) -> Option<String> {
    let number = |symbol: &str| symbol.strip_prefix(NUMBERED)?.parse::<u64>().ok();
    let own = number(symbol)?;
    let program = &launch.program;
    let mut used: Vec<u64> = program.shared_names(launch.kernel).filter_map(number).collect();
    used.sort_unstable();
    let (file, line) = program.first_line(launch.kernel)?;
    let name = kernel_name(&program.functions()[launch.kernel as usize].name);
    let text = fs::read_to_string(program.file(file)?).ok()?;
    let names = arrays_in(&text, line as usize, name.rsplit("::").next()?)?;
    let index = used.iter().position(|number| *number == own)?;
    (names.len() == used.len()).then(|| names.into_iter().nth(index)).flatten()
}

/// The variables to which a function of Python assigns shared arrays. `line` is a line of its body, counted from 1.
fn arrays_in(text: &str, line: usize, function: &str) -> Option<Vec<String>> {
    let lines: Vec<&str> = text.lines().collect();
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let is_start = |line: &&str| {
        let rest = line.trim_start().strip_prefix("def ").and_then(|rest| rest.trim_start().strip_prefix(function));
        rest.is_some_and(|rest| rest.trim_start().starts_with('('))
    };
    let start = lines.get(..line.min(lines.len()))?.iter().rposition(is_start)?;
    let outer = indentation(lines[start]);
    let body = lines[start + 1..].iter().take_while(|line| line.trim().is_empty() || indentation(line) > outer);
    let of_line = |line: &&str| {
        let (name, value) = line.split_once('=')?;
        let name = name.trim();
        let is_name = !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || character == '_');
        let (call, _) = value.trim_start().split_once('(')?;
        (is_name && call.trim_end().ends_with("shared.array")).then(|| name.to_owned())
    };
    Some(body.filter_map(of_line).collect())
}

#[cfg(test)]
mod tests {
    use super::arrays_in;

    #[test]
    fn arrays_are_those_of_the_function_around_a_line() {
        let text = "@cuda.jit\ndef other(a):\n    x = cuda.shared.array(1, int32)\n\n@cuda.jit(lineinfo=True)\ndef tally(votes, out):\n    \
            # box = cuda.shared.array(1, int32)\n    box = cuda.shared.array(1, int32)\n\n    tile = shared.array(shape=(4, 4), dtype=float32)\n    \
            box[0] = cuda.shared.array\n    t = cuda.threadIdx.x\nv = cuda.shared.array(1, int32)\n";
        assert_eq!(arrays_in(text, 12, "tally"), Some(vec!["box".into(), "tile".into()]));
        assert_eq!(arrays_in(text, 3, "other"), Some(vec!["x".into()]));
        assert_eq!(arrays_in(text, 3, "tally"), None);
        assert_eq!(arrays_in(text, 100, "tall"), None);
    }
}
