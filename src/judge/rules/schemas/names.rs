//! What names tell: parameters with reach, free texts, dispatchers, header mappings.

use std::collections::BTreeMap;

use crate::judge::rename::{properties, tokens};
use crate::judge::words::words;
use crate::model::json::Json;

/// A parameter's name token, and what it then names.
const REACH: &[(&str, &str)] = &[
    ("file", "a file"),
    ("filename", "a file"),
    ("filepath", "a file"),
    ("path", "a path"),
    ("paths", "paths"),
    ("dir", "a folder"),
    ("directory", "a folder"),
    ("folder", "a folder"),
    ("url", "a URL"),
    ("urls", "URLs"),
    ("uri", "a URL"),
    ("uris", "URLs"),
    ("endpoint", "a URL"),
    ("webhook", "a URL"),
    ("host", "a host"),
    ("hostname", "a host"),
    ("domain", "a host"),
    ("command", "a command"),
    ("cmd", "a command"),
    ("shell", "a command"),
    ("script", "code"),
    ("sql", "a query on the server's side"),
];

/// Words of a parameter's description, in a row, and what it then names.
const REACH_TEXT: &[(&[&str], &str)] = &[
    (&["file", "path"], "a file"),
    (&["path", "to"], "a path"),
    (&["data", "uri"], "a URL"),
    (&["url", "of"], "a URL"),
    (&["url", "to"], "a URL"),
    (&["url", "or"], "a URL"),
    (&["or", "url"], "a URL"),
    (&["shell", "command"], "a command"),
    (&["command", "to"], "a command"),
    (&["code", "to"], "code"),
    (&["sql", "query"], "a query on the server's side"),
    (&["graphql", "query"], "a query on the server's side"),
];

const FREE_TEXT: &[&str] = &[
    "context",
    "sidenote",
    "note",
    "notes",
    "reason",
    "reasoning",
    "rationale",
    "conversation",
    "transcript",
    "history",
    "metadata",
    "debug",
];

const DISPATCH_NAME: &[&str] =
    &["name", "tool", "toolname", "action", "actionname", "function", "functionname", "method", "operation", "command"];
const DISPATCH_ARGUMENTS: &[&str] =
    &["arguments", "args", "params", "parameters", "input", "inputs", "payload", "kwargs"];

/// What a parameter reaches on the server's side; nothing for booleans and numbers.
pub(in crate::judge) fn reach(name: &str, schema: &Json) -> Option<&'static str> {
    if is_plain_value(schema) {
        return None;
    }
    let tokens = tokens(name);
    // A filter chooses among what the server has; it does not send the server anywhere.
    if tokens.iter().any(|token| matches!(token.as_str(), "filter" | "filters" | "format" | "type" | "encoding")) {
        return None;
    }
    let by_name = tokens.iter().find_map(|token| REACH.iter().find(|(word, _)| word == token));
    if let Some((_, what)) = by_name {
        return Some(what);
    }
    let text = schema.member("description").and_then(Json::as_str).unwrap_or_default();
    // Whole texts are read, but no more of one than a description has.
    let said: Vec<String> = words(text).take(400).collect();
    let holds = |phrase: &[&str]| said.windows(phrase.len()).any(|run| run.iter().zip(phrase).all(|(l, r)| l == r));
    REACH_TEXT.iter().find(|(phrase, _)| holds(phrase)).map(|(_, what)| *what)
}

fn is_plain_value(schema: &Json) -> bool {
    let plain = |name: &Json| matches!(name.as_str(), Some("boolean" | "integer" | "number" | "null"));
    match schema.member("type") {
        Some(Json::Array(types)) => types.iter().all(plain),
        Some(one) => plain(one) || schema.member("enum").is_some(),
        None => schema.member("enum").is_some() || schema.member("const").is_some(),
    }
}

/// Whether a parameter is a free text whose name invites a model to tell what it knows.
pub(super) fn is_free_text(name: &str, schema: &Json) -> bool {
    let kind = schema.member("type").and_then(Json::as_str);
    let bound = ["enum", "const", "format", "pattern"].iter().any(|keyword| schema.member(keyword).is_some());
    kind.is_none_or(|kind| kind == "string")
        && !bound
        && tokens(name).iter().any(|token| FREE_TEXT.contains(&token.as_str()))
}

/// Whether `name` is among the required properties of a tool's input.
pub(super) fn is_required(tool: &Json, name: &str) -> bool {
    let required = tool.member("inputSchema").and_then(|schema| schema.member("required")?.as_array());
    required.into_iter().flatten().any(|entry| entry.as_str() == Some(name))
}

/// Whether a tool says that it talks to the outside, or takes an address.
pub(super) fn reaches_out(tool: &Json) -> bool {
    let open = tool.member("annotations").and_then(|block| block.member("openWorldHint")?.as_bool());
    let address = |name: &&str| {
        matches!(tool_property(tool, name).and_then(|schema| reach(name, schema)), Some("a URL" | "URLs" | "a host"))
    };
    open == Some(true) || properties(tool).iter().any(address)
}

fn tool_property<'j>(tool: &'j Json, name: &str) -> Option<&'j Json> {
    tool.member("inputSchema")?.member("properties")?.member(name)
}

/// The parameters of a tool that reach, and what.
pub(in crate::judge) fn reaching(tool: &Json) -> Vec<(String, &'static str)> {
    let properties = tool.member("inputSchema").and_then(|schema| schema.member("properties")?.as_object());
    let reaching = properties.into_iter().flatten();
    reaching.filter_map(|(name, schema)| reach(name, schema).map(|what| (name.clone(), what))).collect()
}

/// The two parameters that make a tool a dispatcher: a name, and a free object of arguments.
pub(in crate::judge) fn dispatcher(tool: &Json) -> Option<(&str, &str)> {
    let properties = tool.member("inputSchema")?.member("properties")?.as_object()?;
    let find = |list: &[&str], fits: fn(&Json) -> bool| {
        let named = |name: &str| list.contains(&tokens(name).concat().as_str());
        properties.iter().find(|(name, schema)| named(name) && fits(schema)).map(|(name, _)| name.as_str())
    };
    let is_text = |schema: &Json| {
        schema.member("type").and_then(Json::as_str) == Some("string") && schema.member("enum").is_none()
    };
    Some((find(DISPATCH_NAME, is_text)?, find(DISPATCH_ARGUMENTS, is_free_object)?))
}

fn is_free_object(schema: &Json) -> bool {
    let object = schema.member("type").and_then(Json::as_str) == Some("object");
    let named = schema.member("properties").and_then(Json::as_object).is_some_and(|all| !all.is_empty());
    object && !named && schema.member("additionalProperties") != Some(&Json::Bool(false))
}

/// Every `x-mcp-header` in a schema, by the place it stands at.
pub(in crate::judge) fn header_maps(schema: Option<&Json>) -> BTreeMap<Vec<String>, String> {
    let mut found = BTreeMap::new();
    if let Some(schema) = schema {
        walk(schema, &mut Vec::new(), &mut found);
    }
    found
}

fn walk(schema: &Json, path: &mut Vec<String>, found: &mut BTreeMap<Vec<String>, String>) {
    if let Some(header) = schema.member("x-mcp-header") {
        found.insert(path.clone(), header.as_str().map_or_else(|| header.canonical(), str::to_owned));
    }
    let properties = schema.member("properties").and_then(Json::as_object);
    for (name, property) in properties.into_iter().flatten() {
        path.push(name.clone());
        walk(property, path, found);
        path.pop();
    }
}

/// What is wrong with the header mappings of a tool's input.
pub(in crate::judge) fn invalid_headers(tool: &Json) -> Vec<String> {
    let schema = tool.member("inputSchema");
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (path, header) in header_maps(schema) {
        let property =
            path.iter().try_fold(schema, |here, name| Some(here?.member("properties")?.member(name))).flatten();
        let kind = property.and_then(|property| property.member("type")?.as_str());
        let place = crate::judge::canon::shown(&path.join("."));
        if header.is_empty() || !header.bytes().all(is_token) {
            wrong.push(format!("{place}: no header token"));
        }
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            wrong.push(format!("{place}: neither string, integer nor boolean"));
        }
        let count = seen.entry(header.to_ascii_lowercase()).or_default();
        *count += 1;
        if *count == 2 {
            wrong.push(format!("{place}: used twice"));
        }
    }
    wrong
}

/// RFC 9110, section 5.6.2.
const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}
