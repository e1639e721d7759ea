//! One conversation with a target; what it brings home is an [`Observation`](crate::model::observation::Observation).
