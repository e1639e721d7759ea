use std::borrow::Cow;

use base64::Engine as _;
use secrecy::ExposeSecret;

use super::*;

fn environment(directory: &Path) -> Environment {
    Environment::from_map([
        ("TOKEN", "t0ken-value"),
        ("BLANK", ""),
        (CREDENTIALS_DIRECTORY, directory.to_str().unwrap()),
    ])
}

fn value(environment: &Environment, secret: &SecretRef) -> Result<String, String> {
    environment.read(secret).map(|value| value.expose_secret().to_owned()).map_err(|error| error.to_string())
}

#[test]
fn a_secret_is_read_from_a_variable_a_file_and_a_credential() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("smtp");
    fs::write(&file, "pass word\r\n").unwrap();
    let environment = environment(directory.path());
    assert_eq!(value(&environment, &SecretRef::Env("TOKEN".into())).unwrap(), "t0ken-value");
    assert_eq!(value(&environment, &SecretRef::File(file)).unwrap(), "pass word");
    assert_eq!(value(&environment, &SecretRef::Credential("smtp".into())).unwrap(), "pass word");
}

#[test]
fn a_secret_is_read_anew_at_each_use() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("rotated");
    let (environment, secret) = (environment(directory.path()), SecretRef::File(file.clone()));
    fs::write(&file, "first").unwrap();
    assert_eq!(value(&environment, &secret).unwrap(), "first");
    fs::write(&file, "second").unwrap();
    assert_eq!(value(&environment, &secret).unwrap(), "second");
}

#[test]
fn only_one_line_end_is_taken_off() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("two");
    fs::write(&file, "value\n\n").unwrap();
    assert_eq!(value(&environment(directory.path()), &SecretRef::File(file)).unwrap(), "value\n");
}

#[test]
fn what_cannot_be_a_secret_is_refused_by_the_name_of_its_reference() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        SecretRef::Credential(name.into())
    };
    let environment = environment(directory.path());
    let cases = [
        (SecretRef::Env("MISSING".into()), "the environment variable MISSING is not set"),
        (SecretRef::Env("BLANK".into()), "env BLANK is empty"),
        (write("newline", b"\n"), "credential newline is empty"),
        (write("long", &vec![b'x'; 64 * 1024 + 1]), "credential long is longer than 64 KiB"),
        (write("binary", b"\xff\xfe\x00"), "credential binary is not UTF-8 text"),
        (SecretRef::Credential("../smtp".into()), "`../smtp` is no name of a credential"),
    ];
    for (secret, message) in cases {
        assert_eq!(value(&environment, &secret).unwrap_err(), message);
    }
    let message = value(&environment, &SecretRef::File(directory.path().to_owned())).unwrap_err();
    assert!(message.ends_with("is not a regular file"), "{message}");
    let message = value(&environment, &SecretRef::Credential("gone".into())).unwrap_err();
    assert!(message.starts_with("credential gone cannot be read: "), "{message}");
    let message = value(&Environment::from_map([("A", "b")]), &SecretRef::Credential("smtp".into())).unwrap_err();
    assert!(message.contains("$CREDENTIALS_DIRECTORY is not set"), "{message}");
}

#[test]
fn a_file_of_exactly_the_cap_is_a_secret() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("full");
    fs::write(&file, vec![b'x'; 64 * 1024]).unwrap();
    assert_eq!(value(&environment(directory.path()), &SecretRef::File(file)).unwrap().len(), 64 * 1024);
}

#[test]
fn debug_of_an_environment_shows_names_and_no_values() {
    let text = format!("{:?}", environment(Path::new("/run/credentials")));
    assert!(text.contains("TOKEN") && !text.contains("t0ken-value"), "{text}");
}

#[test]
fn a_configured_value_is_replaced_wherever_it_stands() {
    let redactor = Redactor::new([("TOKEN", "s3cr3t/va lue\"x")]);
    let marker = "‹secret TOKEN›";
    let cases = [
        ("Bearer s3cr3t/va lue\"x!", format!("Bearer {marker}!")),
        ("?t=s3cr3t%2Fva%20lue%22x&u", format!("?t={marker}&u")),
        ("?t=s3cr3t%2fva%20lue%22x&u", format!("?t={marker}&u")),
        ("t=s3cr3t%2Fva+lue%22x", format!("t={marker}")),
        (r#"{"echo":"s3cr3t/va lue\"x"}"#, format!(r#"{{"echo":"{marker}"}}"#)),
        (r#"{"echo":"s3cr3t\/va lue\"x"}"#, format!(r#"{{"echo":"{marker}"}}"#)),
        ("nothing of it: s3cr3t/va", "nothing of it: s3cr3t/va".to_owned()),
    ];
    for (text, expected) in cases {
        assert_eq!(redactor.redact(text), expected);
    }
}

#[test]
fn base64_of_a_value_is_replaced_alone_and_inside_of_longer_base64() {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let value = "a-long>secret?value~~";
    let redactor = Redactor::new([("T", value)]);
    assert_eq!(redactor.redact(&URL_SAFE_NO_PAD.encode(value)), "‹secret T›");
    for user in ["", "u:", "us:", "use:", "user:"] {
        for tail in ["", ".", "..", "..."] {
            let header = STANDARD.encode(format!("{user}{value}{tail}"));
            let clean = redactor.redact(&header).into_owned();
            assert!(clean.contains("‹secret T›"), "{header} became {clean}");
            // At most the characters that the value shares with its neighbours are left of it.
            let bytes_around = user.len() + tail.len();
            assert!(clean.len() - "‹secret T›".len() <= bytes_around.div_ceil(3) * 4 + 8, "{header} became {clean}");
        }
    }
}

#[test]
fn values_that_overlap_or_contain_each_other_leave_nothing_behind() {
    let redactor = Redactor::new([("A", "abcdefgh"), ("B", "efghijkl"), ("C", "cdefgh"), ("D", "zabcdefghz")]);
    assert_eq!(redactor.redact("-abcdefghijkl-"), "-‹secret A›-");
    assert_eq!(redactor.redact("-zabcdefghz-"), "-‹secret D›-");
    assert_eq!(redactor.redact("abcdefghabcdefgh"), "‹secret A›‹secret A›");
}

#[test]
fn a_redactor_of_references_takes_out_the_values_they_have_now() {
    let environment = environment(Path::new("/nonexistent"));
    let secrets = [SecretRef::Env("TOKEN".into()), SecretRef::Env("MISSING".into()), SecretRef::Env("BLANK".into())];
    assert_eq!(environment.redactor(&secrets).redact("Bearer t0ken-value"), "Bearer ‹secret TOKEN›");
}

#[test]
fn short_values_are_left_alone() {
    let redactor = Redactor::new([("PIN", "12345")]);
    assert_eq!(redactor.redact("port 12345"), "port 12345");
}

#[test]
fn bytes_that_are_no_text_pass_unchanged_around_a_value() {
    let redactor = Redactor::new([("T", "s3cr3t-value")]);
    let expected = [b"\xff\x00".as_slice(), "‹secret T›".as_bytes(), b"\xfe"].concat();
    assert_eq!(&*redactor.redact_bytes(b"\xff\x00s3cr3t-value\xfe"), expected);
    assert!(matches!(redactor.redact_bytes(b"\xff\x00"), Cow::Borrowed(_)));
}

#[test]
fn a_marker_cannot_end_the_json_text_it_stands_in() {
    let redactor = Redactor::new([("file /a\"b\\c\n", "s3cr3t-value")]);
    assert_eq!(redactor.redact(r#""s3cr3t-value""#), r#""‹secret file /a_b_c_›""#);
}

#[test]
fn a_body_made_of_one_repeated_character_is_one_stretch() {
    let redactor = Redactor::new([("T", "aaaaaaaa"), ("U", "aaaaaaa")]);
    assert_eq!(redactor.redact(&"a".repeat(1 << 20)), "‹secret T›");
}

#[test]
fn debug_of_a_redactor_shows_names_and_no_values() {
    let text = format!("{:?}", Redactor::new([("TOKEN", "s3cr3t-value")]));
    assert!(text.contains("TOKEN") && !text.contains("s3cr3t"), "{text}");
}
