//! The signature of a webhook, as [Standard Webhooks] defines version 1: HMAC-SHA256 over id, time and body.
//!
//! [Standard Webhooks]: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

/// Keys are copied out of consoles with and without their padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The value of `webhook-signature`; `None` when `key` is not `whsec_` and base64 of 24 to 64 bytes.
pub(super) fn sign(key: &SecretString, id: &str, seconds: i64, body: &[u8]) -> Option<String> {
    let encoded = key.expose_secret().trim().strip_prefix("whsec_")?;
    let bytes = LENIENT.decode(encoded).ok().filter(|bytes| (24..=64).contains(&bytes.len()))?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&bytes).ok()?;
    mac.update(format!("{id}.{seconds}.").as_bytes());
    mac.update(body);
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key that the specification's own example uses.
    const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    fn signed(key: &str) -> Option<String> {
        sign(&SecretString::from(key), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#)
    }

    #[test]
    fn the_published_vector_comes_out() {
        assert_eq!(signed(KEY).as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn a_key_without_its_padding_is_the_same_key() {
        let padded = format!("whsec_{}", STANDARD.encode([7; 25]));
        assert_eq!(signed(&padded), signed(padded.trim_end_matches('=')));
        assert!(signed(&padded).is_some());
    }

    #[test]
    fn a_key_of_another_shape_signs_nothing() {
        let of = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![1; bytes]));
        for key in [of(23), of(65), String::new(), KEY.replace("whsec_", ""), "whsec_***".to_owned()] {
            assert_eq!(signed(&key), None, "{key}");
        }
        assert!(signed(&of(24)).is_some() && signed(&of(64)).is_some());
    }
}
