//! What `driftd.yaml` says.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ipnet::IpNet;

use super::ScanSettings;
use super::elements::inventory::{ENTRY, Files};
use super::elements::profile::Profiles;
use super::elements::{
    Element, Form, Shape, address, command, confirm, egress, inventory, metrics, person, profile, receiver, retention,
    route, scan, socket, store,
};
use super::error::ConfigError;
use super::inventory_file;
use super::reader::{At, Elsewhere, Fields, Reader};
use super::tree::{Node, Value};
use crate::model::confirm::Confirm;
use crate::model::notice::Route;
use crate::model::receiver::Receiver;
use crate::model::settings::{MetricSettings, Person, Retention, SelfCheck};

/// The last place where the file is looked for.
pub(super) const LAST_PLACE: &str = "/etc/driftd/driftd.yaml";

/// Nobody writes so much by hand.
const MOST_MIB: u64 = 1;

const RECEIVER: Shape = Shape::Map(receiver::KEYS);
const ROUTE: Shape = Shape::Map(route::KEYS);

pub(super) const KEYS: &[Element] = &[
    Element::new(
        "listen",
        Shape::Text(Form::Address),
        "where `POST /-/reload` is served to `people`; nowhere when not given",
    )
    .also_called(&["bind"]),
    Element::new("metrics_listen", Shape::Text(Form::Address), "where metrics and health are served"),
    Element::new("metrics", Shape::Map(metrics::KEYS), "which series describe each target"),
    STORE,
    Element::new("inventory", Shape::List(&ENTRY), "the files that list targets").also_called(&["inventories"]),
    Element::new("profiles", profile::SHAPE, "what several targets share, and what those of listed files may have"),
    Element::new("scan", Shape::Map(scan::KEYS), "how scans are run"),
    Element::new("commands", Shape::Map(command::KEYS), "which programs targets may be; none when not given"),
    Element::new("confirm", Shape::Map(confirm::KEYS), "how often and how long something must be seen"),
    Element::new("egress", Shape::Map(egress::KEYS), "special ranges opened for every target"),
    Element::new("people", Shape::List(&person::ONE), "who may act over TCP; with none, nobody may")
        .also_called(&["users"]),
    Element::new("retention", Shape::Map(retention::KEYS), "how long things are kept"),
    Element::new("receivers", Shape::List(&RECEIVER), "where messages go"),
    Element::new("routes", Shape::List(&ROUTE), "which events go where"),
    CONTROL,
];

const STORE: Element =
    Element::new("store", Shape::Map(store::KEYS), "where everything is kept").also_called(&["database"]);
const CONTROL: Element = Element::new("control", Shape::Text(Form::Path), "the path of the control socket");

/// The keys that say where the daemon is.
const KEYS_OF_PLACES: &[Element] = &[STORE, CONTROL];

/// The file, decoded; what it does not say is `None` or empty.
#[derive(Debug)]
pub(super) struct DaemonFile {
    pub(super) listen: Option<SocketAddr>,
    pub(super) metrics_listen: Option<SocketAddr>,
    pub(super) metrics: MetricSettings,
    pub(super) store: store::Store,
    pub(super) control: Option<PathBuf>,
    pub(super) inventory: Vec<Files>,
    pub(super) profiles: Profiles,
    pub(super) scan: ScanSettings,
    pub(super) self_check: SelfCheck,
    pub(super) commands: command::Allowed,
    pub(super) confirm: Confirm,
    pub(super) egress_allow: Vec<IpNet>,
    pub(super) people: Vec<Person>,
    pub(super) retention: Retention,
    pub(super) receivers: Vec<Receiver>,
    pub(super) routes: Vec<Route>,
}

pub(super) fn read(reader: &mut Reader<'_>, path: &Path) -> Option<DaemonFile> {
    let node = open(reader, path)?;
    decode(reader, &node)
}

fn open(reader: &mut Reader<'_>, path: &Path) -> Option<Node> {
    // Nobody named it: it is the last that is looked for.
    if path == Path::new(LAST_PLACE) && !path.exists() {
        reader.refuse(path, ConfigError::NoConfig);
        return None;
    }
    let node = reader.open(path, MOST_MIB, KEYS)?;
    // What a write that was cut off leaves must not look like one who wants nothing watched.
    if reader.is_blank() {
        reader.mistake_at(reader.whole_file(), ConfigError::EmptyFile, None);
        return None;
    }
    Some(node)
}

/// Where the daemon is, whatever else is wrong in the file.
pub(super) fn whereabouts(reader: &mut Reader<'_>, path: &Path) -> Option<(store::Store, Option<PathBuf>)> {
    let node = open(reader, path)?;
    let fields = Fields::beside(reader, &node, "driftd.yaml", KEYS_OF_PLACES, Elsewhere::Unread);
    let store = fields.read(reader, "store", store::decode).unwrap_or_default();
    Some((store, fields.read(reader, "control", socket::decode)))
}

pub(super) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<DaemonFile> {
    // A file of comments alone says nothing, which is allowed.
    if !matches!(node.value, Value::Null) && !reader.is_of(node, &Shape::Map(KEYS), "the file") {
        return None;
    }
    let elsewhere = Elsewhere::Belongs(inventory_file::KEYS, "it belongs in a file that `inventory` lists");
    let fields = Fields::beside(reader, node, "driftd.yaml", KEYS, elsewhere);
    let names = fields.node("receivers").map(|node| names(reader, node)).unwrap_or_default();
    let receivers = |reader: &mut Reader<'_>, node| Some(reader.items(node, &RECEIVER, "a receiver", receiver::decode));
    let routes = |reader: &mut Reader<'_>, node| {
        Some(reader.items(node, &ROUTE, "a route", |reader, node| route::decode(reader, node, &names)))
    };
    let (scan, self_check) = fields.read(reader, "scan", scan::decode).unwrap_or_default();
    let file = DaemonFile {
        listen: fields.read(reader, "listen", address::decode),
        metrics_listen: fields.read(reader, "metrics_listen", address::decode),
        metrics: fields.read(reader, "metrics", metrics::decode).unwrap_or_default(),
        store: fields.read(reader, "store", store::decode).unwrap_or_default(),
        control: fields.read(reader, "control", socket::decode),
        inventory: fields.read(reader, "inventory", inventory::decode).unwrap_or_default(),
        profiles: fields.read(reader, "profiles", profile::decode).unwrap_or_default(),
        scan,
        self_check,
        commands: fields.read(reader, "commands", command::allowed).unwrap_or_default(),
        confirm: fields.read(reader, "confirm", confirm::decode).unwrap_or_default().over(Confirm::default()),
        egress_allow: fields.read(reader, "egress", egress::decode).unwrap_or_default(),
        people: fields.read(reader, "people", person::decode).unwrap_or_default(),
        retention: fields.read(reader, "retention", retention::decode).unwrap_or_default(),
        receivers: fields.read(reader, "receivers", receivers).unwrap_or_default(),
        routes: fields.read(reader, "routes", routes).unwrap_or_default(),
    };
    let shown_at = file.metrics_listen.unwrap_or(address::METRICS);
    // Port 0 is another one each time.
    if file.listen.is_some_and(|listen| listen == shown_at && listen.port() != 0) {
        reader.mistake(fields.key_span("listen"), ConfigError::SameAddress);
    }
    Some(file)
}

/// The names of all receivers, also of those that are wrong otherwise: a route to one of these is no further mistake.
fn names(reader: &mut Reader<'_>, node: &Node) -> Vec<String> {
    let Value::List(items) = &node.value else { return Vec::new() };
    let mut first: BTreeMap<String, At> = BTreeMap::new();
    let mut names = Vec::new();
    for item in items {
        let Value::Map(entries) = &item.value else { continue };
        let Some(entry) = entries.iter().find(|entry| entry.key == "name") else { continue };
        let (name, at) = (reader.text(&entry.value), reader.at(entry.value.span));
        if let Some(other) = first.get(&name) {
            reader.mistake_at(at, ConfigError::DuplicateReceiver(name), Some((*other, "the first stands here")));
        } else {
            first.insert(name.clone(), at);
            names.push(name);
        }
    }
    names
}
