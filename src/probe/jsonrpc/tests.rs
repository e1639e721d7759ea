use super::*;
use crate::model::json::Limits;

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes(), Limits::PEER).unwrap().value
}

fn said(text: &str) -> Said {
    read(json(text), 7, true)
}

#[test]
fn ids_are_matched_by_value_and_type() {
    assert_eq!(said(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#), Said::Result(Json::object()));
    assert_eq!(said(r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#), Said::Result(Json::object()));
    for id in [r#""7""#, "8", "null", "[7]"] {
        assert_eq!(said(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)), Said::Foreign, "{id}");
    }
    assert_eq!(said(r#"{"jsonrpc":"2.0","result":{}}"#), Said::Foreign);
}

#[test]
fn an_error_is_ours_whatever_its_id() {
    for id in [r#","id":7"#, r#","id":null"#, "", r#","id":"server-error""#] {
        let text = format!(r#"{{"jsonrpc":"2.0"{id},"error":{{"code":-32600,"message":"no"}}}}"#);
        assert_eq!(said(&text), Said::Error(RpcError { code: -32600, supported: Vec::new() }), "{id}");
    }
}

#[test]
fn an_oauth_error_object_is_no_message() {
    assert_eq!(said(r#"{"error":"invalid_token","error_description":"x"}"#), Said::Noise);
    assert_eq!(said(r#"{"jsonrpc":"2.0","id":7,"error":"invalid_token"}"#), Said::Noise);
}

#[test]
fn what_is_no_jsonrpc_is_noise() {
    for text in ["7", "{}", r#"{"jsonrpc":"1.0","id":7,"result":{}}"#, r#"{"jsonrpc":"2.0","id":7}"#] {
        assert_eq!(said(text), Said::Noise, "{text}");
    }
    assert_eq!(said(r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{"code":1}}"#), Said::Noise);
}

#[test]
fn requests_and_notifications_of_the_server_are_told_apart() {
    let ping = said(r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#);
    let Said::Request(ping) = ping else { panic!("{ping:?}") };
    assert_eq!(answer(&ping), r#"{"id":"p1","jsonrpc":"2.0","result":{}}"#);
    let roots = said(r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#);
    let Said::Request(roots) = roots else { panic!("{roots:?}") };
    let refusal = r#"{"error":{"code":-32601,"message":"method not found"},"id":0,"jsonrpc":"2.0"}"#;
    assert_eq!(answer(&roots), refusal);
    assert_eq!(said(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#), Said::Notification);
}

#[test]
fn supported_dates_are_read_from_the_error() {
    let text = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"data":{"supported":["2025-11-25",3,"x"]}}}"#;
    let Said::Error(error) = said(text) else { panic!("no error") };
    assert_eq!(error.supported, ["2025-11-25", "x"]);
    assert!(error.is_modern());
}
