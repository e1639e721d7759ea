//! What carries the conversation below MCP: address, redirects, HTTP version and header fields of `mcp.transport`.

use url::Url;

use crate::judge::canon::shown;
use crate::judge::diff::Place;
use crate::model::json::Json;

use super::common;
use super::draft::Draft;

/// Header fields that only say which product answers.
const PRODUCT: [&str; 3] = ["server", "via", "x-powered-by"];

/// Drifts of the members of `mcp.transport` in `changed` that belong to the network; the others are left to the caller.
pub(super) fn judge(root: &Place<'_>, changed: &[Place<'_>]) -> Vec<Draft> {
    let member = |name: &str| changed.iter().find(|member| member.name() == name);
    let mut out = way(member("url"), member("redirects"));
    if let Some(endpoint) = member("endpoint") {
        // Another endpoint has another way to it; that the way is open now is told all the same.
        out.retain(|draft| draft.rule == "net.scheme-downgraded");
        let told = !out.is_empty();
        let follow = changed.iter().filter(|member| match member.name() {
            "found_by" => true,
            "url" | "redirects" => !told,
            _ => false,
        });
        let moved = moved(endpoint, &root.child("url"));
        out.push(follow.fold(moved, |draft, member| draft.claiming(member.path().clone(), member.now())));
    }
    out.extend(member("http_version").map(|place| {
        Draft::plain(place, "net.http-version-changed", "another HTTP version is spoken".to_owned()).told(place)
    }));
    out.extend(member("address_class").map(address));
    if let Some(headers) = member("headers") {
        // Another era brings its own framing.
        let framing = if member("era").is_some() { None } else { member("framing") };
        let own_framing = member("transport").is_some();
        let fields = header_fields(headers, framing).into_iter();
        // Another transport brings its own content type.
        out.extend(fields.filter(|draft| !(own_framing && draft.path.token(1) == Some("content-type"))));
    }
    out
}

/// Whether [`judge`] accounts for the member `name`; `framing` only beside a content type that tells it.
pub(super) fn accounts_for(name: &str, changed: &[Place<'_>]) -> bool {
    match name {
        "endpoint" | "url" | "redirects" | "http_version" | "address_class" => true,
        "found_by" => changed.iter().any(|member| member.name() == "endpoint"),
        "headers" => changed.iter().any(|member| member.name() == "headers" && has_fields(member)),
        "framing" => changed.iter().any(|member| {
            member.name() == "headers" && has_fields(member) && media_types(&member.child("content-type")).is_some()
        }),
        _ => false,
    }
}

/// Whether there were header fields before and are now, so that each of them is a difference of its own.
fn has_fields(headers: &Place<'_>) -> bool {
    headers.is_object() && headers.old().is_some() && headers.now().is_some()
}

/// Where the conversation leads: the URL that answered, and the redirects on the way to it. One drift for both.
fn way(url: Option<&Place<'_>>, redirects: Option<&Place<'_>>) -> Vec<Draft> {
    let Some(place) = url.or(redirects) else { return Vec::new() };
    let (before, after) = (Way::of(url, redirects, Place::old), Way::of(url, redirects, Place::now));
    let mut draft = if before.is_safe() && after.is_plain() {
        Draft::plain(place, "net.scheme-downgraded", "the conversation is no longer protected by TLS".to_owned())
    } else if url.is_some() && before.host() != after.host() {
        Draft::at(place, "net.redirect-changed", "host", "another host answers".to_owned())
    } else {
        Draft::at(place, "net.redirect-changed", "path", "the way to the endpoint differs".to_owned())
    };
    draft = url.into_iter().fold(draft, |draft, url| draft.told(url));
    draft = draft.line(format!("from: {}", before.told())).line(format!("now:  {}", after.told()));
    match (url, redirects) {
        (Some(_), Some(redirects)) => vec![draft.claiming(redirects.path().clone(), redirects.now())],
        _ => vec![draft],
    }
}

/// Another endpoint was found, or one where there was none to be found but the URL as written.
fn moved(endpoint: &Place<'_>, url: &Place<'_>) -> Draft {
    let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    let before = text(endpoint.old()).or_else(|| text(url.old()));
    let after = text(endpoint.now()).or_else(|| text(url.now())).or_else(|| text(url.old()));
    let host = |url: &Option<String>| Url::parse(url.as_deref()?).ok()?.host_str().map(str::to_ascii_lowercase);
    let case = if host(&before) == host(&after) { "path" } else { "host" };
    let told = |url: Option<String>| url.map_or_else(|| "(none)".to_owned(), |url| shown(&url));
    Draft::at(endpoint, "mcp.endpoint-moved", case, "the endpoint is found elsewhere".to_owned())
        .line(format!("from: {}", told(before)))
        .line(format!("now:  {}", told(after)))
}

/// One side of the way; what is equal on both sides stands for neither.
struct Way<'a> {
    url: Option<&'a str>,
    hops: Vec<&'a str>,
}

impl<'a> Way<'a> {
    fn of(
        url: Option<&Place<'a>>,
        redirects: Option<&Place<'a>>,
        side: impl Fn(&Place<'a>) -> Option<&'a Json>,
    ) -> Self {
        let hops = redirects.and_then(&side).and_then(Json::as_array).into_iter().flatten();
        Self {
            url: url.and_then(&side).and_then(Json::as_str),
            hops: hops.filter_map(|hop| hop.member("to")?.as_str()).collect(),
        }
    }

    fn urls(&self) -> impl Iterator<Item = Url> {
        self.url.iter().chain(&self.hops).filter_map(|url| Url::parse(url).ok())
    }

    fn is_safe(&self) -> bool {
        self.urls().all(|url| url.scheme() != "http")
    }

    fn is_plain(&self) -> bool {
        self.urls().any(|url| url.scheme() == "http")
    }

    /// Who answers in the end.
    fn host(&self) -> Option<String> {
        let last = self.url.or_else(|| self.hops.last().copied())?;
        Url::parse(last).ok()?.host_str().map(str::to_ascii_lowercase)
    }

    fn told(&self) -> String {
        let hops: Vec<String> = self.hops.iter().map(|hop| shown(hop)).collect();
        match (self.url, hops.as_slice()) {
            (Some(url), []) => shown(url),
            (Some(url), hops) => format!("{} (redirected by way of {})", shown(url), common::listed(hops, 5)),
            (None, []) => "no redirect".to_owned(),
            (None, hops) => format!("redirected to {}", common::listed(hops, 5)),
        }
    }
}

/// Into special space is a rebound name; back into public space is not.
fn address(place: &Place<'_>) -> Draft {
    match place.texts() {
        (Some("public"), Some(_)) => Draft::plain(
            place,
            "net.address-class-changed",
            "the name resolves to an address that is not public any more".to_owned(),
        )
        .told(place),
        _ => Draft::other(place, format!("the class of the address {}", common::fate(place))),
    }
}

fn header_fields(headers: &Place<'_>, framing: Option<&Place<'_>>) -> Vec<Draft> {
    if !has_fields(headers) {
        return Vec::new();
    }
    let changed = headers.changed();
    let mut out = Vec::new();
    out.extend(cors(headers, &changed));
    for field in &changed {
        match field.name() {
            name if name.starts_with("access-control-") => {}
            "content-type" => out.push(content_type(field, framing)),
            "strict-transport-security" | "x-content-type-options" if field.now().is_none() => {
                let message = format!("the header {} is gone", shown(field.name()));
                out.push(Draft::at(field, "net.security-header-lost", "lost", message).told(field));
            }
            name if PRODUCT.contains(&name) => {
                let message = format!("the header {} names another product or version", shown(name));
                out.push(Draft::plain(field, "net.server-header-changed", message).told(field));
            }
            name => out.push(Draft::other(field, format!("the header {} {}", shown(name), common::fate(field)))),
        }
    }
    out
}

/// Another media type; a parameter alone is no other type.
fn content_type(field: &Place<'_>, framing: Option<&Place<'_>>) -> Draft {
    let Some((old, new)) = media_types(field) else {
        return Draft::other(field, format!("the header content-type {}", common::fate(field)));
    };
    let message = format!("answers come as {} instead of {}", shown(&new), shown(&old));
    let draft = Draft::plain(field, "net.content-type-changed", message).told(field);
    framing.into_iter().fold(draft, |draft, framing| draft.claiming(framing.path().clone(), framing.now()))
}

/// The media types of both sides, where they differ.
fn media_types(field: &Place<'_>) -> Option<(String, String)> {
    let of = |text: &str| text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (old, new) = (of(field.texts().0?), of(field.texts().1?));
    (old != new).then_some((old, new))
}

/// The CORS headers together: what they allow is in no one of them.
fn cors(headers: &Place<'_>, changed: &[Place<'_>]) -> Option<Draft> {
    let fields: Vec<&Place<'_>> = changed.iter().filter(|field| field.name().starts_with("access-control-")).collect();
    let (first, rest) = fields.split_first()?;
    let (before, after) = (Cors::of(headers.old()), Cors::of(headers.now()));
    let draft = if after.opens_all_with_credentials() && !before.opens_all_with_credentials() {
        let message = "any web page may call it with the credentials of whoever looks at it".to_owned();
        Draft::at(first, "net.security-header-lost", "cors_credentials", message)
    } else if after.any && !before.any {
        let message = "web pages of any origin may read its answers".to_owned();
        Draft::at(first, "net.security-header-lost", "cors_widened", message)
    } else if changed.iter().all(|field| !field.name().starts_with("access-control-") || field.now().is_none()) {
        Draft::at(first, "net.security-header-lost", "lost", "CORS headers are gone".to_owned())
    } else {
        Draft::other(first, "the CORS headers differ".to_owned())
    };
    let draft = fields.iter().fold(draft, |draft, field| draft.told(field));
    Some(rest.iter().fold(draft, |draft, field| draft.claiming(field.path().clone(), field.now())))
}

/// What CORS headers allow (Fetch standard, CORS protocol).
struct Cors {
    any: bool,
    credentials: bool,
}

impl Cors {
    fn of(headers: Option<&Json>) -> Self {
        let field = |name: &str| headers.and_then(|headers| headers.member(name)?.as_str()).unwrap_or_default().trim();
        Self {
            any: field("access-control-allow-origin") == "*",
            credentials: field("access-control-allow-credentials") == "true",
        }
    }

    const fn opens_all_with_credentials(&self) -> bool {
        self.any && self.credentials
    }
}
