//! The pure core: canonicalize, check, diff, classify, fold, life, notices. No clock, randomness or I/O.

pub mod alert;
pub mod canon;
pub mod decide;
pub mod fold;
pub mod incident;
pub mod join;
pub mod life;
pub mod notices;
pub mod settle;

#[cfg(test)]
mod sample;
