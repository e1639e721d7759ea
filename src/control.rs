//! The control socket: HTTP on a Unix socket, for decisions and questions.
