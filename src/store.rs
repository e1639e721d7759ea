//! The store: typed methods over SQLite; every change of a scan is one transaction.

mod error;
mod lock;
mod stub;
mod views;

pub use error::StoreError;
pub use lock::StoreLock;
pub use stub::{Store, Writer};
pub use views::{
    BaselineGauge, DriftFilter, FacetSeen, Found, Gauges, HistoryRow, IncidentCount, IncidentState, LedgerCheck,
    LedgerFault, LedgerRow, MessageFilter, Pending, Retry, Run, StoredSnapshot, Synced, TargetDrift, TargetRow,
    TargetState, UnitCount,
};
