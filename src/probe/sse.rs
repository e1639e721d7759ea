//! Event-stream framing (WHATWG HTML §9.2), as far as JSON-RPC over HTTP needs it: the data of each event.
//!
//! The parser is incremental and looks at each byte once. How many bytes come in all is capped by the door, how many
//! events by [`MAX_EVENTS`].

/// Events of one stream.
pub const MAX_EVENTS: usize = 1_000;

/// More than [`MAX_EVENTS`] events in one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("more than 1,000 events in one stream")]
pub struct TooManyEvents;

/// Splits a stream into the data of its events. Names, ids and `retry` mean nothing to Streamable HTTP.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    data: Vec<u8>,
    /// The event has a `data` field; without one it is never dispatched.
    has_data: bool,
    /// The line before ended in CR: an LF right after it belongs to that line end.
    after_cr: bool,
    past_first_line: bool,
    events: usize,
}

impl Parser {
    /// Takes the next bytes; answers the data of the events that they complete.
    ///
    /// # Errors
    /// When the stream has too many events.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooManyEvents> {
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
    pub fn finish(mut self) -> Option<Vec<u8>> {
        if !self.line.is_empty()
            && let Some(event) = self.end_line()
        {
            return Some(event);
        }
        self.has_data.then_some(self.data)
    }

    /// Reads the line collected; answers an event that it ends.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(data);
        }
        self.field(line);
        None
    }

    /// A comment starts with the colon and has an empty name; fields other than `data` mean nothing here.
    fn field(&mut self, line: &[u8]) {
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => {
                let (name, rest) = line.split_at(colon);
                let value = rest.strip_prefix(b":").unwrap_or(rest);
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, [].as_slice()),
        };
        if name != b"data" {
            return;
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.data.extend_from_slice(value);
        self.has_data = true;
    }
}

#[cfg(test)]
mod tests;
