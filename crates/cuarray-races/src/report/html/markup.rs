//! Escaping and width of text in a page.
//!
//! File names, function names and source lines come from the watched program. They may contain markup, control
//! characters or characters that reverse the text after them. None of these may take effect in the page.

use crate::report::words;

/// Text escaped for an element or a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ if words::is_harmful(character) => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// The width of a text in columns of a fixed-width font.
pub(super) fn columns(text: &str) -> u32 {
    // Scripts with characters of two columns begin at U+1100. Later punctuation and symbols have one column.
    let width = |character| if matches!(character, '\u{0}'..='\u{10ff}' | '\u{1e00}'..='\u{2e7f}') { 1 } else { 2 };
    text.chars().fold(0_u32, |sum, character| sum.saturating_add(width(character)))
}

/// Shortens a text to `most` columns by cutting its middle.
pub(super) fn shorten(text: &str, most: u32) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(1);
    let mut head = String::new();
    for character in text.chars() {
        head.push(character);
        if columns(&head) > kept / 2 {
            head.pop();
            break;
        }
    }
    let mut tail = std::collections::VecDeque::new();
    let mut room = kept - columns(&head);
    for character in text.chars().rev() {
        let width = columns(character.encode_utf8(&mut [0; 4]));
        if width > room {
            break;
        }
        room -= width;
        tail.push_front(character);
    }
    head.push('…');
    head.extend(tail);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_characters_are_escaped() {
        assert_eq!(escape("<a href='x' b=\"y\">&"), "&lt;a href=&#39;x&#39; b=&quot;y&quot;&gt;&amp;");
        assert_eq!(escape("a\u{202e}b\u{0}c\nd\u{1b}[31m"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}[31m");
        assert_eq!(escape("Größe 数据"), "Größe 数据");
    }

    #[test]
    fn long_text_loses_its_middle() {
        assert_eq!(shorten("short.py:1", 10), "short.py:1");
        assert_eq!(shorten("a_very_long_module_name.py:123", 16), "a_very_…e.py:123");
        for most in 2..40 {
            assert!(columns(&shorten("数据数据数据数据数据数据abcdefghijk数据", most)) <= most);
        }
    }
}
