//! Values as the words of a line, separated by single blanks.
//!
//! A number is decimal; a truth value is `true` or `false`; a list is its length and its elements; an optional value is
//! a list of at most one; a variant is its name and its fields. A text is one word: `\{20}` stands for a blank, `\{}`
//! for nothing at all.

use std::fmt::{self, Display, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::str::{FromStr, Split};

/// A type that can be written as words and read back.
pub trait Coded: Sized {
    /// Appends the value's words to a line.
    fn write(&self, line: &mut String);

    /// Reads a value from the next words.
    ///
    /// # Errors
    /// The word that does not fit.
    fn read(words: &mut Words<'_>) -> Result<Self, Malformed>;

    /// Draws any value, for tests.
    #[cfg(test)]
    fn draw(from: &mut crate::tests::Choices) -> Self;
}

/// A line that is no value of the type that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    expected: &'static str,
    found: Option<String>,
}

impl Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let expected = self.expected;
        match &self.found {
            Some(word) => write!(f, "expected {expected}, found {word:?}"),
            None => write!(f, "expected {expected}, found the end of the line"),
        }
    }
}

/// The words of a line that are still to be read.
pub struct Words<'a>(Split<'a, char>);

impl<'a> Words<'a> {
    pub(crate) fn of(line: &'a str) -> Words<'a> {
        Words(line.split(' '))
    }

    /// Takes the next word, for a value of type `T`.
    pub(crate) fn next<T>(&mut self) -> Result<&'a str, Malformed> {
        self.0.next().ok_or(Malformed { expected: std::any::type_name::<T>(), found: None })
    }

    /// Checks that no word is left.
    pub(crate) fn finish(mut self) -> Result<(), Malformed> {
        self.0
            .next()
            .map_or(Ok(()), |word| Err(Malformed { expected: "the end of the line", found: Some(word.into()) }))
    }
}

/// Returns the error that `word` is no `T`.
pub(crate) fn malformed<T>(word: &str) -> Malformed {
    Malformed { expected: std::any::type_name::<T>(), found: Some(word.to_owned()) }
}

/// Appends a word to a line.
pub(crate) fn push(line: &mut String, word: impl Display) {
    let blank = if line.is_empty() { "" } else { " " };
    write!(line, "{blank}{word}").expect("a string takes everything");
}

fn parse<T: FromStr>(words: &mut Words<'_>) -> Result<T, Malformed> {
    let word = words.next::<T>()?;
    word.parse().map_err(|_| malformed::<T>(word))
}

/// Values that are one word as the standard library writes and reads them, and how tests draw them.
macro_rules! words {
    ($($type:ty: $draw:expr;)*) => {
        $(impl Coded for $type {
            fn write(&self, line: &mut String) {
                push(line, self);
            }
            fn read(words: &mut Words<'_>) -> Result<$type, Malformed> {
                parse(words)
            }
            #[cfg(test)]
            fn draw(from: &mut crate::tests::Choices) -> $type {
                let draw: fn(u64) -> $type = $draw;
                draw(from.number())
            }
        })*
    };
}

words! {
    bool: |number| number % 2 == 1;
    u8: |number| number as u8;
    u32: |number| number as u32;
    i32: |number| number as i32;
    u64: |number| number;
    i64: |number| number as i64;
    Ipv4Addr: |number| Ipv4Addr::from(number as u32);
    SocketAddrV4: |number| SocketAddrV4::new(Ipv4Addr::from(number as u32), (number >> 32) as u16);
}

impl Coded for String {
    fn write(&self, line: &mut String) {
        push(line, escaped(self));
    }
    fn read(words: &mut Words<'_>) -> Result<String, Malformed> {
        let word = words.next::<String>()?;
        unescaped(word).ok_or_else(|| malformed::<String>(word))
    }
    #[cfg(test)]
    fn draw(from: &mut crate::tests::Choices) -> String {
        from.text()
    }
}

/// Returns a text as one word without control characters.
fn escaped(text: &str) -> String {
    if text.is_empty() {
        return r"\{}".to_owned();
    }
    let mut word = String::with_capacity(text.len());
    for c in text.chars() {
        // A line separator and a paragraph separator end lines too (Unicode, section 5.8).
        if c == '\\' || c == ' ' || c.is_control() || "\u{2028}\u{2029}".contains(c) {
            write!(word, "\\{{{:x}}}", u32::from(c)).expect("a string takes everything");
        } else {
            word.push(c);
        }
    }
    word
}

/// Returns the text that was escaped; `None` if `word` stands for none.
fn unescaped(word: &str) -> Option<String> {
    if word == r"\{}" {
        return Some(String::new());
    }
    let mut parts = word.split('\\');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.strip_prefix('{')?.split_once('}')?;
        text.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        text.push_str(rest);
    }
    (!text.is_empty()).then_some(text)
}

impl<T: Coded> Coded for Vec<T> {
    fn write(&self, line: &mut String) {
        push(line, self.len());
        self.iter().for_each(|element| element.write(line));
    }
    fn read(words: &mut Words<'_>) -> Result<Vec<T>, Malformed> {
        let length: usize = parse(words)?;
        // A line ends before a list that is too long to be true takes memory.
        (0..length).map(|_| T::read(words)).collect()
    }
    #[cfg(test)]
    fn draw(from: &mut crate::tests::Choices) -> Vec<T> {
        (0..from.number() % 3).map(|_| T::draw(from)).collect()
    }
}

impl<T: Coded> Coded for Option<T> {
    fn write(&self, line: &mut String) {
        push(line, u8::from(self.is_some()));
        self.iter().for_each(|value| value.write(line));
    }
    fn read(words: &mut Words<'_>) -> Result<Option<T>, Malformed> {
        match words.next::<Option<T>>()? {
            "0" => Ok(None),
            "1" => T::read(words).map(Some),
            other => Err(malformed::<Option<T>>(other)),
        }
    }
    #[cfg(test)]
    fn draw(from: &mut crate::tests::Choices) -> Option<T> {
        bool::draw(from).then(|| T::draw(from))
    }
}

/// Makes a struct [`Coded`] as its fields in the given order, or an enum as the name of a variant and its fields.
macro_rules! coded {
    (struct $name:ident { $($field:ident),* }) => {
        impl Coded for $name {
            fn write(&self, line: &mut String) {
                let $name { $($field),* } = self;
                $($field.write(line);)*
            }
            fn read(words: &mut Words<'_>) -> Result<$name, Malformed> {
                Ok($name { $($field: Coded::read(words)?),* })
            }
            #[cfg(test)]
            fn draw(from: &mut crate::tests::Choices) -> $name {
                $name { $($field: Coded::draw(from)),* }
            }
        }
    };
    (enum $name:ident { $($word:literal => $variant:ident $(($item:ident))? $({ $($field:ident),* })?),* }) => {
        impl Coded for $name {
            fn write(&self, line: &mut String) {
                match self {
                    $($name::$variant $(($item))? $({ $($field),* })? => {
                        push(line, $word);
                        $($item.write(line);)?
                        $($($field.write(line);)*)?
                    })*
                }
            }
            fn read(words: &mut Words<'_>) -> Result<$name, Malformed> {
                match words.next::<$name>()? {
                    $($word => {
                        $(let $item = Coded::read(words)?;)?
                        $($(let $field = Coded::read(words)?;)*)?
                        Ok($name::$variant $(($item))? $({ $($field),* })?)
                    })*
                    other => Err(malformed::<$name>(other)),
                }
            }
            #[cfg(test)]
            fn draw(from: &mut crate::tests::Choices) -> $name {
                let variants: &[fn(&mut crate::tests::Choices) -> $name] = &[$(|_from| {
                    $(let $item = Coded::draw(_from);)?
                    $($(let $field = Coded::draw(_from);)*)?
                    $name::$variant $(($item))? $({ $($field),* })?
                }),*];
                variants[from.number() as usize % variants.len()](from)
            }
        }
    };
}
pub(crate) use coded;
