//! Event-stream framing (WHATWG HTML §9.2), as far as JSON-RPC over HTTP needs it: name and data of each event.
//!
//! The parser is incremental and looks at each byte once. How many bytes come in all is capped by the door, how many
//! events by [`MAX_EVENTS`].

/// Events of one stream.
pub const MAX_EVENTS: usize = 1_000;

/// More than [`MAX_EVENTS`] events in one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than 1,000 events in one stream")]
pub struct TooManyEvents;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty when it has none, which means `message`.
    pub name: Vec<u8>,
    /// Its data.
    pub data: Vec<u8>,
}

/// Splits a stream into its events. Names mean nothing to Streamable HTTP, ids and `retry` nothing to us.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    event: Event,
    /// The event has a `data` field; without one it is never dispatched.
    has_data: bool,
    /// The line before ended in CR: an LF right after it belongs to that line end.
    after_cr: bool,
    past_first_line: bool,
    events: usize,
}

impl Parser {
    /// Takes the next bytes; answers the events that they complete.
    ///
    /// # Errors
    /// When the stream has too many events.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, TooManyEvents> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            self.line.extend_from_slice(head);
            rest = match tail {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, after @ ..] => after,
                [] => &[],
            };
            if let Some(event) = self.end_line() {
                self.events += 1;
                if self.events > MAX_EVENTS {
                    return Err(TooManyEvents);
                }
                events.push(event);
            }
        }
        self.line.extend_from_slice(rest);
        Ok(events)
    }

    /// The stream has ended. The standard drops an event without its blank line; some servers rely on it.
    pub fn finish(mut self) -> Option<Event> {
        if !self.line.is_empty()
            && let Some(event) = self.end_line()
        {
            return Some(event);
        }
        self.has_data.then_some(self.event)
    }

    /// Reads the line collected; answers an event that it ends.
    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        self.field(line);
        None
    }

    /// A comment starts with the colon and has an empty name; fields other than `data` and `event` mean nothing here.
    fn field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let (name, rest) = line.split_at(colon);
                let value = rest.strip_prefix(b":").unwrap_or(rest);
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, [].as_slice()),
        };
        match name {
            b"event" => self.event.name = value.to_vec(),
            b"data" => {
                if self.has_data {
                    self.event.data.push(b'\n');
                }
                self.event.data.extend_from_slice(value);
                self.has_data = true;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
