//! What the operating system says of this process.
//!
//! Its start is told by ourselves: the library reads the time of the machine's boot from `/proc/stat`, which the unit
//! hides (`ProcSubset=pid`), and would then say 0, which is fifty years of running.

use prometheus::Opts;
use prometheus::core::{Collector, Desc};
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::MetricFamily;

/// Its name in the library, and ours.
const START: &str = "process_start_time_seconds";

/// The start, under its usual name and with its usual words.
pub(super) fn start() -> Opts {
    Opts::new(START, "Start time of the process since unix epoch in seconds.")
}

/// The library's collector without the start.
pub(super) struct Process(ProcessCollector);

impl Process {
    pub(super) fn new() -> Self {
        Self(ProcessCollector::for_self())
    }
}

impl Collector for Process {
    fn desc(&self) -> Vec<&Desc> {
        self.0.desc().into_iter().filter(|desc| desc.fq_name != START).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.0.collect().into_iter().filter(|family| family.name() != START).collect()
    }
}
