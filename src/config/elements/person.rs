//! `people`: who may act over TCP, each by a token of their own.

use std::collections::BTreeMap;

use secrecy::{ExposeSecret, SecretString};

use super::super::error::ConfigError;
use super::super::reader::{At, Fields, Reader};
use super::super::spelling;
use super::super::tree::Node;
use super::{Element, Form, Shape, receiver, secret};
use crate::model::settings::{Person, Right};

/// Shorter ones can be guessed.
const SHORTEST_TOKEN: usize = 16;

const RIGHTS: &[&str] = &["read", "decide"];
const RIGHT: Shape = Shape::Word(RIGHTS);

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("name", Shape::Text(Form::Free), "their name in the ledger").required().also_called(&["id", "user"]),
    Element::new("token", Shape::Secret, "a reference to their token").required().also_called(&["password", "bearer"]),
    Element::new("may", Shape::OneOrList(&RIGHT), "`read`, `decide` or both").required().also_called(&["rights"]),
];

pub(in crate::config) const ONE: Shape = Shape::Map(KEYS);

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<Person>> {
    let mut names: BTreeMap<String, At> = BTreeMap::new();
    let mut tokens: Vec<(SecretString, At)> = Vec::new();
    Some(reader.items(node, &ONE, "a person", |reader, node| {
        let fields = Fields::of(reader, node, "a person", KEYS);
        let name = fields.read(reader, "name", |reader, node| receiver::name(reader, node, "name of a person"));
        let token = fields.read(reader, "token", token);
        let may = fields.read(reader, "may", rights);
        let place = |reader: &Reader<'_>, key| reader.at(fields.node(key).map_or(fields.span, |node| node.span));
        if let Some(name) = &name {
            let at = place(reader, "name");
            if let Some(first) = names.get(name) {
                let error = ConfigError::DuplicateName { what: "people", name: name.clone() };
                reader.mistake_at(at, error, Some((*first, "the first stands here")));
            } else {
                names.insert(name.clone(), at);
            }
        }
        let (token, value) = token?;
        let at = place(reader, "token");
        if let Some(value) = value {
            if let Some((_, first)) = tokens.iter().find(|(other, _)| other.expose_secret() == value.expose_secret()) {
                reader.mistake_at(at, ConfigError::SameToken, Some((*first, "the other stands here")));
            }
            tokens.push((value, at));
        }
        Some(Person { name: name?, token, may: may? })
    }))
}

/// It is sent in a header, and is all that keeps others out.
fn token(reader: &mut Reader<'_>, node: &Node) -> Option<(crate::model::secret::SecretRef, Option<SecretString>)> {
    let (secret, value) = secret::resolved(reader, node)?;
    let is_token = |text: &str| text.len() >= SHORTEST_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic());
    if value.as_ref().is_none_or(|value| is_token(value.expose_secret())) {
        return Some((secret, value));
    }
    let remedy = "a token is 16 or more letters, digits and signs, as `openssl rand -hex 32` makes them";
    reader.mistake(node.span, ConfigError::SecretUnfit { needed: "token", remedy });
    None
}

fn rights(reader: &mut Reader<'_>, node: &Node) -> Option<Vec<Right>> {
    let mut rights = reader.items(node, &RIGHT, "a right of `may`", |reader, node| {
        let word = reader.text(node);
        match word.as_str() {
            "read" => Some(Right::Read),
            "decide" => Some(Right::Decide),
            word => {
                let remedy = spelling::advice(word, RIGHTS, "one of");
                reader.mistake(node.span, ConfigError::UnknownWord { what: "right", remedy });
                None
            }
        }
    });
    rights.sort_unstable();
    rights.dedup();
    reader.is_filled(node).then_some(rights)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;
    use crate::model::secret::SecretRef;

    #[test]
    fn a_person_has_a_name_a_token_and_rights() {
        assert_eq!(
            taken("[ { name: oncall, token: { env: TOKEN }, may: [decide, read, read] } ]", decode),
            [Person {
                name: "oncall".into(),
                token: SecretRef::Env("TOKEN".into()),
                may: vec![Right::Read, Right::Decide]
            }]
        );
    }

    #[test]
    fn two_people_are_told_apart_by_name_and_token() {
        assert_eq!(
            refused(
                "[ { name: a, token: { env: TOKEN }, may: read }, { name: a, token: { env: TOKEN }, may: read } ]",
                decode
            ),
            [
                "two people have the name `a`; one name stands for one of them",
                "two people have the same token; each has their own, else the ledger could not tell them apart",
            ]
        );
    }

    #[test]
    fn who_could_not_act_or_could_be_guessed_is_refused() {
        assert_eq!(
            refused(
                "[ { name: on call, token: { env: SHORT }, may: [] }, { name: b, token: { env: ABSENT }, may: wirte }, \
                 { name: c, token: hunter2, may: admin } ]",
                decode
            ),
            [
                "this is no name of a person: it has 1 to 64 letters, digits, `-`, `_` and `.`",
                "the value of that secret is no token; a token is 16 or more letters, digits and signs, as \
                 `openssl rand -hex 32` makes them",
                "this list is empty; name at least one",
                "a secret has no value: that environment variable is not set; \
                 secrets of receivers and people must be there at start: \
                 the unit's environment may have it where this one has not",
                "this is no right; one of: read, decide",
                "a secret is written out here; \
                 refer to it: `{ env: NAME }`, `{ file: PATH }` or `{ credential: NAME }`",
                "this is no right; one of: read, decide",
            ]
        );
    }
}
