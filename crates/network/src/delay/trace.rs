use super::{Course, KEEPS_ORDER, LONGEST, REPEAT, Vary};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, ParameterError, parameters};

parameters! {
    struct Settings {
        trace: String = Kind::Text, "the file, beside the scenario's";
        repeat: Option<Duration> = REPEAT;
        keeps_order: bool = KEEPS_ORDER;
    }
}

pub(super) const ENTRY: Entry<Vary> = Entry {
    name: "delay-trace",
    aliases: &[],
    title: "Delay trace",
    source: "measured one-way delays, as of a satellite's or a cellular link",
    help: "delay = { trace = \"file\" }: two numbers a line, a time and the delay from then on, both in milliseconds",
    parameters: Settings::PARAMETERS,
    build: |p, read_file| {
        let Settings { trace: name, repeat, keeps_order } = p.into();
        let refuse = |problem: String| ParameterError::new(&["trace"], problem);
        let text = read_file(&name).map_err(|problem| refuse(format!("{name:?}: {problem}")))?;
        let lines = parse(&text).map_err(|(line, problem)| refuse(format!("{name}:{line}: {problem}")))?;
        let numbers: Vec<usize> = lines.iter().map(|(line, _)| *line).collect();
        let steps = lines.into_iter().map(|(_, step)| step).collect();
        let course = Course::new(steps, repeat, keeps_order).map_err(|(number, problem)| {
            refuse(format!("{name}:{}: the time {problem}", numbers.get(number).unwrap_or(&1)))
        })?;
        Ok(Course { file: Some(name), ..course })
    },
};

/// Line of a trace, counted from 1, with its time and its delay in nanoseconds.
type Line = (usize, (u64, u64));

/// Reads a trace: a time and a delay a line, in milliseconds.
///
/// # Errors
/// The line, counted from 1, and what is wrong with it.
fn parse(text: &str) -> Result<Vec<Line>, (usize, String)> {
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split_whitespace();
        let (Some(at), delay, None) = (words.next(), words.next(), words.next()) else {
            if line.trim().is_empty() {
                continue;
            }
            return Err((number, "has more than a time and a delay".into()));
        };
        // A file that is no trace may hold anything: none of it is repeated.
        let read = |word: Option<&str>, most: Duration| {
            let ms: f64 = word?.parse().ok()?;
            let ns = ms * 1e6;
            (ns >= 0.0 && ns <= most.as_nanos() as f64).then(|| libm::round(ns) as u64)
        };
        let at = read(Some(at), Duration::from_secs(366 * 86_400));
        let at = at.ok_or((number, "begins with no time in milliseconds".to_owned()))?;
        let delay = read(delay, LONGEST);
        let delay = delay.ok_or((number, "has no delay in milliseconds, of an hour at most".to_owned()))?;
        lines.push((number, (at, delay)));
    }
    if lines.is_empty() { Err((1, "there is no delay in it".into())) } else { Ok(lines) }
}
