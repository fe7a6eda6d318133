//! Links: rate, queue and impairments of each direction.

use crate::document::files::Files;
use crate::document::reader::{Item, Table, duration, entry_json, parameters_json};
use crate::document::{Result, ScenarioError, Toml};
use crate::model::extensions::Extensions;
use crate::model::plugin::{Chosen, Plugins};
use crate::packs::tcp::strip;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use vazao_engine::registry::{Entry, Parameter, ParameterError, Parameters, Value};
use vazao_engine::units::number_in;
use vazao_engine::{Bytes, Duration, RandomStream, Rate};
use vazao_network::delay::{Course, DELAYS, LONGEST};
use vazao_network::impairment::{Build, IMPAIRMENTS, OUTAGES};
use vazao_network::loss::{self, INDEPENDENT, LOSS_MODELS};
use vazao_network::own::{LossFactory, Own, QueueFactory};
use vazao_network::rate::{RATES, SHAPERS, Shape, Variation};
use vazao_network::topology::LinkSpec;
use vazao_network::{Direction, Given, ImpairmentSpec, Impairments, QUEUES, QueueSpec};

/// Returns the keys of a direction: its own, the impairments, and the strips of a middlebox.
fn keys() -> impl Iterator<Item = &'static str> {
    let own = ["rate", "shaper", "delay", "overhead", "queue", "loss"];
    own.into_iter().chain(IMPAIRMENTS.iter().map(|entry| entry.name)).chain(["strip"])
}

pub(crate) fn read_link(item: Item, extensions: &Extensions) -> Result<LinkSpec> {
    read_link_table(item.into_table()?, extensions)
}

/// Reads a link. Its keys hold for both directions; `forward` and `reverse` override them.
pub(crate) fn read_link_table(mut table: Table, extensions: &Extensions) -> Result<LinkSpec> {
    let (forward, reverse) = (table.take("forward"), table.take("reverse"));
    let keys = Keys::take(&mut table);
    let error = table.error("");
    table.finish()?;
    let direction = |item: Option<Item>| -> Result<Direction> {
        let mut own = match item {
            None => return keys.clone().read(&error, extensions),
            Some(item) => item.into_table()?,
        };
        let special = Keys::take(&mut own);
        own.finish()?;
        special.over(&keys).read(&error, extensions)
    };
    let (forward, reverse) = (Arc::new(direction(forward)?), Arc::new(direction(reverse)?));
    Ok(LinkSpec { forward, reverse, given: Given::default() })
}

/// Unread keys of one direction.
#[derive(Clone)]
struct Keys(BTreeMap<&'static str, Item>);

impl Keys {
    fn take(table: &mut Table) -> Keys {
        Keys(keys().filter_map(|key| Some((key, table.take(key)?))).collect())
    }

    fn over(self, general: &Keys) -> Keys {
        let mut keys = general.0.clone();
        keys.extend(self.0);
        Keys(keys)
    }

    /// Reads a key, if it is present.
    fn optional<T>(&mut self, key: &str, read: impl FnOnce(Item) -> Result<T>) -> Result<Option<T>> {
        self.0.remove(key).map(read).transpose()
    }

    fn read(mut self, link: &ScenarioError, extensions: &Extensions) -> Result<Direction> {
        let Some((rate, variation)) = self.optional("rate", |item| read_rate(item, &extensions.files))? else {
            let key = format!("{}.rate", link.key);
            let problem = "is missing; write a rate such as \"10 Mbps\"".into();
            return Err(ScenarioError { key, problem, ..link.clone() });
        };
        let (delay, course) = self.optional("delay", |item| read_delay(item, &extensions.files))?.unwrap_or_default();
        let (queue, own_queue) =
            self.optional("queue", |item| read_queue(item, &extensions.queues))?.unwrap_or_default();
        let shaper = self.optional("shaper", read_shaper)?;
        let overhead = self.optional("overhead", read_overhead)?;
        let (loss, own_loss) = self.optional("loss", |item| read_loss(item, &extensions.losses))?.unwrap_or_default();
        Ok(Direction {
            rate,
            variation,
            shaper,
            delay,
            course,
            overhead: overhead.unwrap_or(0),
            queue,
            loss,
            impairments: self.read_impairments()?,
            own_loss,
            own_queue,
        })
    }

    fn read_impairments(&mut self) -> Result<ImpairmentSpec> {
        let mut spec = ImpairmentSpec::default();
        for entry in IMPAIRMENTS {
            let Some(item) = self.0.remove(entry.name) else { continue };
            if let Build::Outage(build) = entry.build {
                let read = |item: Item| {
                    let parameters = item.clone().into_table()?.parameters(entry.parameters)?;
                    let outage =
                        build(&parameters).map_err(|e| item.error(format!("{} {}", e.path.join("."), e.problem)))?;
                    Ok((outage, parameters))
                };
                spec.outages = item.into_list().into_iter().map(read).collect::<Result<_>>()?;
                continue;
            }
            let parameters = settings(item.clone(), entry.parameters)?;
            if let Build::Strike(make) | Build::Delay(make) | Build::Entrance(make) = entry.build {
                // Made once to see whether its parameters go together.
                let made = make(&parameters, RandomStream::new(0, entry.name), &mut Impairments::default());
                made.map_err(|error| item.refused(error, 0))?;
            }
            // An impairment that never strikes is left out.
            if parameters.get(entry.parameters[0].name) != Some(&Value::Number(0.0)) {
                spec.random.push((entry, parameters));
            }
        }
        spec.middlebox = self.optional("strip", read_strip)?.unwrap_or(0);
        Ok(spec)
    }
}

/// Reads parameters: a table of them, or the value of the first.
fn settings(item: Item, known: &[Parameter]) -> Result<Parameters> {
    let has_more = known[1..].iter().any(|parameter| parameter.required);
    if has_more || matches!(item.node.value, Toml::Table(_)) {
        return item.into_table()?.parameters(known);
    }
    let given = BTreeMap::from([(known[0].name.to_owned(), item.node.value.raw())]);
    Parameters::resolve(known, &given).map_err(|error| item.refused(error, 1))
}

/// Reads a rate: fixed; or one that varies.
fn read_rate(item: Item, files: &Files) -> Result<(Rate, Variation)> {
    if !matches!(item.node.value, Toml::List(_) | Toml::Table(_)) {
        return Ok((item.quantity("10 Mbps")?, Variation::Fixed));
    }
    let expected = "is not a rate; write \"10 Mbps\", steps, or { trace = \"cellular\" }";
    let (variation, digest) =
        read_varying(item, RATES, expected, |entry, parameters| (entry.build)(parameters, &|name| files.read(name)))?;
    check_digest(digest, trace_digest(&variation.1))?;
    Ok(variation)
}

/// Reads a delay: fixed; or one that varies, with the least.
fn read_delay(item: Item, files: &Files) -> Result<(Duration, Option<Course>)> {
    if !matches!(item.node.value, Toml::List(_) | Toml::Table(_)) {
        return Ok((duration(&item, Duration::ZERO, LONGEST)?, None));
    }
    let expected = "is not a delay; write \"20 ms\", steps, or { trace = \"file\" }";
    let (course, digest) =
        read_varying(item, DELAYS, expected, |entry, parameters| (entry.build)(parameters, &|name| files.read(name)))?;
    check_digest(digest, course.file.is_some().then(|| hex(course.digest())))?;
    Ok((course.least(), Some(course)))
}

/// Returns the digest of the trace that a rate follows.
fn trace_digest(variation: &Variation) -> Option<String> {
    match variation {
        Variation::Trace { opportunities, .. } => Some(hex(opportunities.digest())),
        Variation::Fixed | Variation::Schedule { .. } => None,
    }
}

fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Checks that a trace is what the canonical form says that it was.
fn check_digest(said: Option<Item>, found: Option<String>) -> Result<()> {
    match (said, found) {
        (Some(item), Some(found)) if item.text()? != found => {
            Err(item.error(format!("the trace has the digest {found} here, not {}; it is another", item.text()?)))
        }
        (Some(item), None) => Err(item.error("is of a trace; leave it out")),
        _ => Ok(()),
    }
}

/// Reads what varies: a list of steps, which the first kind has, or a table with the first parameter of a kind. Returns the
/// digest of a trace too, if the canonical form says it.
fn read_varying<B, T>(
    mut item: Item,
    kinds: &'static [Entry<B>],
    expected: &str,
    build: impl FnOnce(&Entry<B>, &Parameters) -> std::result::Result<T, ParameterError>,
) -> Result<(T, Option<Item>)> {
    let digest = item.extract("digest");
    let entry = match &item.node.value {
        Toml::Table(entries) => {
            let has = |name: &str| entries.iter().any(|(key, _)| key == name);
            let mut known = kinds.iter().filter(|entry| has(entry.parameters[0].name));
            match (known.next(), known.next()) {
                (Some(entry), None) => entry,
                _ => return Err(item.error(expected)),
            }
        }
        _ => &kinds[0],
    };
    let parameters = settings(item.clone(), entry.parameters)?;
    let skipped = usize::from(matches!(item.node.value, Toml::List(_)));
    let made = build(entry, &parameters).map_err(|error| item.refused(error, skipped))?;
    Ok((made, digest))
}

fn read_shaper(item: Item) -> Result<(&'static Entry<Shape>, Parameters)> {
    let (entry, table) = item.with_kind(SHAPERS[0].name).entry("shaper", SHAPERS)?;
    Ok((entry, table.parameters(entry.parameters)?))
}

fn read_overhead(item: Item) -> Result<u32> {
    let bytes: Bytes = item.quantity("14 B")?;
    if bytes.get() > 65_535 {
        return Err(item.error(format!("{bytes} is too large; write at most \"65535 B\"")));
    }
    Ok(bytes.get() as u32)
}

/// Reads the strips of a middlebox: one name or several.
fn read_strip(item: Item) -> Result<u16> {
    item.into_list().iter().try_fold(0, |all, item| {
        let one = strip::stripping(item.text()?).map_err(|problem| item.error(problem))?;
        Ok(all | one)
    })
}

/// Converts a plugin to what the network knows of it.
fn own<F>(chosen: Chosen<F>) -> Option<Own<F>> {
    let description = Json::from(chosen.json()).to_string();
    chosen.plugin.map(|plugin| Own { name: chosen.name, description, build: plugin.build })
}

/// Reads a queue: the limit of drop-tail, a queue's name, or a table with its kind. One of the user's own has a limit too.
fn read_queue(item: Item, plugins: &Plugins<QueueFactory>) -> Result<(QueueSpec, Option<Own<QueueFactory>>)> {
    if let Some((chosen, mut table)) = Chosen::own_beside(&item, plugins, &["limit"])? {
        let limit = table.take("limit").map(|limit| limit.quantity("100 packets")).transpose()?;
        return Ok((limit.map(QueueSpec::drop_tail).unwrap_or_default(), own(chosen)));
    }
    read_known_queue(item).map(|queue| (queue, None))
}

/// Reads a queue of the registry.
fn read_known_queue(item: Item) -> Result<QueueSpec> {
    let is_name = item.text().is_ok_and(|text| text.starts_with(|c: char| c.is_ascii_alphabetic()));
    if is_name || matches!(item.node.value, Toml::Table(_)) {
        let (entry, table) = item.entry("queue", QUEUES).map_err(|error| {
            let problem = format!("{}; or a limit: write \"100 packets\"", error.problem);
            ScenarioError { problem: if is_name { problem } else { error.problem }, ..error }
        })?;
        return Ok(QueueSpec { entry, parameters: table.parameters(entry.parameters)? });
    }
    item.quantity("100 packets").map(QueueSpec::drop_tail)
}

/// Loss model of the registry with its parameters, if there is any loss.
type Loss = Option<(&'static Entry<loss::Constructor>, Parameters)>;

/// Reads a loss model: a probability, or a model's name, or a table with its kind.
fn read_loss(item: Item, plugins: &Plugins<LossFactory>) -> Result<(Loss, Option<Own<LossFactory>>)> {
    match Chosen::own(&item, plugins)? {
        Some(chosen) => Ok((None, own(chosen))),
        None => Ok((read_known_loss(item)?, None)),
    }
}

/// Reads a loss model of the registry.
fn read_known_loss(item: Item) -> Result<Loss> {
    if let Some(p) = item.text().ok().and_then(number_in).filter(|p| (0.0..1.0).contains(p)) {
        return Err(item.error(format!("{} is a text; write {p}", item.node.value)));
    }
    if let Toml::Number(p) = item.node.value {
        if p == 1.0 {
            let where_meant = "or { kind = \"bernoulli\", p = 1 } where nothing is to arrive";
            return Err(item.error(format!("1 is all packets; write 0.01 for 1 %, {where_meant}")));
        }
        let parameters = settings(item, INDEPENDENT.parameters).map_err(|error| {
            let expected = INDEPENDENT.parameters[0].kind.expected();
            let problem = format!("{p} is not a probability; write {expected}, or a loss model");
            ScenarioError { problem, ..error }
        })?;
        return Ok((p > 0.0).then_some((&INDEPENDENT, parameters)));
    }
    let (entry, table) = item.entry("loss model", LOSS_MODELS)?;
    Ok(Some((entry, table.parameters(entry.parameters)?)))
}

/// Describes a direction in canonical form. Absent keys leave no trace, so that new ones change no run's identity.
pub(crate) fn direction_json(direction: &Direction) -> Json {
    // Drop-tail is its limit.
    let limit = || direction.queue.limit().to_string();
    let described = |description: &str| serde_json::from_str::<Json>(description).expect("JSON of ours");
    let queue = match &direction.own_queue {
        Some(own) => {
            let mut queue = described(&own.description);
            queue["limit"] = limit().into();
            queue
        }
        None if direction.queue.is_drop_tail() => limit().into(),
        None => entry_json(direction.queue.entry.name, &direction.queue.parameters).into(),
    };
    let mut json = json!({
        "rate": rate_json(direction),
        "delay": direction.course.as_ref().map_or_else(|| direction.delay.to_string().into(), course_json),
        "overhead": Bytes::new(direction.overhead.into()).to_string(),
        "queue": queue,
    });
    if let Some((model, parameters)) = &direction.loss {
        json["loss"] = entry_json(model.name, parameters).into();
    }
    if let Some(own) = &direction.own_loss {
        json["loss"] = described(&own.description);
    }
    let ImpairmentSpec { random, outages, middlebox } = &direction.impairments;
    if let Some((entry, parameters)) = &direction.shaper {
        json["shaper"] = entry_json(entry.name, parameters).into();
    }
    for (entry, parameters) in random {
        json[entry.name] = parameters_json(parameters).into();
    }
    if !outages.is_empty() {
        json[OUTAGES.name] = outages.iter().map(|(_, parameters)| parameters_json(parameters)).collect();
    }
    if *middlebox != 0 {
        json["strip"] = strip::stripped(*middlebox).map(|entry| entry.name).collect();
    }
    json
}

fn rate_json(direction: &Direction) -> Json {
    match &direction.variation {
        Variation::Fixed => direction.rate.to_string().into(),
        Variation::Schedule { steps, repeat } => {
            let steps = steps.iter().map(|(at, rate)| json!({ "at": span(*at), "rate": rate.to_string() }));
            with_given([("steps", Some(steps.collect())), ("repeat", repeat.map(span))])
        }
        Variation::Trace { name, seed, .. } => with_given([
            ("trace", Some(name.as_str().into())),
            ("seed", seed.map(Json::from)),
            ("digest", trace_digest(&direction.variation).map(Json::from)),
        ]),
    }
}

fn course_json(course: &Course) -> Json {
    let Course { file, steps, repeat, keeps_order, .. } = course;
    let steps = || steps.iter().map(|(at, delay)| json!({ "at": span(*at), "delay": span(*delay) })).collect();
    with_given([
        ("trace", file.as_deref().map(Json::from)),
        ("digest", file.is_some().then(|| hex(course.digest()).into())),
        ("steps", file.is_none().then(steps)),
        ("repeat", repeat.map(span)),
        ("keeps_order", Some((*keeps_order).into())),
    ])
}

/// Returns a table of the keys that have a value.
fn with_given<const N: usize>(keys: [(&str, Option<Json>); N]) -> Json {
    keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect::<Map<_, _>>().into()
}

/// Returns a span of time, given in nanoseconds, as a user would write it.
fn span(nanoseconds: u64) -> Json {
    Duration::from_nanos(nanoseconds).to_string().into()
}
