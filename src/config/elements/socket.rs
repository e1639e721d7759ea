//! `control`: the path of the control socket.

use std::path::PathBuf;

use super::super::error::ConfigError;
use super::super::reader::Reader;
use super::super::tree::Node;

/// What `sockaddr_un` holds besides the NUL at its end.
const LONGEST: usize = 107;

pub(in crate::config) fn decode(reader: &mut Reader<'_>, node: &Node) -> Option<PathBuf> {
    let text = reader.text(node);
    let path = reader.path(&text);
    let why = if text.is_empty() {
        "it is empty"
    } else if text.contains('\0') {
        "it holds a NUL character"
    } else if path.as_os_str().len() > LONGEST {
        "with its directory it is longer than 107 bytes, which no socket's may be"
    } else {
        return Some(path);
    };
    let error = ConfigError::Malformed { what: "path of a socket", why: why.to_owned(), remedy: String::new() };
    reader.mistake(node.span, error);
    None
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, taken};
    use super::*;

    #[test]
    fn a_socket_lies_beside_the_file_that_names_it() {
        assert_eq!(taken("driftd.sock", decode), PathBuf::from("config/driftd.sock"));
        assert_eq!(taken("/run/driftd.sock", decode), PathBuf::from("/run/driftd.sock"));
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused() {
        assert_eq!(refused("\"\"", decode), ["this is no path of a socket: it is empty"]);
        assert_eq!(
            refused(&format!("/{}", "x".repeat(107)), decode),
            ["this is no path of a socket: with its directory it is longer than 107 bytes, which no socket's may be"]
        );
    }
}
