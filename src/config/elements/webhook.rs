//! `webhook` of a receiver: HTTP POST with the Standard Webhooks headers.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use secrecy::ExposeSecret;

use super::super::error::ConfigError;
use super::super::reader::{Fields, Reader};
use super::super::tree::{Node, Value};
use super::{Element, Form, Shape, secret, url, word};
use crate::model::receiver::Webhook;
use crate::model::secret::{SecretRef, TextOrSecret};

/// Shorter keys can be guessed; the specification asks for 24 to 64 bytes.
const SHORTEST_KEY: usize = 24;

const FORMATS: &[&str] = &["standard"];

pub(in crate::config) const KEYS: &[Element] = &[
    Element::new("url", Shape::TextOrSecret(Form::Url), "where it is posted").required(),
    Element::new("secret", Shape::Secret, "a reference to the signing key").also_called(&["key", "signing_key"]),
    Element::new("format", Shape::Word(FORMATS), "`standard`"),
];

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<Webhook> {
    let fields = Fields::of(reader, node, "`webhook`", KEYS);
    let url = fields.read(reader, "url", destination);
    let secret = fields.read(reader, "secret", signing_key);
    fields.read(reader, "format", |reader, node| {
        word::decode(reader, node, "format of this version", FORMATS, |word| FORMATS.contains(&word).then_some(()))
    });
    Some(Webhook { url: url?, secret })
}

/// Often a secret in itself, so that it is not shown even when it is written out.
fn destination(reader: &mut Reader<'_>, node: &Node) -> Option<TextOrSecret> {
    if matches!(node.value, Value::Map(_)) {
        let (secret, value) = secret::resolved(reader, node)?;
        if value.is_some_and(|value| url::parse(value.expose_secret()).is_err()) {
            let remedy = "such a URL is written as `https://host/path`";
            let error = ConfigError::SecretUnfit { needed: "URL of a webhook", remedy };
            reader.mistake(node.span, error);
            return None;
        }
        return Some(TextOrSecret::Secret(secret));
    }
    reader.hide(node);
    let text = reader.text(node);
    match url::parse(&text) {
        Ok(_) => Some(TextOrSecret::Text(text)),
        Err(why) => {
            let remedy = "write it as `https://host/path`, or refer to it: `{ env: NAME }`".to_owned();
            reader.mistake(node.span, ConfigError::Malformed { what: "URL", why, remedy });
            None
        }
    }
}

fn signing_key(reader: &mut Reader<'_>, node: &Node) -> Option<SecretRef> {
    let (secret, value) = secret::resolved(reader, node)?;
    if value.is_none_or(|value| is_signing_key(value.expose_secret())) {
        return Some(secret);
    }
    let remedy = "a signing key is `whsec_` and the base64 of at least 24 bytes";
    reader.mistake(node.span, ConfigError::SecretUnfit { needed: "signing key", remedy });
    None
}

fn is_signing_key(value: &str) -> bool {
    let padding = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let base64 = GeneralPurpose::new(&alphabet::STANDARD, padding);
    let key = value.strip_prefix("whsec_").and_then(|key| base64.decode(key).ok());
    key.is_some_and(|key| key.len() >= SHORTEST_KEY)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_webhook_has_a_url_and_perhaps_a_key() {
        let webhook = taken("{ url: \"https://hooks.example.com/x\", format: standard }", decode);
        assert_eq!(webhook, Webhook { url: TextOrSecret::Text("https://hooks.example.com/x".into()), secret: None });
        let webhook = taken("{ url: { env: HOOK_URL }, secret: { env: HOOK_SECRET } }", decode);
        assert_eq!(webhook.url, TextOrSecret::Secret(SecretRef::Env("HOOK_URL".into())));
        assert_eq!(webhook.secret, Some(SecretRef::Env("HOOK_SECRET".into())));
    }

    #[test]
    fn a_key_has_its_prefix_and_its_length() {
        assert!(is_signing_key("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"));
        assert!(is_signing_key("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3OA=="));
        assert!(is_signing_key("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3OA"));
        for value in ["MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", "whsec_", "whsec_c2hvcnQ=", "whsec_***", ""] {
            assert!(!is_signing_key(value), "{value}");
        }
    }

    #[test]
    fn a_value_of_no_use_is_refused_without_being_shown() {
        let messages = refused("{ url: { env: NOT_A_URL }, secret: { env: PASSWORD }, format: slack }", decode);
        assert_eq!(
            messages,
            [
                "the value of that secret is no URL of a webhook; such a URL is written as `https://host/path`",
                "the value of that secret is no signing key; a signing key is `whsec_` and the base64 of at least 24 bytes",
                "this is no format of this version; one of: standard",
            ]
        );
    }

    #[test]
    fn a_key_that_is_written_out_is_refused() {
        let messages = refused("{ url: hooks.example.com, secret: whsec_abc }", decode);
        assert_eq!(
            messages,
            [
                "this is no URL: it has no scheme; write it as `https://host/path`, or refer to it: `{ env: NAME }`",
                "a secret is written out here; \
                 refer to it: `{ env: NAME }`, `{ file: PATH }` or `{ credential: NAME }`",
            ]
        );
    }
}
