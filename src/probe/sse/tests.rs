use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn all(chunks: &[&[u8]]) -> Vec<String> {
    let mut parser = Parser::default();
    let mut events = Vec::new();
    for chunk in chunks {
        events.extend(parser.push(chunk).unwrap());
    }
    events.extend(parser.finish());
    events.into_iter().map(|event| String::from_utf8(event.data).unwrap()).collect()
}

#[test]
fn every_line_end_ends_a_line() {
    for stream in ["data: a\n\ndata: b\n\n", "data: a\r\rdata: b\r\r", "data: a\r\n\r\ndata: b\r\n\r\n"] {
        assert_eq!(all(&[stream.as_bytes()]), ["a", "b"], "{stream:?}");
    }
}

#[test]
fn crlf_cut_in_two_is_one_line_end() {
    assert_eq!(all(&[b"data: a\r", b"\n\r", b"\ndata: b\r\n", b"\r\n"]), ["a", "b"]);
    assert_eq!(all(&[b"data: a\r", b"", b"\ndata: b\n\n"]), ["a\nb"]);
}

#[test]
fn only_data_fields_make_an_event() {
    assert_eq!(all(&[b": alive\n\nid: 1\nretry: 5\n\nevent: x\n\nnonsense\n\n"]), [""; 0]);
    assert_eq!(all(&[b"\xef\xbb\xbfevent: message\ndata:a\ndata: b\nunknown: c\ndata\n\n"]), ["a\nb\n"]);
}

#[test]
fn the_name_of_an_event_is_its_own() {
    let events = Parser::default().push(b"event: endpoint\ndata: /a\n\ndata: b\n\nevent: lost\n\ndata: c\n\n").unwrap();
    let names: Vec<_> = events.iter().map(|event| String::from_utf8_lossy(&event.name)).collect();
    assert_eq!(names, ["endpoint", "", ""]);
}

#[test]
fn a_priming_event_has_empty_data() {
    assert_eq!(all(&[b"id: 0\ndata:\n\ndata: {}\n\n"]), ["", "{}"]);
}

#[test]
fn an_event_without_its_blank_line_is_kept_at_the_end() {
    assert_eq!(all(&[b"data: a\n\ndata: b"]), ["a", "b"]);
    assert_eq!(all(&[b"data: a\n\ndata: b\n"]), ["a", "b"]);
    assert_eq!(all(&[b"data: a\n\nid: 7"]), ["a"]);
}

#[test]
fn a_stream_of_too_many_events_is_ended() {
    let mut parser = Parser::default();
    let events = b"data: x\n\n".repeat(MAX_EVENTS);
    assert_eq!(parser.push(&events).unwrap().len(), MAX_EVENTS);
    assert_eq!(parser.push(b"data: x\n\n"), Err(TooManyEvents));
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(
        lines in vec(prop_oneof![
            Just("data: {\"a\":1}".to_owned()),
            Just("data:".to_owned()),
            Just(String::new()),
            Just(": comment".to_owned()),
            "[a-z:d\u{feff} ]{0,8}",
        ], 0..40),
        ends in vec(prop_oneof![Just("\n"), Just("\r"), Just("\r\n")], 40),
        cuts in vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let stream: String = lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_str(), end]).collect();
        let stream = stream.as_bytes();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(all(&chunks), all(&[stream]));
    }

    #[test]
    fn no_bytes_make_it_panic(chunks in vec(vec(any::<u8>(), 0..64), 0..16)) {
        let mut parser = Parser::default();
        for chunk in &chunks {
            let _ = parser.push(chunk).unwrap();
        }
        let _ = parser.finish();
    }
}
