//! Folds drifts into units: one cause, told once.

use crate::model::drift::Drift;
use crate::model::incident::{Unit, UnitMark};

/// A drift to fold, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Folding<'a> {
    /// The drift.
    pub drift: &'a Drift,
    /// Where it stands in its life.
    pub mark: UnitMark,
}

/// Folds `drifts` into units.
///
/// A unit of `known` with the same fold key keeps its `n` and stays, even with no member left (then with its own
/// mark); new units are numbered on, in the order of a message (power first, then what breaks, then the rest).
pub fn fold(drifts: &[Folding<'_>], known: &[Unit]) -> Vec<Unit> {
    let _ = (drifts, known);
    unimplemented!()
}
