//! Reads one list whole: all pages, each 2xx and valid, or says why not. Less than all is unseen (law 1).

use std::collections::BTreeSet;

use http::StatusCode;
use jiff::Timestamp;

use super::challenge;
use super::conversation::{Conversation, Dress};
use super::exchange::{Exchange, Look, Read, Reply};
use super::opening;
use super::ready::Ready;
use super::trouble::Trouble;
use crate::model::digest::Digest;
use crate::model::facet::{Face, Facet, ListShape, UnseenKind};
use crate::model::json::{Json, Members};
use crate::model::observation::{Era, RawRead};

/// Pages of one list.
const MAX_PAGES: usize = 100;
/// Items of one list.
const MAX_ITEMS: usize = 10_000;
/// Bytes of one cursor.
const MAX_CURSOR: usize = 16 * 1024;

/// How reading a list ended.
#[derive(Debug)]
pub(super) enum ListEnd {
    Seen(RawRead),
    /// The method is not found: there is no such list.
    Missing,
    /// This list asks for a credential: the value of `auth.challenge`.
    Guarded(Json),
    Unseen(Trouble),
}

/// What keeps a page from being one of a whole list.
enum Stop {
    End(ListEnd),
    /// 404 to a session that we hold: it is gone.
    SessionLost,
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Self {
        Self::End(ListEnd::Unseen(trouble))
    }
}

/// Reads the list of `facet`. A session that was lost is opened anew once, and the list read from its start. A
/// document of the `expected` bytes is left as it is.
pub(super) async fn read(
    conversation: &mut Conversation<'_>,
    facet: Facet,
    ready: &Ready,
    expected: Option<Digest>,
    at: Timestamp,
) -> ListEnd {
    let Some(shape) = facet.list() else {
        return ListEnd::Missing;
    };
    let lost = || Trouble::new(UnseenKind::HttpStatus, "HTTP 404: the session is gone");
    match pages(conversation, shape, ready.era, expected, at).await {
        Ok(read) => return ListEnd::Seen(read),
        Err(Stop::End(end)) => return end,
        Err(Stop::SessionLost) => {}
    }
    let Some(offer) = ready.offer.as_deref() else {
        return ListEnd::Unseen(lost());
    };
    match opening::reopen(conversation, offer, at).await {
        Ok(date) if date == ready.date => {}
        Ok(_) => return ListEnd::Unseen(lost()),
        Err(trouble) => return ListEnd::Unseen(trouble),
    }
    match pages(conversation, shape, ready.era, expected, at).await {
        Ok(read) => ListEnd::Seen(read),
        Err(Stop::End(end)) => end,
        Err(Stop::SessionLost) => ListEnd::Unseen(lost()),
    }
}

/// The second read, over a connection and session of its own. `None` when none could be had that compares: then the
/// first conversation reads again.
pub(super) async fn read_fresh(
    other: &mut Conversation<'_>,
    facet: Facet,
    ready: &Ready,
    at: Timestamp,
) -> Option<ListEnd> {
    match (ready.era, ready.offer.as_deref()) {
        (Era::Session, Some(offer)) => match opening::reopen(other, offer, at).await {
            Ok(date) if date == ready.date => {}
            Err(trouble) if trouble.ends_scan() => return Some(ListEnd::Unseen(trouble)),
            Ok(_) | Err(_) => return None,
        },
        (Era::Stateless | Era::Session, _) => other.dress(Dress::Modern),
    }
    match read(other, facet, ready, None, at).await {
        ListEnd::Seen(read) => Some(ListEnd::Seen(RawRead { fresh: true, ..read })),
        ListEnd::Unseen(trouble) if trouble.ends_scan() => Some(ListEnd::Unseen(trouble)),
        ListEnd::Unseen(_) | ListEnd::Missing | ListEnd::Guarded(_) => None,
    }
}

async fn pages(
    conversation: &mut Conversation<'_>,
    shape: ListShape,
    era: Era,
    expected: Option<Digest>,
    at: Timestamp,
) -> Result<RawRead, Stop> {
    let mut whole = RawRead::default();
    let mut items = 0;
    let mut cursors = BTreeSet::new();
    let mut cursor = None;
    loop {
        if conversation.visit().is_over() {
            return Err(Trouble::new(UnseenKind::NotReached, "the scan's time limit ran out").into());
        }
        let params = cursor.map(|cursor: String| ("cursor".to_owned(), Json::from(cursor)));
        let is_first = whole.pages.is_empty();
        let look = Look::Digest { expected: expected.filter(|_| is_first) };
        let exchange = conversation.call_looking(shape.method, Members::from_iter(params), look).await;
        let read = page(conversation, exchange.map_err(Trouble::from)?, at, is_first)?;
        whole.document = read.document.filter(|_| is_first);
        if whole.document.as_ref().is_some_and(|document| document.unparsed.is_some()) {
            return Ok(whole);
        }
        items += count(&read.value, shape, era)?;
        if items > MAX_ITEMS {
            return Err(Trouble::new(UnseenKind::TooLarge, "more than 10,000 items").into());
        }
        let next = next_cursor(&read.value)?;
        let number = whole.pages.len() + 1;
        whole.ambiguities.extend(on_page(number, &read.ambiguities));
        whole.pages.push(read.value);
        let Some(next) = next else {
            return Ok(whole);
        };
        // More than one document is read anew each time.
        whole.document = None;
        if whole.pages.len() >= MAX_PAGES {
            return Err(Trouble::new(UnseenKind::CursorLoop, "more than 100 pages").into());
        }
        if !cursors.insert(next.clone()) {
            return Err(Trouble::new(UnseenKind::CursorLoop, "a cursor came twice").into());
        }
        cursor = Some(next);
    }
}

/// What was ambiguous, and where.
pub(super) fn on_page(number: usize, ambiguities: &[String]) -> impl Iterator<Item = String> {
    ambiguities.iter().map(move |what| format!("page {number}: {what}"))
}

/// The result in an answer to a list request.
fn page(conversation: &Conversation<'_>, exchange: Exchange, at: Timestamp, is_first: bool) -> Result<Read, Stop> {
    let face = conversation.face();
    if face == Face::Stranger && opening::is_guard(&exchange.head) {
        let challenge = challenge::value(exchange.head.status, &exchange.head.headers);
        return Err(Stop::End(ListEnd::Guarded(challenge)));
    }
    let is_missing = opening::is_missing_method(&exchange.reply);
    if is_missing && is_first {
        return Err(Stop::End(ListEnd::Missing));
    }
    if exchange.head.status == StatusCode::NOT_FOUND && !is_missing && conversation.session().is_some() {
        return Err(Stop::SessionLost);
    }
    let trouble = Trouble::of(&exchange, face, at);
    match exchange.reply {
        Reply::Result(read) if exchange.head.status.is_success() => Ok(read),
        Reply::Result(_) | Reply::Error(_) | Reply::Nothing(_) => Err(trouble.into()),
    }
}

/// The number of items. A result without its array is no empty list, and `input_required` is none at all.
fn count(result: &Json, shape: ListShape, era: Era) -> Result<usize, Trouble> {
    if era == Era::Stateless && !opening::is_complete(result) {
        return Err(Trouble::new(UnseenKind::InvalidJsonrpc, "the result is not complete"));
    }
    let items = result.member(shape.array).and_then(Json::as_array);
    items
        .map(Vec::len)
        .ok_or_else(|| Trouble::new(UnseenKind::InvalidJsonrpc, format!("the result has no array {}", shape.array)))
}

/// An empty string is a cursor like any other; null is no legal one and means the end.
fn next_cursor(result: &Json) -> Result<Option<String>, Trouble> {
    match result.member("nextCursor") {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(cursor)) if cursor.len() <= MAX_CURSOR => Ok(Some(cursor.clone())),
        Some(Json::String(_)) => Err(Trouble::new(UnseenKind::TooLarge, "a cursor above 16 KiB")),
        Some(Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => {
            Err(Trouble::new(UnseenKind::InvalidJsonrpc, "nextCursor is no string"))
        }
    }
}
