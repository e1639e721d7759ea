//! Reads a mail as its reader's program does: headers, parts, transfer encodings. Just enough of MIME for our own mails.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// A mail, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mail {
    /// Name and unfolded value, as sent (encoded words are left alone).
    headers: Vec<(String, String)>,
    /// The content, transfer encoding undone; empty where there are parts.
    body: String,
    parts: Vec<Self>,
}

impl Mail {
    /// Reads it.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
        let mut mail = Self { headers: headers(head), body: String::new(), parts: Vec::new() };
        match mail.boundary() {
            Some(boundary) => mail.parts = split(body, &boundary),
            None => mail.body = decode(body, &mail.header("Content-Transfer-Encoding").unwrap_or_default()),
        }
        mail
    }

    /// The first header of that name.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }

    /// The first part of type text/plain that is no attachment.
    pub(crate) fn text(&self) -> String {
        let attached =
            |part: &Self| part.header("Content-Disposition").is_some_and(|how| how.starts_with("attachment"));
        let plain = |part: &Self| part.header("Content-Type").is_none_or(|kind| kind.starts_with("text/plain"));
        let text = self.leaves().into_iter().find(|part| plain(part) && !attached(part));
        text.map(|part| part.body.clone()).unwrap_or_default()
    }

    /// The attachment whose file name ends so.
    pub(crate) fn attachment(&self, ending: &str) -> Option<String> {
        let named = |part: &&Self| {
            let disposition = part.header("Content-Disposition").unwrap_or_default();
            parameter(&disposition, "filename").is_some_and(|name| name.ends_with(ending))
        };
        self.leaves().into_iter().find(named).map(|part| part.body.clone())
    }

    fn leaves(&self) -> Vec<&Self> {
        if self.parts.is_empty() { vec![self] } else { self.parts.iter().flat_map(Self::leaves).collect() }
    }

    fn boundary(&self) -> Option<String> {
        let kind = self.header("Content-Type")?;
        if kind.starts_with("multipart/") { parameter(&kind, "boundary") } else { None }
    }
}

fn headers(head: &str) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for line in head.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = headers.last_mut() {
                value.push(' ');
                value.push_str(line.trim());
            }
        } else if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    headers
}

fn split(body: &str, boundary: &str) -> Vec<Mail> {
    let body = format!("\n{body}");
    let line = format!("\n--{boundary}");
    let parts = body.split(&line).skip(1).take_while(|part| !part.starts_with("--"));
    parts.map(|part| Mail::parse(part.trim_start_matches('\n').as_bytes())).collect()
}

/// The parameter of a structured header, quotes taken off.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

fn decode(body: &str, encoding: &str) -> String {
    match encoding.to_ascii_lowercase().as_str() {
        "base64" => {
            let code: String = body.split_whitespace().collect();
            String::from_utf8_lossy(&STANDARD.decode(code).unwrap_or_default()).into_owned()
        }
        "quoted-printable" => String::from_utf8_lossy(&unquote(body)).into_owned(),
        _ => body.to_owned(),
    }
}

/// RFC 2045, section 6.7.
fn unquote(body: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body.replace("=\n", "").into_bytes().into_iter();
    while let Some(byte) = rest.next() {
        if byte == b'=' {
            let code: Vec<u8> = rest.by_ref().take(2).collect();
            let code = String::from_utf8_lossy(&code).into_owned();
            bytes.push(u8::from_str_radix(&code, 16).unwrap_or(b'?'));
        } else {
            bytes.push(byte);
        }
    }
    bytes
}

#[test]
fn a_mail_of_several_parts_is_read_with_its_encodings_undone() {
    let mail = Mail::parse(
        b"Subject: HIGH one:\r\n two\r\nContent-Type: multipart/mixed;\r\n boundary=\"b b\"\r\n\r\n--b b\r\n\
          Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
          a=C3=A9 b=\r\nc\r\n--b b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\
          Content-Disposition: attachment; filename=\"x.diff.txt\"\r\n\r\nZGlm\r\nZg==\r\n--b b--\r\n",
    );
    assert_eq!(mail.header("subject").unwrap(), "HIGH one: two");
    assert_eq!(mail.text(), "a\u{e9} bc");
    assert_eq!(mail.attachment(".diff.txt").unwrap(), "diff");
}

#[test]
fn a_mail_of_one_part_is_its_text() {
    let mail = Mail::parse(b"Subject: x\r\n\r\nhello\r\n\r\nthere\r\n");
    assert_eq!(mail.text(), "hello\n\nthere\n");
    assert_eq!(mail.attachment(".txt"), None);
}
