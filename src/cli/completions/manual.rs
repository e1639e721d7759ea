//! The man page: what `clap_mangen` makes of the top, then every verb with its arguments, for a page of its own for
//! each of thirty verbs is read by nobody.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};
use clap_mangen::Man;

use crate::cli::Cli;

/// What follows the verbs; each line is roff.
const END: &str = "\
.SH EXIT STATUS
.TP
0
Fine.
.TP
1
Drift or findings at or above \\fB\\-\\-fail\\-on\\fR.
.TP
2
Usage or configuration.
.TP
3
The endpoint gave no verdict, or something that is watched was not seen; or the store is damaged. 1 beats 3.
.TP
4
A part of the daemon broke or did not start, which a restart may mend.
.TP
130, 143
A second SIGINT or SIGTERM ended the daemon at once.
.SH FILES
.TP
config/driftd.yaml, /etc/driftd/driftd.yaml
The configuration, unless \\fB\\-\\-config\\fR or \\fBDRIFTD_CONFIG\\fR names another.
.TP
$STATE_DIRECTORY/driftd.db
The store; without systemd \\fIdriftd.db\\fR in the working directory.
.TP
$RUNTIME_DIRECTORY/driftd.sock
The control socket; without systemd beside the store.
";

/// The page.
///
/// # Errors
/// When it cannot be rendered.
pub(in crate::cli) fn page() -> std::io::Result<String> {
    let mut command = Cli::command();
    command.build();
    let man = Man::new(command.clone()).title("DRIFTD").section("1").manual("driftd");
    let mut head = Vec::new();
    man.render_title(&mut head)?;
    man.render_name_section(&mut head)?;
    man.render_synopsis_section(&mut head)?;
    man.render_description_section(&mut head)?;
    man.render_options_section(&mut head)?;
    let head = String::from_utf8_lossy(&head).into_owned();
    // Each section comes with the same preamble; the first is enough.
    let preamble: Vec<&str> = head.lines().take(2).collect();
    let rest = head.lines().skip(2).filter(|line| !preamble.contains(line));
    let mut page = preamble.iter().copied().chain(rest).fold(String::new(), |page, line| page + line + "\n");
    page.push_str(".SH COMMANDS\n");
    verbs(&command, "driftd", &mut page);
    page.push_str(END);
    Ok(page)
}

/// Every verb below `command`, in the order of `--help`.
fn verbs(command: &Command, path: &str, page: &mut String) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help") {
        let path = format!("{path} {}", verb.get_name());
        let own: Vec<&Arg> = verb.get_arguments().filter(|arg| !is_everywhere(arg)).collect();
        if verb.has_subcommands() && own.is_empty() {
            about(verb, &path, &[], page);
        } else {
            about(verb, &path, &own, page);
        }
        verbs(verb, &path, page);
    }
}

/// Arguments that every verb takes stand at the top.
fn is_everywhere(arg: &Arg) -> bool {
    arg.is_global_set() || arg.is_hide_set() || matches!(arg.get_id().as_str(), "help" | "version")
}

fn about(verb: &Command, path: &str, own: &[&Arg], page: &mut String) {
    let positional = own.iter().filter(|arg| arg.is_positional()).map(|arg| {
        let name = placeholder(arg);
        if arg.is_required_set() { format!(" {name}") } else { format!(" [{name}]") }
    });
    let _ = writeln!(page, ".SS {}{}", roff(path), roff(&positional.collect::<String>()));
    if let Some(about) = verb.get_about() {
        let _ = writeln!(page, "{}.", text(&about.to_string()));
    }
    for arg in own {
        let _ = writeln!(page, ".TP\n\\fB{}\\fR", roff(&spelled(arg)));
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        let default = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect::<Vec<_>>();
        let takes_value = arg.get_action().takes_values();
        let default = if default.is_empty() || !takes_value {
            String::new()
        } else {
            format!(" [default: {}]", default.join(", "))
        };
        let _ = writeln!(page, "{}{}", text(&help), roff(&default));
    }
}

fn placeholder(arg: &Arg) -> String {
    let names = arg.get_value_names().and_then(|names| names.first());
    names.map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string)
}

fn spelled(arg: &Arg) -> String {
    let Some(long) = arg.get_long() else { return placeholder(arg) };
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let value = if arg.get_action().takes_values() { format!(" {}", placeholder(arg)) } else { String::new() };
    format!("{short}--{long}{value}")
}

/// Words that roff does not read as its own.
fn roff(words: &str) -> String {
    words.replace('\\', "\\e").replace('-', "\\-")
}

/// A line of words: one that begins with a dot or a quote would be a request.
fn text(words: &str) -> String {
    let words = roff(&words.replace('\n', " "));
    if words.starts_with(['.', '\'']) { format!("\\&{words}") } else { words }
}
