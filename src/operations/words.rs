//! Small facts in words, the same wherever they are shown.

use crate::model::incident::UnitMark;
use crate::model::observation::{Detection, DetectionState};

/// `MCP 2025-11-25, session, streamable_http`, or what is known instead.
pub fn protocol(mcp: &Detection) -> String {
    let state = match mcp.state {
        DetectionState::Confirmed => {
            let version = mcp.version.as_deref().unwrap_or("of unknown date");
            let era = mcp.era.map(|era| format!(", {}", era.as_str())).unwrap_or_default();
            let transport = mcp.transport.map(|transport| format!(", {}", transport.as_str())).unwrap_or_default();
            return format!("MCP {version}{era}{transport}");
        }
        DetectionState::Indicated => "indicated",
        DetectionState::NotDetected => "not detected",
        DetectionState::Unseen => "unseen",
    };
    format!("MCP {state}")
}

/// The word for a unit's mark.
pub const fn mark(mark: UnitMark) -> &'static str {
    match mark {
        UnitMark::Pending => "pending",
        UnitMark::Open => "open",
        UnitMark::Rejected => "rejected",
        UnitMark::Reverted => "reverted",
        UnitMark::Ignored => "ignored",
        UnitMark::Accepted => "accepted",
        UnitMark::Retired => "retired",
    }
}
