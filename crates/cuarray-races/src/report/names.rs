//! The names of streams in the program: the variables of the lines that make them.

use super::source::Sources;
use super::words;
use crate::finding::Report;
use std::collections::HashMap;

impl Report {
    /// Names each stream after its variable: `uploads` of `uploads = cuda.stream()`.
    ///
    /// A line that makes several streams has as many names, separated by commas, or it names none of them.
    pub(super) fn name_streams(&mut self, sources: &mut Sources) {
        let mut made: HashMap<(String, u32), Vec<usize>> = HashMap::new();
        let mut order: Vec<usize> = (0..self.lanes.len()).collect();
        // Lanes and their names are in the order of the first operations. Handles grow, as none is used again.
        order.sort_by_key(|index| self.lanes[*index].handle);
        for index in order {
            if let Some((file, line)) = self.lanes[index].made.as_deref().and_then(words::line) {
                made.entry((file.to_owned(), line)).or_default().push(index);
            }
        }
        for ((file, line), lanes) in made {
            let text = sources.excerpt(&file, line, 0).and_then(|excerpt| excerpt.lines.into_iter().next());
            let names = text.map(|text| assigned(&text)).unwrap_or_default();
            if names.len() == lanes.len() {
                for (index, name) in lanes.into_iter().zip(names) {
                    self.lanes[index].variable = Some(name);
                }
            }
        }
    }
}

/// The variables that a line assigns streams to.
fn assigned(line: &str) -> Vec<String> {
    // The runtime and the driver of CUDA write the stream through their first argument.
    if let Some((_, arguments)) = line.split_once("StreamCreate").and_then(|(_, call)| call.split_once("(&")) {
        let name = arguments.split(|character: char| !character.is_alphanumeric() && character != '_').next();
        return name.filter(|name| !name.is_empty()).map(str::to_owned).into_iter().collect();
    }
    let Some((targets, value)) = line.split_once('=') else { return Vec::new() };
    // `with stream as name` and `auto name = …` have other forms than a call of something with streams.
    let calls = value.trim_start().split(|character: char| !character.is_alphanumeric() && !".()_".contains(character));
    let makes = calls.into_iter().any(|part| part.contains('(') && part.to_lowercase().contains("stream"));
    let is_one = !value.contains(" for ") && !value.starts_with('=') && !targets.contains(['(', '"', '\'']);
    if !makes || !is_one {
        return Vec::new();
    }
    let is_name = |name: &&str| {
        !name.is_empty() && name.chars().all(|character| character.is_alphanumeric() || "_.[]".contains(character))
    };
    // The type of C++, and Python's annotation.
    let bare = |target: &str| {
        let target = target.split(':').next().unwrap_or(target).trim();
        target.rsplit([' ', '*', '&']).next().unwrap_or(target).to_owned()
    };
    let mut names: Vec<String> = targets.split(',').map(bare).collect();
    // `side, host = Stream(), empty(4)`: the value beside a name tells whether the name is that of a stream.
    let values = parts(value);
    if names.len() > 1 && values.len() == names.len() {
        let makes = |value: &str| value.contains('(') && value.to_lowercase().contains("stream");
        names = names.into_iter().zip(values).filter(|(_, value)| makes(value)).map(|(name, _)| name).collect();
    }
    if names.iter().map(String::as_str).all(|name| is_name(&name)) { names } else { Vec::new() }
}

/// The parts of a text between commas that are not in parentheses or brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_u32;
    text.split(|character| {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::site::{Frame, Site};
    use std::sync::Arc;

    #[test]
    fn streams_are_named_by_the_assignment_of_their_line() {
        for (line, expected) in [
            ("uploads = cuda.stream()", &["uploads"][..]),
            ("    self.copies = cupy.cuda.Stream(non_blocking=True)  # copies", &["self.copies"]),
            ("one, two = cuda.stream(), cuda.stream()", &["one", "two"]),
            ("side: Stream = torch.cuda.Stream()", &["side"]),
            ("side, host = torch.cuda.Stream(), torch.empty(1000, pin_memory=True)", &["side"]),
            ("streams = [cuda.stream() for _ in range(2)]", &[]),
            ("if stream == make_stream():", &[]),
            ("use(stream=cuda.stream())", &[]),
            ("x = fill(4)", &[]),
            ("auto side = make_stream(device);", &["side"]),
            ("cudaStreamCreate(&side);", &["side"]),
            ("    check(cudaStreamCreateWithFlags(&uploads, cudaStreamNonBlocking));", &["uploads"]),
            ("cudaStreamCreate(streams + i);", &[]),
        ] {
            assert_eq!(assigned(line), expected, "{line}");
        }
    }

    #[test]
    fn report_has_the_names_of_streams_that_one_line_makes() {
        let path = std::env::temp_dir().join(format!("cuarray-sim-names-{}.py", std::process::id()));
        std::fs::write(&path, "one, two = stream(), stream()\n").unwrap();
        let mut report = sample::report("a.py");
        let user = Some(Frame { file: path.to_str().unwrap().into(), line: 1, function: "f".into() });
        for lane in &mut report.lanes {
            lane.made =
                lane.name.starts_with("stream").then(|| Arc::new(Site { user: user.clone(), ..Site::default() }));
        }
        report.identify();
        std::fs::remove_file(&path).unwrap();
        let text = report.text(false);
        assert!(text.contains("  stream 1: `one`, made at ") && text.contains("  stream 2: `two`, made at "), "{text}");
        assert!(report.html().contains(", `two`, made at <code>"));
    }
}
