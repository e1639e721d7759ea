//! The nouns. They name no other module; everything else names them.

pub mod alert;
pub mod baseline;
pub mod bulletin;
pub mod confirm;
pub mod digest;
pub mod drift;
pub mod facet;
pub mod fleet;
pub mod incident;
pub mod inventory;
pub mod json;
pub mod judgment;
pub mod ledger;
pub mod memory;
pub mod notice;
pub mod observation;
pub mod pointer;
pub mod policy;
pub mod receiver;
pub mod rule;
pub mod secret;
pub mod settings;
pub mod settlement;
pub mod snapshot;
pub mod target;
pub mod text;
