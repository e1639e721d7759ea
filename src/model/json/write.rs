//! The canonical form: RFC 8785 member order (UTF-16 code units) and string escapes.

use super::{Json, Members};

/// Writes `value` in canonical form.
pub(super) fn canonical(value: &Json) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Json, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => out.push_str(&number.canonical()),
        Json::String(text) => write_string(text, out),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => write_object(members, out),
    }
}

fn write_object(members: &Members, out: &mut String) {
    // A `BTreeMap` is in code point order; it differs from UTF-16 order only above the basic plane.
    let mut names: Vec<&String> = members.keys().collect();
    if names.iter().any(|name| !name.is_ascii()) {
        names.sort_by(|left, right| left.encode_utf16().cmp(right.encode_utf16()));
    }
    out.push('{');
    for (index, name) in names.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
        if let Some(value) = members.get(name) {
            write(value, out);
        }
    }
    out.push('}');
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{9}' => out.push_str("\\t"),
            '\u{a}' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\u{d}' => out.push_str("\\r"),
            control if u32::from(control) < 0x20 => {
                out.push_str("\\u00");
                let code = u32::from(control);
                for digit in [code >> 4, code & 0xf] {
                    out.push(char::from_digit(digit, 16).unwrap_or('0'));
                }
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
