//! Files of columns that viewers read; docs/recording.md describes the format.

use serde_json::{Map, Value as Json, json};
use vazao_engine::Time;

/// Bytes before the header.
const FIXED: usize = 16;

/// Writer of a recording's sections.
#[derive(Default)]
pub(crate) struct Sections {
    bytes: Vec<u8>,
    known: Map<String, Json>,
}

impl Sections {
    fn add<const N: usize>(&mut self, name: &str, kind: &str, elements: impl ExactSizeIterator<Item = [u8; N]>) {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let section = json!({ "type": kind, "at": self.bytes.len(), "count": elements.len() });
        self.known.insert(name.to_owned(), section);
        self.bytes.reserve(N * elements.len());
        elements.for_each(|element| self.bytes.extend(element));
    }

    /// Adds a section of numbers.
    pub fn f64(&mut self, name: &str, elements: impl ExactSizeIterator<Item = f64>) {
        self.add(name, "f64", elements.map(f64::to_le_bytes));
    }

    /// Adds a section of whole numbers.
    pub fn u32(&mut self, name: &str, elements: impl ExactSizeIterator<Item = u32>) {
        self.add(name, "u32", elements.map(u32::to_le_bytes));
    }

    /// Adds a section of small whole numbers.
    pub fn u8(&mut self, name: &str, elements: impl ExactSizeIterator<Item = u8>) {
        self.add(name, "u8", elements.map(|element| [element]));
    }

    /// Adds time series, each with what it is. Returns the header's list of them.
    pub fn series(&mut self, series: Vec<(Json, Vec<(Time, f64)>)>) -> Json {
        let points: Vec<(Time, f64)> = series.iter().flat_map(|(_, points)| points).copied().collect();
        self.f64("series.time", points.iter().map(|(time, _)| time.as_nanos() as f64));
        self.f64("series.value", points.iter().map(|(_, value)| *value));
        let mut start = 0;
        let told = series.into_iter().map(|(mut what, points)| {
            (what["start"], what["count"]) = (start.into(), points.len().into());
            start += points.len();
            what
        });
        told.collect()
    }

    /// Returns the file, whose header has these keys beside the sections.
    pub fn file(mut self, header: &Map<String, Json>) -> Vec<u8> {
        // The sections' places depend on the header's length, and its length on the digits of the places.
        let text = |start: u64| {
            let mut sections = self.known.clone();
            for section in sections.values_mut() {
                section["at"] = (section["at"].as_u64().expect("a place") + start).into();
            }
            let mut header = header.clone();
            header.insert("sections".to_owned(), sections.into());
            Json::Object(header).to_string()
        };
        let start = (FIXED + text(1 << 40).len()).next_multiple_of(8);
        let text = text(start as u64);
        let mut file = Vec::with_capacity(start + self.bytes.len());
        file.extend(b"vazaorec");
        file.extend(1_u32.to_le_bytes());
        file.extend((text.len() as u32).to_le_bytes());
        file.extend(text.as_bytes());
        file.resize(start, 0);
        file.append(&mut self.bytes);
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_lie_where_the_header_says() {
        let mut sections = Sections::default();
        sections.u8("letters", b"abc".iter().copied());
        sections.f64("numbers", [0.5, f64::NAN].into_iter());
        sections.u32("whole", [7].into_iter());
        let file = sections.file(&Map::from_iter([("name".to_owned(), "x".into())]));
        let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| file[at + i]));
        assert_eq!((&file[..8], word(8)), (&b"vazaorec"[..], 1));
        let header: Json = serde_json::from_slice(&file[16..16 + word(12) as usize]).expect("JSON");
        assert_eq!(header["name"], "x");
        let at = |name: &str| header["sections"][name]["at"].as_u64().expect("a place") as usize;
        assert_eq!(&file[at("letters")..][..3], b"abc");
        assert_eq!(f64::from_le_bytes(std::array::from_fn(|i| file[at("numbers") + i])), 0.5);
        assert_eq!(word(at("whole")), 7);
        assert!(["letters", "numbers", "whole"].iter().all(|name| at(name).is_multiple_of(8)));
    }
}
