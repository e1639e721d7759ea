//! The pure core: canonicalize, check, diff, classify, fold, life, notices. No clock, randomness or I/O.

pub mod alert;
pub mod canon;
pub mod fold;
pub mod settle;
