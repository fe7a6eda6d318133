//! JSON Schema of the canonical form, made of the registries.

use super::scenario::SCHEMA;
use crate::measures::series;
use crate::packs::TRANSPORTS;
use crate::packs::tcp::strip::STRIPPABLE;
use crate::stacks::{self, STACKS};
use serde_json::{Map, Value as Json, json};
use vazao_application::{ADAPTATIONS, APPLICATIONS, Build, SCRIPTED};
use vazao_congestion::{CONGESTION_CONTROLS, SLOW_STARTS};
use vazao_engine::DISTRIBUTIONS;
use vazao_engine::registry::{Entry, Kind, Parameter};
use vazao_network::QUEUES;
use vazao_network::delay::DELAYS;
use vazao_network::impairment::{IMPAIRMENTS, OUTAGES};
use vazao_network::loss::LOSS_MODELS;
use vazao_network::rate::{RATES, SHAPERS};
use vazao_transport::common::SCHEDULERS;
use vazao_transport::mptcp::PATH_MANAGERS;

/// Returns the JSON Schema of the canonical form of scenarios.
pub fn schema() -> Json {
    let name = json!({ "type": "string" });
    let node = table([("name", name.clone()), ("kind", json!({ "enum": ["host", "router"] }))], &["name", "kind"]);
    let direction = reference("direction");
    let link = [("name", &name), ("from", &name), ("to", &name), ("forward", &direction), ("reverse", &direction)];
    let own = [
        ("client", name.clone()),
        ("server", name.clone()),
        ("start", quantity(DURATIONS)),
        ("streams", whole()),
        ("size", quantity(SIZES)),
    ];
    let each = table(own.clone(), &["client", "server", "start"]);
    let shared = [("app", reference("application")), ("transport", reference("transport")), ("group", whole())];
    let flow =
        shared.into_iter().chain(own).chain([("each", json!({ "type": "array", "minItems": 1, "items": each }))]);
    let measures = json!({ "type": "array", "items": { "enum": series::names().collect::<Vec<_>>() } });
    let keys = [
        ("schema", json!({ "const": SCHEMA })),
        (
            "network",
            table(
                [
                    ("nodes", json!({ "type": "array", "items": node })),
                    (
                        "link",
                        json!({ "type": "array", "items": table(link.map(|(key, it)| (key, it.clone())), &link.map(|l| l.0)) }),
                    ),
                ],
                &["nodes", "link"],
            ),
        ),
        ("flow", json!({ "type": "array", "minItems": 1, "items": table(flow, &["app", "transport"]) })),
        ("seed", json!({ "type": "integer", "minimum": 0, "maximum": 1_u64 << 53 })),
        ("trace", table([("measures", measures), ("every", quantity(DURATIONS))], &["measures"])),
        ("until", quantity(DURATIONS)),
        ("measure", table([("from", quantity(DURATIONS)), ("to", quantity(DURATIONS))], &["from"])),
        ("draws_flows", json!({ "const": true })),
        ("actions", name),
    ];
    let mut whole = table(keys, &["schema", "network", "flow", "seed", "trace"]);
    whole["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    whole["title"] = "Scenario of Vazão in canonical form: every default filled in, drawn flows listed".into();
    whole["$defs"] = definitions();
    whole
}

fn definitions() -> Json {
    let others = STACKS.iter().flat_map(|stack| stack.controls).map(|(name, _)| *name);
    let foreign = table([("kind", json!({ "enum": others.collect::<Vec<_>>() }))], &["kind"]);
    let transports = TRANSPORTS.iter().map(|entry| {
        let elsewhere = ["receiver", "simulator"].into_iter().map(|key| (key, of_stacks(key)));
        let known = entry.parameters.iter().filter(|parameter| parameter.name != "like");
        let keys = known.map(|parameter| {
            let is_of_stacks = stacks::keys().any(|key| key == parameter.name);
            (parameter.name, if is_of_stacks { of_stacks(parameter.name) } else { value(parameter.kind) })
        });
        // DCCP and SCTP have controls of their own, which are no entries under these names.
        kind(entry.name, keys.chain(elsewhere).chain([("cc", reference("congestion control"))]), &[])
    });
    let applications = APPLICATIONS.iter().filter(|entry| !matches!(entry.build, Build::Arrivals(_)));
    json!({
        "direction": direction(),
        "transport": any(transports),
        "application": any(applications.map(of_entry).chain([own(parameters(SCRIPTED.parameters))])),
        "congestion control": any(of_entries(CONGESTION_CONTROLS).chain([foreign, own([])])),
        "slow start": any(of_entries(SLOW_STARTS).chain([own([])])),
        "packet scheduler": any(of_entries(SCHEDULERS).chain([own([])])),
        "path manager": any(of_entries(PATH_MANAGERS)),
        "adaptation": any(of_entries(ADAPTATIONS)),
        "distribution": any(of_entries(DISTRIBUTIONS)),
        "queue": any(of_entries(QUEUES).chain([capacity(), own([("limit", capacity())])])),
        "loss model": any(of_entries(LOSS_MODELS).chain([own([])])),
        "shaper": any(of_entries(SHAPERS)),
    })
}

fn direction() -> Json {
    // A trace is of a kind whose first parameter it has, and says the digest of what it was.
    fn varying<B>(entries: &'static [Entry<B>]) -> impl Iterator<Item = Json> {
        entries.iter().map(|entry| {
            let digest = (entry.parameters[0].name == "trace").then(|| ("digest", json!({ "type": "string" })));
            table(parameters(entry.parameters).chain(digest), &required(entry.parameters))
        })
    }
    let impairments = IMPAIRMENTS.iter().map(|entry| {
        let one = table(parameters(entry.parameters), &required(entry.parameters));
        let is_outage = entry.name == OUTAGES.name;
        (entry.name, if is_outage { json!({ "type": "array", "items": one }) } else { one })
    });
    let strips: Vec<_> = STRIPPABLE.iter().map(|entry| entry.name).collect();
    let own = [
        ("rate", any(varying(RATES).chain([quantity(RATE_UNITS)]))),
        ("delay", any(varying(DELAYS).chain([quantity(DURATIONS)]))),
        ("overhead", quantity(SIZES)),
        ("queue", reference("queue")),
        ("loss", reference("loss model")),
        ("shaper", reference("shaper")),
        ("strip", json!({ "type": "array", "items": { "enum": strips } })),
    ];
    table(own.into_iter().chain(impairments), &["rate", "delay", "overhead", "queue"])
}

/// Returns the schema of a transport's key about its stacks.
fn of_stacks(key: &str) -> Json {
    let name = json!({ "enum": stacks::NAMES });
    let text = || json!({ "type": "string" });
    let texts = json!({ "type": "object", "additionalProperties": text() });
    let emulated = || table([("loss", value(Kind::Number(0.0, 1.0)))], &["loss"]);
    match key {
        "stack" => any([name.clone(), table([("client", name.clone()), ("server", name)], &["client", "server"])]),
        "kernel" => table([("name", text()), ("sha256", text())], &["name"]),
        "simulator" => table([("version", text()), ("sha256", text())], &["version", "sha256"]),
        "netem" => table([("client", emulated()), ("server", emulated())], &[]),
        "receiver" => reference("transport"),
        "sysctl" | "module" => texts,
        _ => text(),
    }
}

/// Returns the schema of a parameter's value as the canonical form has it.
fn value(kind: Kind) -> Json {
    match kind {
        Kind::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Kind::Integer(min, i64::MAX) => json!({ "type": "integer", "minimum": min }),
        Kind::Integer(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(words) => json!({ "enum": words }),
        Kind::Duration(..) => quantity(DURATIONS),
        Kind::Rate => quantity(RATE_UNITS),
        Kind::Rates => json!({ "type": "array", "items": quantity(RATE_UNITS) }),
        Kind::Size(..) => quantity(SIZES),
        Kind::SizeOrAuto(_) => any([json!({ "const": "auto" }), quantity(SIZES)]),
        Kind::Capacity => capacity(),
        Kind::Integers => json!({ "type": "array", "items": { "type": "integer", "minimum": 1 } }),
        Kind::Quantity => any([quantity(DURATIONS), quantity(SIZES)]),
        Kind::Distribution(_) => any([quantity(DURATIONS), quantity(SIZES), reference("distribution")]),
        Kind::Points => {
            json!({ "type": "array", "items": { "type": "array", "prefixItems": [quantity(SIZES), { "type": "number" }] } })
        }
        Kind::Names => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Schedule(words) => {
            let keys = words.iter().map(|word| (*word, whole())).chain([("at", quantity(DURATIONS))]);
            json!({ "type": "array", "items": table(keys, &["at"]) })
        }
        Kind::Tables(each) => json!({ "type": "array", "items": table(parameters(each), &required(each)) }),
        Kind::Text => json!({ "type": "string" }),
        Kind::Entry(registry) => reference(registry),
    }
}

const DURATIONS: &str = "ns|us|ms|s";
const SIZES: &str = "B|kB|MB|GB|TB";
const RATE_UNITS: &str = "bps|kbps|Mbps|Gbps|Tbps";

/// Returns the schema of a number with one of these units.
fn quantity(units: &str) -> Json {
    json!({ "type": "string", "pattern": format!("^[0-9]+(\\.[0-9]+)?(e-?[0-9]+)? ({units})$") })
}

fn capacity() -> Json {
    quantity(&format!("packets|bdp|{SIZES}|{DURATIONS}"))
}

fn whole() -> Json {
    json!({ "type": "integer", "minimum": 0 })
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{}", name.replace(' ', "%20")) })
}

fn any(several: impl IntoIterator<Item = Json>) -> Json {
    json!({ "anyOf": several.into_iter().collect::<Vec<_>>() })
}

/// Returns the schema of a table with these keys and no others.
fn table<'a>(keys: impl IntoIterator<Item = (&'a str, Json)>, required: &[&str]) -> Json {
    let properties: Map<_, _> = keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// Returns the schema of a table of one kind.
fn kind<'a>(name: &str, keys: impl IntoIterator<Item = (&'a str, Json)>, required: &[&'static str]) -> Json {
    table([("kind", json!({ "const": name }))].into_iter().chain(keys), &[&["kind"], required].concat())
}

fn of_entry<B>(entry: &Entry<B>) -> Json {
    kind(entry.name, parameters(entry.parameters), &required(entry.parameters))
}

fn of_entries<B>(entries: &'static [Entry<B>]) -> impl Iterator<Item = Json> {
    entries.iter().map(of_entry)
}

fn parameters(known: &[Parameter]) -> impl Iterator<Item = (&'static str, Json)> {
    known.iter().map(|parameter| (parameter.name, value(parameter.kind)))
}

fn required(known: &[Parameter]) -> Vec<&'static str> {
    known.iter().filter(|parameter| parameter.required).map(|parameter| parameter.name).collect()
}

/// Returns the schema of an algorithm of a user's own, which the digest of its code tells from a registry's entries.
fn own<'a>(keys: impl IntoIterator<Item = (&'a str, Json)>) -> Json {
    let text = || json!({ "type": "string" });
    let identity = [("kind", text()), ("code", text()), ("parameters", json!({ "type": "object" }))];
    table(identity.into_iter().chain(keys), &["kind", "code"])
}
