//! The door: the one HTTP client for everything a target or a peer names.
