//! Requests and answers.

use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use vazao_engine::Time;
use vazao_scenario::{Column, ENGINE_VERSION, Options, Outcome, Output, Scenario, ScenarioError, Stopped, Table, Toml};

/// Most bytes of all captures of a run: a page holds them in memory twice while it takes them over.
const MOST_CAPTURED: usize = 256 << 20;

/// Answers a request: `{"toml": scenario, "table": path, "overrides": [[key, value]], "seed": number, "packets": number,
/// "capture": truth}`, of which all but the first may be missing.
///
/// The scenario is the table at `path` (all of the text where there is none) after `overrides` were set in it, as a run of a
/// study is read. `packets` is the most that a recording has; without them there is none. With `capture` each interface's
/// packets are captured, as pcapng. `clock` is told the time of the run while it goes on, which `stop` ends.
///
/// The answer is JSON's length in four bytes, the JSON, the recording, and the captures. The JSON has the run's tables by
/// columns and the length of each capture by its name, or an `error`: what is wrong with the scenario, or why it could not be run.
pub fn answer(request: &[u8], stop: &AtomicBool, clock: &dyn Fn(Time)) -> Vec<u8> {
    let mut files = Files::default();
    let told = match serde_json::from_slice(request) {
        Ok(Json::Object(request)) => {
            run(&request, &mut files, stop, clock).unwrap_or_else(|error| json!({ "error": error }))
        }
        _ => json!({ "error": { "problem": "the request is no object of JSON" } }),
    };
    let told = told.to_string();
    let captured: usize = files.captures.values().map(Vec::len).sum();
    let mut answer = Vec::with_capacity(4 + told.len() + files.recording.len() + captured);
    answer.extend((told.len() as u32).to_le_bytes());
    answer.extend(told.as_bytes());
    answer.extend(files.recording);
    files.captures.into_values().for_each(|capture| answer.extend(capture));
    answer
}

/// Files that a run leaves.
#[derive(Default)]
struct Files {
    recording: Vec<u8>,
    /// Captures by their interfaces.
    captures: BTreeMap<String, Vec<u8>>,
}

fn run(request: &Map<String, Json>, files: &mut Files, stop: &AtomicBool, clock: &dyn Fn(Time)) -> Result<Json, Json> {
    let text = request.get("toml").and_then(Json::as_str).unwrap_or_default();
    let seed = request.get("seed").and_then(Json::as_u64);
    let packets = request.get("packets").and_then(Json::as_u64);
    let table = request.get("table").and_then(Json::as_str).unwrap_or_default();
    let overrides = request.get("overrides").map_or_else(|| Some(Vec::new()), overrides);
    let overrides = overrides.ok_or_else(|| json!({ "problem": "`overrides` is no list of [key, value]" }))?;
    let scenario = Scenario::load(text, table, overrides, seed).map_err(|error| fault(&error))?;
    let id = scenario.run_id();
    let Files { recording, captures } = files;
    let mut captured = 0;
    let mut keep = |name: &str, bytes: &[u8]| {
        captured += bytes.len();
        if captured > MOST_CAPTURED {
            let most = MOST_CAPTURED >> 20;
            return Err(format!(
                "captures of more than {most} MiB do not fit in a page; shorten the run, or use vazao run --pcap"
            ));
        }
        captures.entry(name.to_owned()).or_default().extend(bytes);
        Ok(())
    };
    let captures_wanted = request.get("capture").and_then(Json::as_bool).unwrap_or_default();
    let options = Options {
        id: Some(&id),
        recording: packets.map(|most| (most as usize, recording)),
        capture: captures_wanted.then_some(&mut keep as Output<'_>),
        clock: Some(clock),
        ..Options::default()
    };
    let outcome = vazao_scenario::run(&scenario, stop, options).map_err(|why| stopped(&why))?;
    let Outcome { runs, flows, paths, links, samples, .. } = outcome;
    let tables = [("runs", runs), ("flows", flows), ("paths", paths), ("links", links), ("samples", samples)];
    let tables: Map<String, Json> = tables.into_iter().map(|(name, rows)| (name.to_owned(), columns(&rows))).collect();
    let captures: Map<_, _> = files.captures.iter().map(|(name, bytes)| (name.clone(), json!(bytes.len()))).collect();
    Ok(json!({
        "run_id": id,
        "name": scenario.name,
        "engine": ENGINE_VERSION,
        "tables": tables,
        "recording": files.recording.len(),
        "captures": captures,
    }))
}

/// Reads keys with values; none where one is something else, or a value is null.
fn overrides(told: &Json) -> Option<Vec<(String, Toml)>> {
    let pair = |one: &Json| match &one.as_array()?[..] {
        [Json::String(key), value] => Some((key.clone(), toml(value)?)),
        _ => None,
    };
    told.as_array()?.iter().map(pair).collect()
}

/// Converts a value of JSON, which has one that TOML lacks: null.
fn toml(value: &Json) -> Option<Toml> {
    Some(match value {
        Json::Null => return None,
        Json::Bool(flag) => Toml::Flag(*flag),
        Json::Number(number) => Toml::Number(number.as_f64()?),
        Json::String(text) => Toml::Text(text.clone()),
        Json::Array(items) => Toml::List(items.iter().map(|item| Some(toml(item)?.into())).collect::<Option<_>>()?),
        Json::Object(entries) => {
            let entry = |(key, value): (&String, &Json)| Some((key.clone(), toml(value)?.into()));
            Toml::Table(entries.iter().map(entry).collect::<Option<_>>()?)
        }
    })
}

/// Tells an error of the scenario by its parts.
fn fault(error: &ScenarioError) -> Json {
    json!({
        "line": error.line,
        "key": error.key,
        "value": error.value,
        "problem": error.problem,
        "suggestion": error.suggestion,
        "message": error.to_string(),
    })
}

fn stopped(why: &Stopped) -> Json {
    let problem = match why {
        Stopped::Cancelled => "the run was cancelled",
        Stopped::Probe(problem) | Stopped::NotRun(problem) | Stopped::Guest(problem) => problem,
    };
    json!({ "problem": problem, "message": problem })
}

/// Converts a table to its columns.
fn columns(table: &Table) -> Json {
    let values = |column: &Column| -> Json {
        match column {
            Column::Label { codes, names } => {
                codes.iter().map(|code| code.map(|code| &names[code as usize][..])).collect()
            }
            Column::Integer(numbers) => numbers.iter().collect(),
            // JSON has no number for what is infinite.
            Column::Number(numbers) => {
                numbers.iter().map(|number| number.filter(|number| number.is_finite())).collect()
            }
            Column::Flag(flags) => flags.iter().copied().collect(),
        }
    };
    Json::Object(table.iter().map(|(name, column)| ((*name).to_owned(), values(column))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: &Json) -> (Json, Vec<u8>) {
        let answer = answer(request.to_string().as_bytes(), &AtomicBool::new(false), &|_| ());
        let (length, rest) = answer.split_first_chunk::<4>().expect("a length");
        let (told, recording) = rest.split_at(u32::from_le_bytes(*length) as usize);
        (serde_json::from_slice(told).expect("JSON"), recording.to_vec())
    }

    const SCENARIO: &str = r#"
        until = "2 s"
        [network]
        topology = "multipath"
        path = [{ rate = "8 Mbps", delay = "10 ms" }]
        [[flow]]
        app = { kind = "upload", size = "100 kB" }
    "#;

    #[test]
    fn a_scenario_is_run_and_recorded() {
        let (told, recording) = ask(&json!({ "toml": SCENARIO, "packets": 1000 }));
        assert_eq!(told["tables"]["flows"]["app_bytes"], json!([100_000]), "{told}");
        assert!(recording.starts_with(b"vazaorec"));
        let (again, nothing) = ask(&json!({ "toml": SCENARIO, "seed": 1 }));
        assert_eq!((&again["tables"]["flows"], nothing.len()), (&told["tables"]["flows"], 0));
    }

    #[test]
    fn captures_follow_the_recording() {
        let (told, files) = ask(&json!({ "toml": SCENARIO, "packets": 10, "capture": true }));
        let captures = told["captures"].as_object().expect("lengths by name");
        assert_eq!(captures.keys().collect::<Vec<_>>(), ["a.1", "b.1"]);
        let mut at = told["recording"].as_u64().expect("a length") as usize;
        for length in captures.values().map(|length| length.as_u64().expect("a length") as usize) {
            // A section header of pcapng; and the 100 kB of data are in both.
            assert_eq!(files[at..at + 4], [0x0a, 0x0d, 0x0d, 0x0a]);
            assert!(length > 100_000, "{length}");
            at += length;
        }
        assert_eq!(at, files.len());
    }

    #[test]
    fn the_time_is_told_meanwhile() {
        let times = std::cell::RefCell::new(Vec::new());
        let long = SCENARIO.replace("2 s", "60 s").replace(", size = \"100 kB\"", "");
        let tell = |now: Time| times.borrow_mut().push(now.as_secs());
        answer(json!({ "toml": long }).to_string().as_bytes(), &AtomicBool::new(false), &tell);
        let times = times.into_inner();
        assert!(times.len() > 3 && times.is_sorted() && times.last().is_some_and(|&last| last < 60.0), "{times:?}");
    }

    #[test]
    fn overrides_are_set_in_the_table_that_is_named() {
        let within = SCENARIO.replace("[network]", "[scenario.network]").replace("[[flow]]", "[[scenario.flow]]");
        let text = format!("[scenario]\n{within}");
        let size = json!(["flow.0.app.size", "20 kB"]);
        let link = json!(["network.path.0", { "rate": "2 Mbps", "loss": { "kind": "list", "packets": [5, 7] } }]);
        let (told, _) = ask(&json!({ "toml": text, "table": "scenario", "overrides": [size, link], "seed": 3 }));
        let changed = SCENARIO.replace("100 kB", "20 kB").replace("8 Mbps\"", "2 Mbps\", loss.kind = \"list\"");
        let changed = changed.replace("\"list\"", "\"list\", loss.packets = [5, 7]");
        let (whole, _) = ask(&json!({ "toml": changed, "seed": 3 }));
        assert_eq!(told["tables"]["flows"]["app_bytes"], json!([20_000]), "{told}");
        assert_eq!((&told["run_id"], &told["tables"]), (&whole["run_id"], &whole["tables"]));
        for wrong in [json!({}), json!([["network"]]), json!([["until", null]]), json!([[1, "2 s"]])] {
            let (told, _) = ask(&json!({ "toml": SCENARIO, "overrides": wrong }));
            assert!(told["error"]["problem"].as_str().is_some_and(|problem| problem.contains("overrides")), "{told}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_by_its_parts() {
        let (told, _) = ask(&json!({ "toml": SCENARIO.replace("8 Mbps", "8 apples") }));
        let error = &told["error"];
        assert_eq!((&error["line"], &error["key"]), (&json!(5), &json!("network.path.0.rate")), "{told}");
        assert!(ask(&json!([])).0["error"]["problem"].is_string());
        let (told, _) =
            ask(&json!({ "toml": SCENARIO.replace("[[flow]]", "[[flow]]\ntransport = { stack = \"linux\" }") }));
        assert!(told["error"]["message"].as_str().is_some_and(|message| message.contains("kernel")), "{told}");
    }
}
