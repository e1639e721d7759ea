//! Receivers: a message in, a delivery or its error out.
pub mod message;
