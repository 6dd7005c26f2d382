//! Findings as annotations of lines of source: SARIF 2.1.0 for code hosts, and the commands of GitHub's workflows.

use super::words;
use crate::finding::{Finding, Kind, Report, Side};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

impl Report {
    /// The findings as a SARIF log (version 2.1.0), with one rule for each kind and the lines of both sides. Files below `root` are named
    /// from there, so that a code host finds them in the repository.
    ///
    /// ```
    /// let empty = cuarray_races::finding::Report::default().sarif("/home/me".as_ref());
    /// assert!(empty.contains(r#""version":"2.1.0""#) && empty.contains(r#""results":[]"#));
    /// ```
    pub fn sarif(&self, root: &Path) -> String {
        let rule = |kind: &Kind| json!({"id": kind.name(), "shortDescription": {"text": kind.meaning()}});
        let rules: Vec<Value> = Kind::ALL.iter().map(rule).collect();
        let results: Vec<Value> = self.findings.iter().map(|finding| self.result(finding, root)).collect();
        let driver = json!({"name": "cuarray-sim", "rules": rules});
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{"tool": {"driver": driver}, "results": results}],
        })
        .to_string()
    }

    fn result(&self, finding: &Finding, root: &Path) -> Value {
        let mut locations: Vec<Value> = lines(finding)
            .map(|(side, file, line)| {
                json!({
                    "physicalLocation": {"artifactLocation": artifact(file, root), "region": {"startLine": line}},
                    "message": {"text": format!("{} {}", words::call(side), words::action(side, finding))},
                })
            })
            .collect();
        let related = locations.split_off(locations.len().min(1));
        json!({
            "ruleId": finding.kind.name(),
            "level": "error",
            "message": {"text": self.message(finding)},
            "locations": locations,
            "relatedLocations": related,
            "partialFingerprints": {"finding/v1": finding.fingerprint},
        })
    }

    fn message(&self, finding: &Finding) -> String {
        let missing = finding
            .missing
            .as_ref()
            .map(|missing| format!("; missing: {}", missing.replace('\n', "; or: ")))
            .unwrap_or_default();
        let mut message = format!("{}{missing}", words::headline(finding, &self.lanes));
        for (name, made) in words::made_streams(finding, &self.lanes) {
            let _ = write!(message, "; {name}: {made}");
        }
        message
    }

    /// The findings as commands of a workflow, a line for each: GitHub shows them beside the lines of source. Files below `root` are named
    /// from there.
    ///
    /// ```
    /// assert_eq!(cuarray_races::finding::Report::default().workflow_commands("/home/me".as_ref()), "");
    /// ```
    pub fn workflow_commands(&self, root: &Path) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let place = lines(finding).next().map_or_else(String::new, |(_, file, line)| {
                format!("file={},line={line},", escaped(below(file, root), &[':', ',']))
            });
            let message = escaped(&self.message(finding), &[]);
            let _ = writeln!(text, "::error {place}title=cuarray-sim {}::{message}", finding.kind.name());
        }
        text
    }
}

/// The lines of a finding with their sides, the most telling first: the later call before the earlier one, and the line of a kernel
/// before that of its launch.
fn lines(finding: &Finding) -> impl Iterator<Item = (&Side, &str, u32)> {
    finding.sides.iter().rev().flat_map(|side| {
        let kernel = side.place.as_ref().and_then(|place| place.lines().0);
        let kernel = kernel.map(|source| (source.file.as_str(), source.line));
        [kernel, words::line(&side.site)].into_iter().flatten().map(move |(file, line)| (side, file, line.max(1)))
    })
}

/// The path of a file from the root, if it is below that.
fn below<'a>(file: &'a str, root: &Path) -> &'a str {
    Path::new(file).strip_prefix(root).ok().and_then(Path::to_str).unwrap_or(file)
}

/// The location of a file. A path without a root is relative to that of the source.
fn artifact(file: &str, root: &Path) -> Value {
    let path = below(file, root);
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(byte.into()),
            _ => uri += &format!("%{byte:02X}"),
        }
    }
    match path.starts_with('/') {
        true => json!({"uri": format!("file://{uri}")}),
        false => json!({"uri": uri, "uriBaseId": "%SRCROOT%"}),
    }
}

/// The text with the escapes of workflow commands for line ends, `%` and the given characters.
fn escaped(text: &str, more: &[char]) -> String {
    let is_special = |character: char| matches!(character, '%' | '\r' | '\n') || more.contains(&character);
    text.chars().fold(String::new(), |mut text, character| {
        match is_special(character) {
            true => text += &format!("%{:02X}", u32::from(character)),
            false => text.push(character),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use crate::finding::Report;
    use crate::report::sample;
    use serde_json::Value;

    const MESSAGE: &str = "stream 2 reads 1,024 bytes that stream 1 writes, and nothing orders the two; missing: record an event on \
                           stream 1 after cuMemcpyHtoDAsync and make stream 2 wait for it before cuMemcpyDtoDAsync";

    fn result(report: &Report) -> Value {
        serde_json::from_str::<Value>(&report.sarif("/home/me".as_ref())).unwrap()["runs"][0]["results"][0].clone()
    }

    #[test]
    fn each_rule_has_the_meaning_of_its_kind() {
        let log: Value = serde_json::from_str(&Report::default().sarif("/".as_ref())).unwrap();
        let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
        let meaning =
            |id: &str| rules.iter().find(|rule| rule["id"] == id).unwrap()["shortDescription"]["text"].clone();
        assert_eq!(meaning("data-race"), "Two accesses to the same bytes, at least one a write, that nothing orders.");
        let undefined =
            "The use of an undefined value by a kernel; a read of bytes to the host that nothing has written.";
        assert_eq!(meaning("uninitialized-read"), undefined);
        assert!(rules.iter().all(|rule| rule["shortDescription"]["text"].as_str().unwrap().ends_with('.')));
    }

    #[test]
    fn result_has_the_lines_of_both_sides_and_the_fingerprint() {
        let mut report = sample::report("/home/me/a b/train.py");
        report.identify();
        let result = result(&report);
        assert_eq!(result["ruleId"], "data-race");
        assert_eq!(result["message"]["text"], MESSAGE);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/train.py");
        assert_eq!(
            (&place["artifactLocation"]["uriBaseId"], &place["region"]["startLine"]),
            (&"%SRCROOT%".into(), &6.into())
        );
        assert_eq!(result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 4);
        assert_eq!(result["relatedLocations"][0]["message"]["text"], "cuMemcpyHtoDAsync writes 4,096 bytes");
        assert_eq!(result["partialFingerprints"]["finding/v1"], report.findings[0].fingerprint);
    }

    #[test]
    fn line_of_a_kernel_comes_before_that_of_its_launch() {
        let result = result(&sample::kernel_race("/elsewhere/a.py"));
        let uris = result["relatedLocations"].as_array().unwrap().iter();
        let uris: Vec<&Value> = uris.map(|each| &each["physicalLocation"]["artifactLocation"]["uri"]).collect();
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "file:///elsewhere/a.py");
        assert_eq!(uris, ["src/kernel.cu", "file:///elsewhere/a.py"]);
    }

    #[test]
    fn workflow_command_names_the_file_the_line_and_the_problem() {
        let mut report = sample::report("/home/me/a,b.py");
        assert_eq!(
            report.workflow_commands("/home/me".as_ref()),
            format!("::error file=a%2Cb.py,line=6,title=cuarray-sim data-race::{MESSAGE}\n")
        );
        report.lanes.iter_mut().find(|lane| lane.name.starts_with("stream 2")).unwrap().made =
            Some(sample::site("/home/me/a.py", 2));
        let commands = report.workflow_commands("/home/me".as_ref());
        assert!(
            commands.ends_with("before cuMemcpyDtoDAsync; stream 2: made at /home/me/a.py:2 in <module>\n"),
            "{commands}"
        );
        report.lanes.iter_mut().for_each(|lane| lane.made = None);
        report.findings[0].missing = Some("100 %\nmore\r".into());
        assert!(report.workflow_commands("/".as_ref()).ends_with("; missing: 100 %25; or: more%0D\n"));
        report.findings[0].sides.clear();
        assert!(report.workflow_commands("/".as_ref()).starts_with("::error title=cuarray-sim data-race::"));
    }
}
