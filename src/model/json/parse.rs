//! The parser: RFC 8259, strict, counting while it reads.

use super::{Json, Members, Number};

/// How much one document may hold (design, section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Values of any kind, members and elements included.
    pub values: usize,
    /// Arrays and objects within one another.
    pub depth: usize,
}

impl Limits {
    /// The limits for what a peer sends: 250,000 values, depth 128.
    pub const PEER: Self = Self { values: 250_000, depth: 128 };
    /// For our own documents: no count; a depth beyond what [`Limits::PEER`] lets in.
    pub const OWN: Self = Self { values: usize::MAX, depth: 160 };
}

/// A document and what in it was ambiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The value.
    pub value: Json,
    /// What RFC 8259 leaves open and the document used; at most 100 are kept.
    pub issues: Vec<Issue>,
}

/// One ambiguity (`scan.json-ambiguous`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// What it is.
    pub kind: IssueKind,
    /// Byte offset in the document.
    pub offset: usize,
}

/// What can be ambiguous in well-formed JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum IssueKind {
    /// Two members of one object have one name.
    DuplicateMember,
    /// A `\uD800`–`\uDFFF` escape without its other half.
    LoneSurrogate,
    /// A number with an exponent beyond ±400.
    NumberOutOfRange,
}

/// Why a text is no document for us.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Byte offset in the text.
    pub offset: usize,
}

/// What can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseErrorKind {
    /// The text ends within a value.
    #[error("unexpected end of JSON")]
    UnexpectedEnd,
    /// A byte that no value can have there.
    #[error("unexpected character in JSON")]
    UnexpectedByte,
    /// Something follows the document.
    #[error("trailing characters after JSON")]
    TrailingBytes,
    /// Not UTF-8.
    #[error("invalid UTF-8 in JSON")]
    InvalidUtf8,
    /// An escape that RFC 8259 does not know.
    #[error("invalid escape in JSON string")]
    InvalidEscape,
    /// More values than [`Limits::values`].
    #[error("too many JSON values")]
    TooManyValues,
    /// Deeper than [`Limits::depth`].
    #[error("JSON nested too deep")]
    TooDeep,
}

impl ParseErrorKind {
    /// Whether the document broke a limit rather than the grammar.
    #[must_use]
    pub const fn is_limit(self) -> bool {
        matches!(self, Self::TooManyValues | Self::TooDeep)
    }
}

const MAX_ISSUES: usize = 100;

/// How often a name came in one object, for names that came more than once.
type Copies = std::collections::HashMap<String, usize>;

/// Parses what a peer sent: a U+0000 in a member name is doubled, so that no name passes for our own marks.
pub(super) fn parse(text: &[u8], limits: Limits) -> Result<Parsed, ParseError> {
    document(text, limits, true)
}

/// Parses what we wrote ourselves, where names already carry their marks.
pub(super) fn parse_unescaped(text: &[u8]) -> Result<Parsed, ParseError> {
    document(text, Limits::OWN, false)
}

fn document(text: &[u8], limits: Limits, double_nul: bool) -> Result<Parsed, ParseError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut parser = Parser { text, at: 0, limits, values: 0, issues: Vec::new(), double_nul };
    parser.white_space();
    let value = parser.value(0)?;
    parser.white_space();
    if parser.at < text.len() {
        return Err(parser.error(ParseErrorKind::TrailingBytes));
    }
    Ok(Parsed { value, issues: parser.issues })
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
    limits: Limits,
    values: usize,
    issues: Vec<Issue>,
    double_nul: bool,
}

impl Parser<'_> {
    const fn error(&self, kind: ParseErrorKind) -> ParseError {
        ParseError { kind, offset: self.at }
    }

    fn issue(&mut self, kind: IssueKind, offset: usize) {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push(Issue { kind, offset });
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> ParseError {
        self.error(if self.at < self.text.len() {
            ParseErrorKind::UnexpectedByte
        } else {
            ParseErrorKind::UnexpectedEnd
        })
    }

    fn expect(&mut self, byte: u8) -> Result<(), ParseError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    fn literal(&mut self, word: &'static [u8], value: Json) -> Result<Json, ParseError> {
        for byte in word {
            self.expect(*byte)?;
        }
        Ok(value)
    }

    fn value(&mut self, depth: usize) -> Result<Json, ParseError> {
        self.values += 1;
        if self.values > self.limits.values {
            return Err(self.error(ParseErrorKind::TooManyValues));
        }
        match self.peek() {
            Some(b'{') => self.object(depth + 1),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => self.string().map(Json::String),
            Some(b't') => self.literal(b"true", Json::Bool(true)),
            Some(b'f') => self.literal(b"false", Json::Bool(false)),
            Some(b'n') => self.literal(b"null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) | None => Err(self.unexpected()),
        }
    }

    fn enter(&mut self, depth: usize) -> Result<(), ParseError> {
        if depth > self.limits.depth {
            return Err(self.error(ParseErrorKind::TooDeep));
        }
        self.at += 1;
        self.white_space();
        Ok(())
    }

    fn array(&mut self, depth: usize) -> Result<Json, ParseError> {
        self.enter(depth)?;
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.white_space();
            if self.peek() == Some(b']') {
                self.at += 1;
                return Ok(Json::Array(items));
            }
            self.expect(b',')?;
            self.white_space();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, ParseError> {
        self.enter(depth)?;
        let mut members = Members::new();
        let mut copies = Copies::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let mut name = self.string()?;
            if self.double_nul && name.contains('\0') {
                name = name.replace('\0', "\0\0");
            }
            self.white_space();
            self.expect(b':')?;
            self.white_space();
            let value = self.value(depth)?;
            if members.contains_key(&name) {
                self.issue(IssueKind::DuplicateMember, start);
                let copies = copies.entry(name.clone()).or_insert(1_usize);
                *copies += 1;
                name = format!("{name}\0{copies}");
            }
            members.insert(name, value);
            self.white_space();
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(Json::Object(members));
            }
            self.expect(b',')?;
            self.white_space();
        }
    }

    fn digits(&mut self) -> Result<(), ParseError> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(self.unexpected());
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Json, ParseError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let spelling = self.text.get(start..self.at).unwrap_or_default();
        let number = Number::from_decimal(std::str::from_utf8(spelling).unwrap_or("0"));
        if number.is_out_of_range() {
            self.issue(IssueKind::NumberOutOfRange, start);
            // The canonical form writes it as text; what is read back from the store has to be what was compared.
            return Ok(Json::String(number.scientific()));
        }
        Ok(Json::Number(number))
    }

    fn string(&mut self) -> Result<String, ParseError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            let run = self.text.get(start..self.at).unwrap_or_default();
            match std::str::from_utf8(run) {
                Ok(run) => out.push_str(run),
                Err(error) => {
                    return Err(ParseError { kind: ParseErrorKind::InvalidUtf8, offset: start + error.valid_up_to() });
                }
            }
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(&mut out)?,
                Some(_) | None => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), ParseError> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape(start, out);
            }
            Some(_) => return Err(self.error(ParseErrorKind::InvalidEscape)),
            None => return Err(self.unexpected()),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn unicode_escape(&mut self, start: usize, out: &mut String) -> Result<(), ParseError> {
        let first = self.hex4()?;
        if let Some(character) = char::from_u32(u32::from(first)) {
            out.push(character);
            return Ok(());
        }
        let after_first = self.at;
        if first < 0xdc00 && self.text.get(self.at..self.at + 2) == Some(b"\\u") {
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                let code = 0x1_0000 + ((u32::from(first) - 0xd800) << 10) + (u32::from(second) - 0xdc00);
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                return Ok(());
            }
            self.at = after_first;
        }
        self.issue(IssueKind::LoneSurrogate, start);
        for part in ["\\u", &format!("{first:04x}")] {
            out.push_str(part);
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u16, ParseError> {
        let mut code: u16 = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit.and_then(|digit| u16::try_from(digit).ok()) else {
                return Err(self.error(ParseErrorKind::InvalidEscape));
            };
            code = (code << 4) | digit;
            self.at += 1;
        }
        Ok(code)
    }
}
