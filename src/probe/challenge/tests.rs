use super::*;
use crate::model::json::Limits;

fn parsed(field: &str) -> String {
    Json::Array(parse(field)).canonical()
}

#[test]
fn schemes_and_parameters_are_read() {
    let cases = [
        (
            r#"Bearer realm="mcp", resource_metadata="https://x.example/.well-known/y", scope="a b""#,
            r#"[{"params":{"realm":"mcp","resource_metadata":"https://x.example/.well-known/y","scope":"a b"},"scheme":"Bearer"}]"#,
        ),
        ("Bearer", r#"[{"params":{},"scheme":"Bearer"}]"#),
        ("Negotiate YWJj==", r#"[{"scheme":"Negotiate","token68":"YWJj=="}]"#),
        (
            r#"Basic realm="a, Bearer b", DPoP algs="ES256", Negotiate"#,
            r#"[{"params":{"realm":"a, Bearer b"},"scheme":"Basic"},{"params":{"algs":"ES256"},"scheme":"DPoP"},{"params":{},"scheme":"Negotiate"}]"#,
        ),
        (r#"Bearer REALM = "q\"uote""#, r#"[{"params":{"realm":"q\"uote"},"scheme":"Bearer"}]"#),
        (
            "Bearer resource_metadata=https://x.example/y, error=invalid_token",
            r#"[{"params":{"error":"invalid_token","resource_metadata":"https://x.example/y"},"scheme":"Bearer"}]"#,
        ),
        (r#", ,Bearer a="1",a="2""#, "[{\"params\":{\"a\":\"1\",\"a\\u00002\":\"2\"},\"scheme\":\"Bearer\"}]"),
    ];
    for (field, expected) in cases {
        assert_eq!(parsed(field), expected, "{field}");
    }
}

#[test]
fn what_does_not_parse_is_kept_raw() {
    assert_eq!(parsed(r#"Bearer realm="open"#), r#"[{"raw":"Bearer realm=\"open"}]"#);
    assert_eq!(parsed("Bea(rer"), r#"[{"raw":"Bea(rer"}]"#);
    assert_eq!(parsed(""), "[]");
}

#[test]
fn several_fields_are_one_list() {
    let mut headers = HeaderMap::new();
    headers.append(WWW_AUTHENTICATE, "Bearer".parse().unwrap());
    headers.append(WWW_AUTHENTICATE, "Basic realm=x".parse().unwrap());
    let expected =
        r#"{"challenges":[{"params":{},"scheme":"Bearer"},{"params":{"realm":"x"},"scheme":"Basic"}],"status":401}"#;
    assert_eq!(value(StatusCode::UNAUTHORIZED, &headers).canonical(), expected);
    let same = Json::parse(expected.as_bytes(), Limits::PEER).unwrap().value;
    assert_eq!(value(StatusCode::UNAUTHORIZED, &headers), same);
}

proptest::proptest! {
    #[test]
    fn any_field_is_read_without_panic_and_within_bounds(field in "\\PC{0,200}") {
        proptest::prop_assert!(parse(&field).len() <= MAX_CHALLENGES);
    }
}
