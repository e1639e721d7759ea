//! How the conversation is carried: `mcp.transport`.

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::json::Json;

use super::draft::Draft;
use super::{common, network};

/// Drifts of `mcp.transport`. With `handshake_tells`, the handshake is compared too and tells a change of date.
pub(in crate::judge) fn judge(accepted: &[Json], seen: &[Json], handshake_tells: bool) -> Vec<Draft> {
    let root = Place::root(accepted, seen);
    if !root.is_object() || root.old().is_none() || seen.is_empty() {
        return if root.differs() { vec![Draft::other(&root, "the transport differs".to_owned())] } else { Vec::new() };
    }
    let changed = root.changed();
    let era = changed.iter().find(|member| member.name() == "era");
    let carrier = changed.iter().find(|member| member.name() == "transport");
    let mut out = Vec::new();
    if let Some(carrier) = carrier {
        out.push(carried_otherwise(carrier, &changed));
    }
    if let Some(era) = era {
        out.push(era_changed(era, &changed));
    }
    for member in &changed {
        let message = |what: &str| format!("{what} {}", common::fate(member));
        match member.name() {
            "era" | "transport" => {}
            // Another transport brings its own, and says where its messages go.
            "messages" | "session" | "framing" if carrier.is_some() => {}
            // Another era brings its own date, sessions and framing.
            "date" | "session" | "framing" if era.is_some() => {}
            "messages" => {
                let message = "messages go to another URL of the same stream".to_owned();
                out.push(Draft::plain(member, "mcp.transport-changed", message).told(member));
            }
            "date" if handshake_tells => {}
            "date" => out.push(date(member)),
            "session" => out.push(session(member)),
            name if network::accounts_for(name, &changed) => {}
            name => out.push(Draft::other(member, message(&shown(name)))),
        }
    }
    out.extend(network::judge(&root, &changed));
    out
}

/// Streamable HTTP and HTTP+SSE have their own framing, sessions and places for messages.
fn carried_otherwise(carrier: &Place<'_>, changed: &[Place<'_>]) -> Draft {
    let message = format!("the transport {}", common::fate(carrier));
    let draft = Draft::plain(carrier, "mcp.transport-changed", message).told(carrier);
    let own = changed.iter().filter(|member| matches!(member.name(), "messages" | "session" | "framing"));
    let draft = own.fold(draft, |draft, member| draft.claiming(member.path().clone(), member.now()));
    let content_type =
        changed.iter().find(|member| member.name() == "headers").map(|headers| headers.child("content-type"));
    let content_type = content_type.filter(Place::differs);
    content_type.iter().fold(draft, |draft, field| draft.claiming(field.path().clone(), field.now()))
}

fn era_changed(era: &Place<'_>, changed: &[Place<'_>]) -> Draft {
    let draft =
        Draft::plain(era, "mcp.era-changed", "the server speaks another era of the protocol".to_owned()).told(era);
    changed.iter().filter(|member| matches!(member.name(), "date" | "session" | "framing")).fold(
        draft,
        |draft, member| {
            let draft = draft.claiming(member.path().clone(), member.now());
            if member.name() == "date" { draft.told(member) } else { draft }
        },
    )
}

/// The date that is spoken.
pub(super) fn date(place: &Place<'_>) -> Draft {
    let (old, new) = place.texts();
    let older = new.zip(old).is_some_and(|(new, old)| new < old);
    let (rule, word) = if older {
        ("mcp.protocol-version-downgraded", "an older protocol date than before")
    } else {
        ("mcp.protocol-version-changed", "another protocol date")
    };
    Draft::plain(place, rule, format!("the server speaks {word}")).told(place)
}

fn session(place: &Place<'_>) -> Draft {
    let given = place.now().and_then(Json::as_bool) == Some(true);
    let message = if given { "sessions are given now" } else { "sessions are no longer given" };
    Draft::plain(place, "mcp.session-behaviour-changed", message.to_owned())
}
