//! A text as one line: how a plan of a guest carries what a user wrote, so that nothing in it can begin another line.

/// The text without line ends and other control characters: a backslash begins what stands for one, in hexadecimal
/// between braces, and for a backslash.
pub fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        // Beside the control characters there are two line ends that are none (Unicode, section 5.8).
        if c == '\\' || c.is_control() || "\u{2028}\u{2029}".contains(c) {
            line.push_str(&format!("\\{{{:x}}}", u32::from(c)));
        } else {
            line.push(c);
        }
    }
    line
}

/// The text that was escaped; `None` if there is none.
pub fn unescaped(line: &str) -> Option<String> {
    let mut parts = line.split('\\');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.strip_prefix('{')?.split_once('}')?;
        text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        text.push_str(rest);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_would_end_a_line_is_written_into_it() {
        assert_eq!(escaped("a\nb\\n\r\u{85}\u{2028}é"), r"a\{a}b\{5c}n\{d}\{85}\{2028}é");
        for wrong in [r"\", r"\n", r"\{", r"\{}", r"\{d800}", r"\{zz}"] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_text_is_one_line_and_comes_back(text in any::<String>()) {
            let line = escaped(&text);
            prop_assert!(!line.contains(char::is_control));
            prop_assert!(line.lines().count() <= 1);
            prop_assert_eq!(unescaped(&line), Some(text));
        }
    }
}
