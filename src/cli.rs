//! The command line: arguments here, one file a verb below; exit codes as the design has them.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::logging::Format;
use crate::model::rule::Severity;

/// `driftd` watches MCP servers for drift and tells people what changed.
#[derive(Debug, Parser)]
#[command(name = "driftd", version, about, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    /// Configuration file [default: `./config/driftd.yaml`, else `/etc/driftd/driftd.yaml`]
    #[arg(long, global = true, env = "DRIFTD_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// How answers are written
    #[arg(long, global = true, value_enum, default_value_t = Output::Human)]
    pub output: Output,
    /// What is logged to standard error, as `info` or `driftd::probe=debug`
    #[arg(long, global = true, env = "DRIFTD_LOG", default_value = DEFAULT_LOG, value_name = "FILTER")]
    pub log: String,
    /// How log lines are written: for people (and the journal), or one JSON object a line
    #[arg(long, global = true, env = "DRIFTD_LOG_FORMAT", value_enum, default_value_t = Format::Human)]
    pub log_format: Format,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

/// What is logged unless somebody says otherwise; the scheduler tells of every job it makes.
pub const DEFAULT_LOG: &str = "info,tokio_cron_scheduler=warn";

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Human,
    /// For programs: documents with stable names.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run the daemon
    Run,
    /// Sample servers that drift, the daemon and its alerts, in one process: nothing to set up
    Demo(DemoArgs),
    /// Scan one target once; needs no store, writes none
    Scan(ScanArgs),
    /// Compare two saved snapshots, or two bare `tools/list` results
    Diff(DiffArgs),
    /// The targets and what is known of them
    Targets(TargetsArgs),
    /// What has drifted, and decisions about it
    Drift(DriftArgs),
    /// What targets are held to
    Baseline(BaselineArgs),
    /// The targets that no person has looked at yet; on a terminal it asks about each
    Review(ReviewArgs),
    /// Messages and whether they arrived
    Alerts(AlertsArgs),
    /// Where messages go
    #[command(subcommand)]
    Receiver(ReceiverVerb),
    /// What happened, newest first
    History(HistoryArgs),
    /// The store: whether it is whole, copies of it, putting one in its place
    #[command(subcommand)]
    Store(StoreVerb),
    /// The chained record of decisions
    #[command(subcommand)]
    Ledger(LedgerVerb),
    /// Have the daemon read its configuration anew; tells what changed, or every mistake
    Reload,
    /// The inventory's files
    #[command(subcommand)]
    Inventory(InventoryVerb),
    /// The configuration
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Why a target, an incident or a drift is as it is
    Why {
        /// A target's id, an incident (4F7K2), or eight digits of a fingerprint
        reference: String,
    },
    /// All rules
    Rules,
    /// One rule, by its id or an alias
    Explain {
        /// As `tool.removed`
        rule: String,
    },
    /// Write a configuration to start from: an own inventory of one server, or of an MCP client's
    Init(InitArgs),
    /// Completions for a shell, to standard output
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// The man page, to standard output
    Man,
}

/// Arguments of `init`.
#[derive(Clone, Debug, Default, Args)]
pub struct InitArgs {
    /// Where config/ is made
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// An MCP server to watch; it is scanned once, to tell what is there
    #[arg(long, value_name = "URL", conflicts_with = "from")]
    pub url: Option<String>,
    /// Its id in the inventory; made of the host without it
    #[arg(long, requires = "url")]
    pub id: Option<String>,
    /// The environment variable that holds its bearer token
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub token_env: Option<String>,
    /// Import the servers of an MCP client's configuration (`mcpServers`); secrets become references, never copies
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// A webhook to tell: its URL, or the environment variable that holds it
    #[arg(long, value_name = "URL|VARIABLE")]
    pub webhook: Option<String>,
    /// A mailbox to tell; may be given more than once
    #[arg(long, value_name = "ADDRESS", requires = "smtp")]
    pub mail: Vec<String>,
    /// The mail relay
    #[arg(long, value_name = "HOST[:PORT]", requires = "mail")]
    pub smtp: Option<String>,
    /// The mailbox that mail comes from [default: the first that is told]
    #[arg(long, value_name = "ADDRESS", requires = "mail")]
    pub mail_from: Option<String>,
    /// The relay's user; the password is read from `SMTP_PASSWORD`
    #[arg(long, value_name = "NAME", requires = "smtp")]
    pub smtp_user: Option<String>,
    /// For trying it out: look each 5 s and believe what is seen twice within 2 s
    #[arg(long)]
    pub quick: bool,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Keep the sample servers and the daemon running after the alerts, to decide yourself
    #[arg(long)]
    pub stay: bool,
}

/// Arguments of `scan`.
#[derive(Debug, Args)]
pub struct ScanArgs {
    /// A target's id in the inventory, or a URL
    pub target: String,
    /// Write the snapshot document to a file
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
    /// Let the peer name addresses in this range too, as 10.0.0.0/8
    #[arg(long, value_name = "CIDR")]
    pub allow_address: Vec<ipnet::IpNet>,
    /// Exit 1 on a finding this bad
    #[arg(long, value_name = "SEVERITY", default_value = "high")]
    pub fail_on: Severity,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The older document
    pub old: PathBuf,
    /// The newer document
    pub new: PathBuf,
    /// Exit 1 on drift this bad
    #[arg(long, value_name = "SEVERITY", default_value = "high")]
    pub fail_on: Severity,
}

/// Arguments of `targets`.
#[derive(Debug, Args)]
pub struct TargetsArgs {
    /// Nothing: list them
    #[command(subcommand)]
    pub verb: Option<TargetsVerb>,
}

/// What to do with targets.
#[derive(Debug, Subcommand)]
pub enum TargetsVerb {
    /// All that is known of one
    Show {
        /// The target
        id: String,
    },
    /// Have the daemon scan it now
    Scan {
        /// The target
        id: String,
    },
}

/// Arguments of `drift`.
#[derive(Debug, Args)]
pub struct DriftArgs {
    /// Nothing: list what is open
    #[command(subcommand)]
    pub verb: Option<DriftVerb>,
}

/// What to do with drift.
#[derive(Debug, Subcommand)]
pub enum DriftVerb {
    /// An incident, one of its revisions, or one drift
    Show {
        /// `4F7K2`, `4F7K2.1`, or a fingerprint
        reference: String,
    },
    /// Accept it: the baseline is what the revision shows
    Accept(DecisionArgs),
    /// It stands and is not trusted
    Reject(DecisionArgs),
    /// Somebody is on it
    Ack(DecisionArgs),
}

/// A decision, bound to what was read.
#[derive(Debug, Args)]
pub struct DecisionArgs {
    /// `4F7K2.1`, or a fingerprint
    pub reference: String,
    /// Leave these units out
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub except: Vec<u32>,
    /// Why; accept and reject require it
    #[arg(long)]
    pub reason: Option<String>,
    /// A reference into your tracker
    #[arg(long)]
    pub ticket: Option<String>,
    /// When it ends by itself: a date, as 2026-12-07, or an instant
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
}

/// Arguments of `baseline`.
#[derive(Debug, Args)]
pub struct BaselineArgs {
    /// What to do with them
    #[command(subcommand)]
    pub verb: BaselineVerb,
}

/// What to do with baselines.
#[derive(Debug, Subcommand)]
pub enum BaselineVerb {
    /// What a target is held to
    Show {
        /// The target
        id: String,
    },
    /// Hold a target to a snapshot
    Accept {
        /// `TARGET@DIGEST`, eight hexadecimal digits or more; on a terminal `TARGET` shows and asks
        reference: String,
        /// Hold it to this beside what it is held to
        #[arg(long)]
        beside: bool,
        /// Why
        #[arg(long)]
        reason: String,
        /// A reference into your tracker
        #[arg(long)]
        ticket: Option<String>,
    },
}

/// Arguments of `review`.
#[derive(Debug, Args)]
pub struct ReviewArgs {
    /// Why, for the ledger, of what is accepted
    #[arg(long)]
    pub reason: Option<String>,
}

/// Arguments of `alerts`.
#[derive(Debug, Args)]
pub struct AlertsArgs {
    /// Only those that were given up
    #[arg(long)]
    pub dead: bool,
    /// Nothing: list them
    #[command(subcommand)]
    pub verb: Option<AlertsVerb>,
}

/// What to do with messages.
#[derive(Debug, Subcommand)]
pub enum AlertsVerb {
    /// One message in full
    Show {
        /// Its id
        id: String,
    },
    /// Send given-up messages again, under their first ids
    Retry {
        /// One message; without it all that were given up
        id: Option<String>,
    },
}

/// What to do with receivers.
#[derive(Debug, Subcommand)]
pub enum ReceiverVerb {
    /// Send a test message now, and say what happened step by step
    Test {
        /// The receiver's name in driftd.yaml
        name: String,
    },
}

/// Arguments of `history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// Of one target
    pub target: Option<String>,
    /// How many lines
    #[arg(long, default_value_t = 50)]
    pub limit: u32,
}

/// What to do with the ledger.
#[derive(Debug, Subcommand)]
pub enum LedgerVerb {
    /// Follow its chain from the first entry; exits 3 when it is broken
    Verify,
}

/// What to do with the inventory's files.
#[derive(Debug, Subcommand)]
pub enum InventoryVerb {
    /// Let the current version of a held file in
    Release {
        /// The file, as `driftd reload` names it
        file: PathBuf,
    },
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigVerb {
    /// Read all files and tell every mistake
    Check,
    /// Write a file's JSON Schema, for editors
    Schema {
        /// Of which file
        #[arg(value_enum, default_value_t = SchemaFile::Driftd)]
        file: SchemaFile,
    },
}

/// A file that has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaFile {
    /// `driftd.yaml`
    Driftd,
    /// An inventory file
    Inventory,
    /// An inventory file that another program writes
    Listed,
}

mod answer;
mod ask;
mod completions;
mod config;
mod diff;
pub mod exit;
mod init;
mod page;
mod progress;
mod review;
mod rules;
mod run;
mod scan;
mod store;
mod style;

use exit::Exit;
pub use store::StoreVerb;

use crate::operations::Request;

/// Does what the command line says.
///
/// # Errors
/// Usage, configuration and everything that kept the verb from its work; the program ends with 2.
pub async fn run(cli: Cli) -> anyhow::Result<Exit> {
    let config = cli.config.as_deref();
    let ask = |request| ask::ask(config, cli.output, request);
    match cli.verb {
        Verb::Run => run::daemon(config, &cli.log, cli.log_format).await,
        Verb::Demo(args) => run::demo(&args, &cli.log).await,
        Verb::Scan(args) => scan::scan(config, cli.output, &args).await,
        Verb::Diff(args) => diff::diff(cli.output, &args),
        Verb::Targets(TargetsArgs { verb: None }) => ask(Request::Targets {}).await,
        Verb::Targets(TargetsArgs { verb: Some(TargetsVerb::Show { id }) }) => ask(Request::Target { id }).await,
        Verb::Targets(TargetsArgs { verb: Some(TargetsVerb::Scan { id }) }) => ask(Request::ScanNow { id }).await,
        Verb::Drift(DriftArgs { verb: None }) => ask(Request::Drifts {}).await,
        Verb::Drift(DriftArgs { verb: Some(verb) }) => ask(drift(verb)?).await,
        Verb::Baseline(BaselineArgs { verb: BaselineVerb::Show { id } }) => ask(Request::Baseline { id }).await,
        Verb::Baseline(BaselineArgs { verb: BaselineVerb::Accept { reference, beside, reason, ticket } }) => {
            let (id, digest) = ask::snapshot_reference(config, &reference).await?;
            ask(Request::BaselineAccept { id, digest, beside, reason, ticket }).await
        }
        Verb::Review(args) => review::review(config, cli.output, args).await,
        Verb::Alerts(AlertsArgs { verb: None, dead }) => ask::alerts(config, cli.output, dead).await,
        Verb::Alerts(AlertsArgs { verb: Some(AlertsVerb::Show { id }), .. }) => ask(Request::Alert { id }).await,
        Verb::Alerts(AlertsArgs { verb: Some(AlertsVerb::Retry { id }), .. }) => ask(Request::Retry { id }).await,
        Verb::Receiver(ReceiverVerb::Test { name }) => ask::receiver_test(config, cli.output, name).await,
        Verb::History(HistoryArgs { target, limit }) => ask(Request::History { target, limit }).await,
        Verb::Store(verb) => store::store(config, cli.output, verb).await,
        Verb::Ledger(LedgerVerb::Verify) => ask(Request::LedgerVerify {}).await,
        Verb::Why { reference } => ask(Request::Why { reference }).await,
        Verb::Reload => ask(Request::Reload {}).await,
        Verb::Inventory(InventoryVerb::Release { file }) => {
            // The daemon may run in another directory.
            ask(Request::Release { file: std::path::absolute(file)? }).await
        }
        Verb::Config(ConfigVerb::Check) => self::config::check(config, cli.output),
        Verb::Config(ConfigVerb::Schema { file }) => self::config::schema(file),
        Verb::Rules => rules::all(cli.output),
        Verb::Explain { rule } => rules::explain(cli.output, &rule),
        Verb::Init(args) => init::init(&args).await,
        Verb::Completions { shell } => completions::completions(shell),
        Verb::Man => completions::man(),
    }
}

fn drift(verb: DriftVerb) -> anyhow::Result<Request> {
    Ok(match verb {
        DriftVerb::Show { reference } => Request::Drift { reference },
        DriftVerb::Accept(args) => Request::Accept(ask::decision(args)?),
        DriftVerb::Reject(args) => Request::Reject(ask::decision(args)?),
        DriftVerb::Ack(args) => Request::Ack(ask::decision(args)?),
    })
}
