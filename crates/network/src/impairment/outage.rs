use vazao_engine::registry::{Entry, Kind, ParameterError, Parameters, choice, parameters};
use vazao_engine::{Duration, Time};

const LEAST: Duration = Duration::from_nanos(1);

choice! { enum Effect { Pause = "pause", Loss = "loss" } }

parameters! {
    struct Settings {
        at: Option<Duration> = Kind::Duration(Duration::ZERO, Duration::MAX), "", "when it begins; or else every";
        r#for: Duration = Kind::Duration(LEAST, Duration::MAX), "how long it lasts";
        every: Option<Duration> = Kind::Duration(LEAST, Duration::MAX), "", "from the start of one to that of the next";
        first: Option<Duration> = Kind::Duration(Duration::ZERO, Duration::MAX), "",
            "when the first begins; else every";
        kind: Effect = Effect::KIND, "pause",
            "pause: sending stops and packets wait; loss: those whose sending ends in it are lost on the wire";
    }
}

/// Outages, of which a link may have several.
pub const ENTRY: Entry<super::Build> = Entry {
    name: "outages",
    aliases: &[],
    title: "Outages",
    source: "a modem that retrains; a path that leads nowhere",
    help: "times at which nothing gets through: outages = [{ at = \"10 s\", for = \"2 s\" }], or { every, for }",
    parameters: Settings::PARAMETERS,
    build: super::Build::Outage(Outage::from),
};

/// Time span in which nothing gets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    first: u64,
    length: u64,
    every: Option<u64>,
    /// Whether packets are lost rather than kept.
    pub loses: bool,
}

impl Outage {
    /// Returns an outage with the registry's parameters.
    ///
    /// # Errors
    /// The parameter and a sentence when it is neither one nor periodic, or longer than its period.
    pub fn from(p: &Parameters) -> Result<Outage, ParameterError> {
        let refuse = |parameter: &str, problem: &str| Err(ParameterError::new(&[parameter], problem));
        let Settings { at, r#for: length, every, first, kind } = p.into();
        let [at, every, first] = [at, every, first].map(|span| span.map(Duration::as_nanos));
        let length = length.as_nanos();
        let (first, every) = match (at, every, first) {
            (Some(at), None, None) => (at, None),
            (None, Some(every), first) => (first.unwrap_or(every), Some(every)),
            (Some(_), ..) => return refuse("at", "stands alone; periodic outages have every and first"),
            (None, None, _) => return refuse("at", "is missing; write when it begins, or every how long"),
        };
        if every.is_some_and(|every| length >= every) {
            return refuse("for", "is not shorter than every; something must get through");
        }
        Ok(Outage { first, length, every, loses: kind == Effect::Loss })
    }

    /// Returns whether there is an outage at `time`, and until when that is so (`u64::MAX`: for good).
    pub fn at(&self, time: u64) -> (bool, u64) {
        let Some(after) = time.checked_sub(self.first) else { return (false, self.first) };
        let (start, next) = match self.every {
            Some(every) => {
                let start = self.first + after / every * every;
                (start, start.saturating_add(every))
            }
            None => (self.first, u64::MAX),
        };
        let end = start.saturating_add(self.length);
        if time < end { (true, end) } else { (false, next) }
    }

    /// Returns whether there is an outage at `time`.
    pub fn is_at(&self, time: Time) -> bool {
        self.at(time.as_nanos()).0
    }
}

/// Returns whether any of several outages holds at `time`, and until when nothing changes.
pub(crate) fn any_at(outages: &[Outage], time: u64) -> (bool, u64) {
    outages
        .iter()
        .map(|outage| outage.at(time))
        .fold((false, u64::MAX), |(down, until), (also, change)| (down || also, until.min(change)))
}
