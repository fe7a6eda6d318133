use super::{Course, KEEPS_ORDER, LONGEST, REPEAT, Vary};
use vazao_engine::Duration;
use vazao_engine::registry::{Entry, Kind, ParameterError, Parameters, parameters};

parameters! {
    struct Step {
        at: Duration = Kind::Duration(Duration::ZERO, Duration::from_secs(366 * 86_400)), "when the delay begins";
        delay: Duration = Kind::Duration(Duration::ZERO, LONGEST), "from then on";
    }

    struct Settings {
        steps: Vec<Parameters> = Kind::Tables(Step::PARAMETERS), "tables with at and delay: from when on which delay";
        repeat: Option<Duration> = REPEAT;
        keeps_order: bool = KEEPS_ORDER;
    }
}

pub(super) const ENTRY: Entry<Vary> = Entry {
    name: "delay-schedule",
    aliases: &[],
    title: "Delay schedule",
    source: "scripted",
    help: "delay = [{ at = \"0 s\", delay = \"20 ms\" }, …], or a table with these as steps and repeat",
    parameters: Settings::PARAMETERS,
    build: |p, _| {
        let Settings { steps, repeat, keeps_order } = p.into();
        let steps: Vec<_> = steps.iter().map(Step::from).map(|s| (s.at.as_nanos(), s.delay.as_nanos())).collect();
        let is_empty = steps.is_empty();
        Course::new(steps, repeat, keeps_order).map_err(|(number, problem)| match is_empty {
            true => ParameterError::new(&["steps"], "is empty; write [{ at = \"0 s\", delay = \"20 ms\" }]"),
            false => ParameterError::new(&["steps", &number.to_string(), "at"], problem),
        })
    },
};
