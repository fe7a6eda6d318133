//! Delays that vary: which packet has which.

use crate::lab::{ENDLESS, Lab};
use std::collections::BTreeMap;
use vazao_engine::Duration;
use vazao_engine::registry::{ParameterError, Parameters, Raw};
use vazao_network::delay::{Course, DELAYS};
use vazao_network::queue::DropTail;
use vazao_network::{Direction, Impairments};

const MS: u64 = 1_000_000;

fn text(value: &str) -> Raw {
    Raw::Text(value.into())
}

/// Reads a course of a kind, whose only file says `file`.
fn course(kind: &str, given: &[(&str, Raw)], file: &str) -> Result<Course, ParameterError> {
    let entry = DELAYS.iter().find(|entry| entry.name == kind).expect("a kind of delay");
    let given: BTreeMap<_, _> = given.iter().map(|(name, raw)| ((*name).to_owned(), raw.clone())).collect();
    (entry.build)(&Parameters::resolve(entry.parameters, &given)?, &|_| Ok(file.to_owned()))
}

fn schedule(steps: &[(&str, &str)], more: &[(&str, Raw)]) -> Result<Course, ParameterError> {
    let step = |(at, delay): &(&str, &str)| Raw::Table(vec![("at".into(), text(at)), ("delay".into(), text(delay))]);
    let steps = ("steps", Raw::List(steps.iter().map(step).collect()));
    course("delay-schedule", &[&[steps], more].concat(), "")
}

/// When packets of 1000 B that are sent at these milliseconds arrive over 8 Mbit/s (1 ms each), in milliseconds.
fn arrivals(course: Course, sent: &[u64]) -> Vec<u64> {
    let mut lab = Lab::new(&[(8_000_000, course.least().as_nanos(), 0, ENDLESS)]);
    lab.network.set_discipline(0, Box::new(DropTail::new(ENDLESS)), &mut lab.scheduler);
    let mut lab = lab.impaired(Impairments { course: Some(course), ..Impairments::default() });
    sent.iter().for_each(|ms| lab.send(ms * MS, 1000));
    lab.finish();
    lab.arrivals().iter().map(|at| at / MS).collect()
}

/// A packet has the delay of the instant at which it has been sent, that of a step included: 20 ms, from 10 ms on 50, from
/// 20 ms on 5, which packets behind slower ones wait for unless they may overtake.
#[test]
fn a_delay_follows_its_schedule() {
    let steps = [("0 s", "20 ms"), ("10 ms", "50 ms"), ("20 ms", "5 ms")];
    let sent = [0, 8, 9, 18, 19, 70];
    assert_eq!(arrivals(schedule(&steps, &[]).unwrap(), &sent), [21, 29, 60, 69, 69, 76]);
    // Sent last of those before, at 20 ms, it arrives first of them.
    let overtaking = schedule(&steps, &[("keeps_order", Raw::Flag(false))]).unwrap();
    assert_eq!(arrivals(overtaking, &sent), [21, 25, 29, 60, 69, 76]);
}

/// It begins anew after its period.
#[test]
fn a_delay_repeats() {
    let course = schedule(&[("0 s", "1 ms"), ("15 ms", "2 ms")], &[("repeat", text("30 ms"))]).unwrap();
    assert_eq!([0, 14, 15, 29, 30, 45, 3_044, 3_045].map(|ms| course.at(ms * MS) / MS), [1, 1, 2, 2, 1, 2, 1, 2]);
}

/// A file says the same as steps do; lines without words count for nothing but their numbers.
#[test]
fn a_trace_is_a_schedule_in_a_file() {
    let file = "0 20\n\n10.5   50.25\n20\t5\n";
    let traced = course("delay-trace", &[("trace", text("x"))], file).unwrap();
    let steps = [("0 s", "20 ms"), ("10500 us", "50250 us"), ("20 ms", "5 ms")];
    assert_eq!(traced.steps, schedule(&steps, &[]).unwrap().steps);
    assert_eq!((traced.least(), traced.file.as_deref()), (Duration::from_millis(5), Some("x")));
}

/// Mistakes, and where they are.
#[test]
fn courses_that_are_none_are_refused() {
    let path = |steps: &[(&str, &str)], more: &[(&str, Raw)]| schedule(steps, more).unwrap_err().path.join(".");
    assert_eq!(path(&[], &[]), "steps");
    assert_eq!(path(&[("1 s", "1 ms")], &[]), "steps.0.at");
    assert_eq!(path(&[("0 s", "1 ms"), ("0 s", "2 ms")], &[]), "steps.1.at");
    assert_eq!(path(&[("0 s", "1 ms"), ("2 s", "2 ms")], &[("repeat", text("2 s"))]), "steps.1.at");
    assert_eq!(path(&[("0 s", "2 h")], &[]), "steps.0.delay");
    let said = |file: &str| course("delay-trace", &[("trace", text("x"))], file).unwrap_err().problem.text;
    assert_eq!(said(""), "x:1: there is no delay in it");
    assert_eq!(said("1 5"), "x:1: the time is not at 0; the first delay must hold from the start");
    assert_eq!(said("0 5\n\n0 6"), "x:3: the time is not later than the one before it");
    assert_eq!(said("0 5\n1"), "x:2: has no delay in milliseconds, of an hour at most");
    assert_eq!(said("0 5\n1 -1"), "x:2: has no delay in milliseconds, of an hour at most");
    assert_eq!(said("0 5\none 1"), "x:2: begins with no time in milliseconds");
    assert_eq!(said("0 5 6"), "x:1: has more than a time and a delay");
}

/// A direction with a course has the two-event path, which packets that overtake need.
#[test]
fn a_direction_with_a_course_serves() {
    let rate = vazao_engine::Rate::from_bps(8_000_000);
    let plain = Direction::new(rate, Duration::ZERO, vazao_network::QueueSpec::default());
    let course = schedule(&[("0 s", "1 ms")], &[]).unwrap();
    let varied = Direction { course: Some(course), ..plain.clone() };
    let stream = |purpose: &str| vazao_engine::RandomStream::new(1, purpose);
    let setting = vazao_network::queue::Setting { rate, base_rtt: Duration::from_millis(1), stream: stream("queue") };
    let [plain, varied] = [plain, varied]
        .map(|direction| (direction.impairments("x", stream).is_some(), direction.discipline("x", &setting).is_some()));
    assert_eq!((plain, varied), ((false, false), (true, true)));
}
