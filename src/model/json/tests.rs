use super::*;

fn parse(text: &str) -> Json {
    Json::parse(text.as_bytes(), Limits::PEER).expect(text).value
}

#[test]
fn numbers_are_equal_by_decimal_value_and_keep_every_digit() {
    for (text, canonical) in [
        ("-0", "0"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("9007199254740993", "9007199254740993"),
        ("1e21", "1e+21"),
        ("1e-7", "1e-7"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("0.1", "0.1"),
        ("0.10000000000000000555", "0.10000000000000000555"),
        ("333333333.33333329", "333333333.33333329"),
        ("1E30", "1e+30"),
        ("4.50", "4.5"),
        ("2e-3", "0.002"),
        ("1e401", "\"1e401\""),
        ("-1e-999999999999", "\"-1e-2147483647\""),
    ] {
        assert_eq!(parse(text).canonical(), canonical, "{text}");
    }
}

#[test]
fn what_is_read_back_is_what_was_read() {
    let nines = "9".repeat(5000);
    for text in [
        "[1e401,-1e-999999999999,1e400,-1e-400,1E+2,-0.0]",
        &format!("{{\"y\":{nines}}}"),
        "{\"a\\ud800\":\"\\udfff\",\"n\\u0000\":1,\"a\":1,\"a\":2}",
    ] {
        let read = parse(text);
        assert_eq!(Json::parse_trusted(read.canonical().as_bytes()).as_ref(), Ok(&read), "{text:.60}");
    }
}

#[test]
fn members_are_written_in_utf16_order() {
    // U+E000 is below U+10000 by code point and above its high surrogate in UTF-16.
    assert_eq!(parse("{\"\u{e000}\":1,\"\u{10000}\":2}").canonical(), "{\"\u{10000}\":2,\"\u{e000}\":1}");
}

#[test]
fn duplicate_members_and_lone_surrogates_are_kept_and_reported() {
    let parsed = Json::parse(br#"{"a":1,"a":2,"b":"\ud800x","n\u0000":0}"#, Limits::PEER).unwrap();
    let kinds: Vec<_> = parsed.issues.iter().map(|issue| issue.kind).collect();
    assert_eq!(kinds, [IssueKind::DuplicateMember, IssueKind::LoneSurrogate]);
    assert_eq!(parsed.value.member("a\u{0}2"), Some(&Json::from(2)));
    assert_eq!(parsed.value.member("b"), Some(&Json::from("\\ud800x")));
    assert_eq!(parsed.value.member("n\u{0}\u{0}"), Some(&Json::from(0)));
}

#[test]
fn limits_stop_the_parse_while_reading() {
    let deep = "[".repeat(200);
    assert_eq!(Json::parse(deep.as_bytes(), Limits::PEER).unwrap_err().kind, ParseErrorKind::TooDeep);
    let wide = format!("[{}0]", "0,".repeat(300_000));
    assert_eq!(Json::parse(wide.as_bytes(), Limits::PEER).unwrap_err().kind, ParseErrorKind::TooManyValues);
}

#[test]
fn texts_outside_the_grammar_are_refused() {
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\"}",
        "01",
        "1.",
        "+1",
        "\"\\x\"",
        "\"\u{1}\"",
        "nul",
        "1 2",
        "{\"a\":1,}",
        "\"\\u12g4\"",
    ] {
        assert!(Json::parse(text.as_bytes(), Limits::PEER).is_err(), "{text:?} passed");
    }
    assert!(Json::parse(b"\"\xff\"", Limits::PEER).is_err());
}

#[test]
fn serde_carries_every_digit_both_ways() {
    let value = parse(r#"{"n":12345678901234567890123,"s":"é\u0000"}"#);
    let text = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), value);
}

proptest::proptest! {
    #[test]
    fn canonical_form_is_a_fixed_point(text in "\\PC{0,40}", n in proptest::num::f64::NORMAL) {
        let value = Json::from([("t", Json::from(text.as_str())), ("n", parse(&format!("{n:e}")))]);
        let once = value.canonical();
        proptest::prop_assert_eq!(Json::parse_trusted(once.as_bytes()).unwrap().canonical(), once);
    }

    #[test]
    fn doubles_are_spelled_as_ecmascript_spells_them(n in proptest::num::f64::NORMAL) {
        let spelled: f64 = parse(&format!("{n:e}")).canonical().trim_matches('"').parse().unwrap();
        proptest::prop_assert_eq!(spelled, n);
    }
}
