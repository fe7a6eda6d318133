use super::*;
use crate::line::Coded;
use proptest::prelude::*;
use std::fmt::Debug;

/// The numbers and texts from which a value is drawn; zeros and nothing when they are used up.
#[derive(Debug)]
pub struct Choices {
    numbers: Vec<u64>,
    texts: Vec<String>,
}

impl Choices {
    pub fn number(&mut self) -> u64 {
        self.numbers.pop().unwrap_or(0)
    }

    pub fn text(&mut self) -> String {
        self.texts.pop().unwrap_or_default()
    }
}

fn choices() -> impl Strategy<Value = Choices> {
    let numbers = prop::collection::vec(prop_oneof![0..20_u64, any::<u64>()], 0..100);
    (numbers, any::<Vec<String>>()).prop_map(|(numbers, texts)| Choices { numbers, texts })
}

fn comes_back<T: Coded + Debug + PartialEq>(value: &T) -> Result<(), TestCaseError> {
    let line = encode(value);
    prop_assert!(!line.contains(|c: char| c.is_control() || "\u{2028}\u{2029}".contains(c)), "{line:?} is one line");
    prop_assert_eq!(&decode::<T>(&line).map_err(|error| TestCaseError::fail(error.to_string()))?, value);
    Ok(())
}

proptest! {
    #[test]
    fn every_plan_comes_back(mut from in choices()) {
        comes_back(&Plan::draw(&mut from))?;
    }

    #[test]
    fn every_report_comes_back(mut from in choices()) {
        comes_back(&Report::draw(&mut from))?;
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in any::<Vec<u8>>()) {
        let line = String::from_utf8_lossy(&bytes);
        let _ = (decode::<Plan>(&line), decode::<Report>(&line));
    }

    /// A report with one word changed, removed or added is another one or none.
    #[test]
    fn a_damaged_report_is_another_or_an_error(mut from in choices(), word in any::<String>(), at: prop::sample::Index, way in 0..3) {
        let report = Report::draw(&mut from);
        let line = encode(&report);
        let mut words: Vec<&str> = line.split(' ').collect();
        let at = at.index(words.len());
        match way {
            0 => words[at] = &word,
            1 => drop(words.remove(at)),
            _ => words.insert(at, &word),
        }
        if let Ok(other) = decode::<Report>(&words.join(" ")) {
            comes_back(&other)?;
        }
    }
}

#[test]
fn a_report_is_words() {
    let flow = |event| Report::Flow { number: 3, event };
    let end = End::Failed { error: "EPIPE".into(), call: "send".into() };
    let wrong = |problem: &str| Report::Wrong { problem: problem.to_owned() };
    let cases = [
        (flow(Event::Up), "flow 3 up"),
        (flow(Event::Last { bytes: 10, intact: true, ended: false }), "flow 3 last 10 true false"),
        (flow(Event::Over(end)), "flow 3 over failed EPIPE send"),
        (wrong("sysctl a b: no\n"), r"wrong sysctl\{20}a\{20}b:\{20}no\{a}"),
        (wrong(""), r"wrong \{}"),
    ];
    for (report, line) in cases {
        assert_eq!(encode(&report), line);
        assert_eq!(decode(line), Ok(report));
    }
}

#[test]
fn a_setting_is_words_and_has_a_name() {
    let settings = [
        (Setup::Segments { interface: 1, most: 1 }, "segments 1 1", "segments at interface 1"),
        (Setup::Netem { interface: 0, loss: 42_949_673, seed: 7 }, "netem 0 42949673 7", "netem at interface 0"),
    ];
    for (setup, line, name) in settings {
        assert_eq!((encode(&setup).as_str(), setup.to_string().as_str()), (line, name));
        assert_eq!(decode(line), Ok(setup));
    }
    for line in ["netem 0 -1 7", "netem 0 0.01 7", "netem 0 4294967296 7", "netem 0 1", "segments 0"] {
        assert!(decode::<Setup>(line).is_err(), "{line:?}");
    }
}

#[test]
fn what_is_no_report_is_an_error() {
    let numbers = ["flow", "flow ", "flow -1 up", "flow 4294967296 up", "flow x up"];
    let words = ["", "up", "flow 3 up 4", "flow  3 up", " flow 3 up", "Flow 3 up", "flow 3 up\n", "flow 3 sent true"];
    for line in numbers.into_iter().chain(words) {
        assert!(decode::<Report>(line).is_err(), "{line:?}");
    }
    for word in ["", r"\", r"\n", r"\{", r"\{d800}", r"\{zz}", r"\{}\{}"] {
        assert!(decode::<Report>(&format!("wrong {word}")).is_err(), "{word:?}");
    }
    assert!(decode::<Plan>("18446744073709551615 route").is_err(), "a list without end");
    let error = decode::<Report>("flow x up").expect_err("no number");
    assert_eq!(error.to_string(), "expected u32, found \"x\"");
}
