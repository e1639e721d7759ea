use std::fs;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::model::inventory::Cadence;
use crate::model::target::BaselineMode;

/// Variables that the files of these tests refer to.
const VARIABLES: [(&str, &str); 6] = [
    ("HOOK_URL", "https://hooks.example.com/T0/s3cr3t"),
    ("HOOK_SECRET", "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"),
    ("SMTP_PASSWORD", "correct horse"),
    ("PLAIN", "hunter2-value"),
    ("ONCALL_TOKEN", "t0ken-of-oncall-0123456789"),
    ("SHORT_TOKEN", "t0ken"),
];

/// Rules that there are.
const RULES: [&str; 4] = ["tool.removed", "tool.description-rewritten", "prompt.removed", "x.other-changed"];

/// Whatever is wrong, none of these is ever shown.
const SECRETS: [&str; 4] = ["hunter2", "correct horse", "s3cr3t", "t0ken"];

fn configs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configs")
}

fn environment() -> Environment {
    Environment::from_map(VARIABLES)
}

/// The files of a directory whose names start so, by name.
fn files(start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(configs()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(start)).collect();
    files.sort();
    files
}

/// Loads a `driftd.yaml`, or an inventory when its name says so.
fn load_either(file: &Path, name: &str) -> Result<Config, Mistakes> {
    let load = |file: &Path| load_with(file, &environment(), &LastGood::default(), &RULES);
    if !name.starts_with("bad-inventory-") {
        return load(file);
    }
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("driftd.yaml");
    fs::write(&main, format!("inventory: [ \"{}\" ]", file.display())).unwrap();
    load(&main)
}

/// Writes files into a new directory and loads the first.
fn load_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Config, Mistakes>) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let loaded = load(&directory.path().join(files[0].0), &environment());
    (directory, loaded)
}

/// The message about such files, with their directory taken out.
fn refused(files: &[(&str, &str)]) -> String {
    let (directory, loaded) = load_files(files);
    let message = loaded.unwrap_err().to_string();
    message.replace(&format!("{}/", directory.path().display()), "")
}

#[test]
fn every_good_file_is_taken() {
    let files = files("good-");
    assert!(files.len() >= 4, "{files:?}");
    for file in files {
        match load_with(&file, &environment(), &LastGood::default(), &RULES) {
            Ok(config) => assert_eq!(config.held, [], "{}", file.display()),
            Err(mistakes) => panic!("{}:\n{mistakes}", file.display()),
        }
    }
}

#[test]
fn every_bad_file_says_its_mistakes() {
    let files = files("bad-");
    assert!(files.len() >= 25, "{}", files.len());
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let message = load_either(&file, &name).expect_err(&name).to_string();
        for secret in SECRETS {
            assert!(!message.contains(secret), "{} shows a secret:\n{message}", file.display());
        }
        let message = message.replace(&format!("{}/", configs().display()), "");
        insta::assert_snapshot!(name, message);
    }
}

#[test]
fn as_shipped_it_starts_anywhere() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/driftd.yaml");
    let config = load(&file, &Environment::from_map([("", ""); 0])).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    assert_eq!(config.targets, []);
    assert_eq!(config.routes, []);
    assert_eq!(config.receivers.len(), 1);
    assert_eq!(config.receivers[0].channel, Channel::Console);
    assert_eq!(config.store, Path::new("driftd.db"));
    assert_eq!(config.control, Path::new("driftd.sock"));
    assert_eq!(config.metrics_listen.to_string(), "127.0.0.1:7439");
    assert_eq!((config.listen, config.people.len()), (None, 0));
    assert_eq!((&config.held[..], &config.backups), (&[][..], &None));
}

/// Takes the `#` away from the examples: it has no space after it, or the spaces of a nested line.
pub(super) fn uncommented(text: &str) -> String {
    let line = |line: &str| match line.strip_prefix('#') {
        Some(rest) if !rest.is_empty() && (!rest.starts_with(' ') || rest.starts_with("  ")) => {
            format!("{rest}\n")
        }
        _ => format!("{line}\n"),
    };
    text.lines().filter(|line| *line != "targets: []").map(line).collect()
}

#[test]
fn the_examples_that_are_shipped_are_right_and_complete() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    let [main, inventory] =
        ["driftd.yaml", "inventory.yaml"].map(|name| uncommented(&fs::read_to_string(shipped.join(name)).unwrap()));
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("driftd.yaml"), &main).unwrap();
    fs::write(directory.path().join("inventory.yaml"), &inventory).unwrap();
    let authority = rcgen::generate_simple_self_signed(vec!["ca.example".to_owned()]).unwrap().cert.pem();
    for name in ["example-ca.pem", "example-client.pem"] {
        fs::write(directory.path().join(name), &authority).unwrap();
    }
    fs::write(directory.path().join("smtp"), "correct horse\n").unwrap();
    fs::write(directory.path().join("oncall"), "0123456789abcdef0123456789abcdef\n").unwrap();
    let credentials = directory.path().to_str().unwrap();
    let environment = Environment::from_map(VARIABLES.into_iter().chain([("CREDENTIALS_DIRECTORY", credentials)]));
    let config = load(&directory.path().join("driftd.yaml"), &environment).unwrap_or_else(|mistakes| {
        panic!("{mistakes}");
    });
    assert_eq!((config.receivers.len(), config.routes.len(), config.targets.len()), (3, 3, 6));
    // No key is without an example.
    for (text, keys) in [
        (&main, daemon_file::KEYS),
        (&main, elements::receiver::KEYS),
        (&main, elements::email::KEYS),
        (&main, elements::smtp::KEYS),
        (&main, elements::webhook::KEYS),
        (&main, elements::route::KEYS),
        (&main, elements::scan::KEYS),
        (&main, elements::metrics::KEYS),
        (&main, elements::person::KEYS),
        (&main, elements::profile::KEYS),
        (&main, elements::retention::KEYS),
        (&main, elements::store::KEYS),
        (&main, elements::store::BACKUPS),
        (&main, elements::inventory::KEYS),
        (&inventory, elements::wish::IGNORE_KEYS),
        (&inventory, elements::wish::SEVERITY_KEYS),
        (&inventory, elements::wish::AUTO_ACCEPT_KEYS),
        (&inventory, elements::consumers::KEYS),
        (&inventory, inventory_file::KEYS),
        (&inventory, elements::target::KEYS),
        (&inventory, elements::defaults::KEYS),
        (&inventory, elements::cadence::KEYS),
        (&inventory, elements::tls::KEYS),
    ] {
        for element in keys {
            assert!(text.contains(&format!("{}:", element.key)), "`{}` has no example", element.key);
        }
    }
}

#[test]
fn everything_that_can_be_said_arrives() {
    let config = load(&configs().join("good-everything.yml"), &environment()).unwrap_or_else(|mistakes| {
        panic!("{mistakes}");
    });
    assert_eq!(config.store, configs().join("data/driftd.db"));
    assert_eq!(config.control, Path::new("/run/driftd/driftd.sock"));
    assert_eq!(config.inventory_files.len(), 3);
    assert_eq!(config.listed.len(), 3);
    assert_eq!(
        config.scan,
        ScanSettings { concurrency: 8, per_host: 1, contact: Some("mailto:ops@example.com".into()) }
    );
    assert_eq!(config.confirm.surface.after, Duration::from_secs(60));
    assert_eq!(config.egress_allow, ["10.0.0.0/8".parse().unwrap()]);
    let names: Vec<_> = config.receivers.iter().map(|receiver| receiver.name.as_str()).collect();
    assert_eq!(names, ["terminal", "ops-mail", "hook"]);
    let ids: Vec<_> = config.targets.iter().map(|target| target.id.as_str()).collect();
    assert_eq!(ids, ["tickets", "wiki", "files", "from-team-a", "generated-one", "generated-two"]);
    let [tickets, wiki, files, team, one, two] = config.targets.as_slice() else { panic!("{ids:?}") };
    assert_eq!(tickets.auth, Some(Auth::Bearer(SecretRef::File(configs().join("parts/../token")))));
    assert_eq!(tickets.cadence, Cadence::Every(Duration::from_secs(300)));
    assert_eq!(wiki.baseline, BaselineMode::Approve);
    assert!(matches!(&wiki.cadence, Cadence::Cron { timezone, .. } if timezone == "Europe/Madrid"));
    let secrets: Vec<_> = config.secrets().iter().map(ToString::to_string).collect();
    let token = format!("file {}", configs().join("parts/../token").display());
    assert_eq!(
        secrets,
        [
            "env ONCALL_TOKEN",
            "env SMTP_PASSWORD",
            "env HOOK_URL",
            "env HOOK_SECRET",
            &token,
            "env PLAIN",
            "env PLAIN",
            "credential mcp",
            "credential mcp"
        ]
    );
    wishes_arrive(tickets, one, two);
    let command = files.endpoint.command().unwrap();
    assert_eq!(command.to_string(), "npx -y files@1.2.3 /srv/data");
    assert_eq!((command.env.len(), command.cwd.clone()), (2, Some(configs().join("parts/data"))));
    let kept = (config.retention.history, config.retention.outbox);
    assert_eq!(kept, (Duration::from_hours(365 * 24), Duration::from_hours(30 * 24)));
    assert_eq!(config.people[0].may, [crate::model::settings::Right::Read, crate::model::settings::Right::Decide]);
    assert_eq!(config.listen.unwrap().to_string(), "127.0.0.1:7438");
    let backups = config.backups.as_ref().unwrap();
    assert_eq!((backups.directory.clone(), backups.keep), (configs().join("backups"), 14));
    assert_eq!(config.self_check.urls.len(), 1);
    assert_eq!(config.metrics.per_target, crate::model::settings::PerTarget::Always);
    assert_eq!(config.metrics.target_labels.as_deref().unwrap(), ["team"]);
    let repeats: Vec<_> = config.routes.iter().map(|route| route.repeat).collect();
    assert_eq!(repeats, [Some(Duration::from_hours(48)), Some(Duration::ZERO), None]);
    let listed: Vec<_> = config.parts.iter().map(|part| (part.listed, part.ids.len())).collect();
    assert_eq!(listed, [(false, 4), (false, 1), (true, 2)]);
    // Defaults reach targets of other files.
    assert_eq!(team.cadence, Cadence::Every(Duration::from_secs(3_600)));
    assert_eq!(team.timeout, Duration::from_secs(5));
}

fn wishes_arrive(tickets: &Target, one: &Target, two: &Target) {
    let policy = &tickets.policy;
    assert_eq!((policy.ignore.len(), policy.severity.len(), policy.auto_accept.len()), (2, 2, 1));
    assert!(policy.trust_hints);
    assert_eq!(policy.consumers[0].uses, ["create_refund", "42"]);
    assert_eq!(tickets.was, ["desk".parse().unwrap()]);
    assert_eq!(tickets.confirm.unwrap().security.sightings, 5);
    // The daemon's, where the target says nothing.
    assert_eq!(
        tickets.confirm.unwrap().surface,
        crate::model::confirm::Threshold { sightings: 3, after: Duration::from_mins(1) }
    );
    assert_eq!(one.auth, Some(Auth::Bearer(SecretRef::Credential("mcp".into()))));
    assert_eq!(one.baseline, BaselineMode::Approve);
    assert_eq!(one.cadence, Cadence::Every(Duration::from_mins(10)));
    assert_eq!(one.labels.get("tier").map(String::as_str), Some("internal"));
    // The profile's severity comes before the target's own, of which a listed one has none.
    assert_eq!((two.policy.severity.len(), two.policy.ignore.len()), (1, 1));
}

#[test]
fn defaults_of_the_store_and_the_socket_follow_systemds_directories() {
    let (_directory, loaded) = load_files(&[("driftd.yaml", "# Nothing said.\n")]);
    assert_eq!(loaded.unwrap().store, Path::new("driftd.db"));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("driftd.yaml");
    fs::write(&file, "{}").unwrap();
    let state = Environment::from_map([("STATE_DIRECTORY", "/var/lib/driftd:/var/lib/other")]);
    let config = load(&file, &state).unwrap();
    assert_eq!(config.store, Path::new("/var/lib/driftd/driftd.db"));
    assert_eq!(config.control, Path::new("/var/lib/driftd/driftd.sock"));
    let runtime = Environment::from_map([("RUNTIME_DIRECTORY", "/run/driftd")]);
    assert_eq!(load(&file, &runtime).unwrap().control, Path::new("/run/driftd/driftd.sock"));
}

#[test]
fn the_file_is_found_by_flag_then_by_variable_then_in_etc() {
    let environment = Environment::from_map([("DRIFTD_CONFIG", "/srv/driftd.yaml")]);
    assert_eq!(locate(Some(Path::new("x.yaml")), &environment), Path::new("x.yaml"));
    assert_eq!(locate(None, &environment), Path::new("/srv/driftd.yaml"));
    let located = locate(None, &Environment::from_map([("DRIFTD_CONFIG", "")]));
    let here = Path::new("./config/driftd.yaml");
    assert_eq!(located, if here.exists() { here } else { Path::new("/etc/driftd/driftd.yaml") });
}

#[test]
fn an_id_in_two_files_names_both_places() {
    let target = "targets:\n- { id: a, kind: mcp, url: \"https://a.example\" }\n";
    insta::assert_snapshot!(refused(&[
        ("driftd.yaml", "inventory: [ one.yaml, \"d/*.yaml\" ]\n"),
        ("one.yaml", target),
        ("d/two.yaml", target),
    ]), @r#"
    d/two.yaml:2:9: two targets have the id `a`
       |
     2 | - { id: a, kind: mcp, url: "https://a.example" }
       |         ^ the id is the target: each has its own
      one.yaml:2:9: the first stands here
         |
       2 | - { id: a, kind: mcp, url: "https://a.example" }
         |         ^
    "#);
}

#[test]
fn defaults_in_two_files_name_both_places() {
    insta::assert_snapshot!(refused(&[
        ("driftd.yaml", "inventory: [ one.yaml, two.yaml ]\n"),
        ("one.yaml", "defaults: { every: 5m }\n"),
        ("two.yaml", "targets: []\ndefaults: { every: 6m }\n"),
    ]), @r#"
    two.yaml:2:1: `defaults` stands in two inventory files
       |
     2 | defaults: { every: 6m }
       | ^^^^^^^^ keep them in one file
      one.yaml:1:1: they stand here first
         |
       1 | defaults: { every: 5m }
         | ^^^^^^^^
    "#);
}

#[test]
fn a_file_that_is_listed_twice_is_read_once() {
    let (_directory, loaded) = load_files(&[
        ("driftd.yaml", "inventory: [ b.yaml, \"*.yaml\", ./b.yaml, \"none/*.yaml\" ]\n"),
        ("b.yaml", "targets:\n- { id: b, kind: mcp, url: \"https://b.example\" }\n"),
    ]);
    // `*.yaml` matches driftd.yaml too, which is no inventory.
    let message = loaded.unwrap_err().to_string();
    assert!(message.contains("unknown key `inventory`") && !message.contains("two targets"), "{message}");
}

#[test]
fn an_inventory_that_is_not_there_is_a_mistake_of_the_file_that_lists_it() {
    let message = refused(&[("driftd.yaml", "inventory:\n- gone.yaml\n")]);
    assert!(message.starts_with("driftd.yaml:2:3: the inventory cannot be read: "), "{message}");
}

#[test]
fn a_driftd_yaml_without_any_text_is_a_mistake_and_a_comment_says_that_nothing_is_meant() {
    for text in ["", "\n", " \t\r\n\n", "\u{feff}", "---\n", "---\n...\n"] {
        let message = refused(&[("driftd.yaml", text)]);
        let says = "driftd.yaml: the file is empty; a comment or `{}` says that nothing is meant";
        assert_eq!(message, says, "{text:?}");
    }
    for text in ["# nothing yet\n", "{}", "---\n# nothing yet\n", "\n\n{}\n"] {
        let (_directory, loaded) = load_files(&[("driftd.yaml", text)]);
        assert_eq!(loaded.unwrap().targets, [], "{text:?}");
    }
}

#[test]
fn an_inventory_that_was_cut_off_does_not_look_empty() {
    let message = refused(&[("driftd.yaml", "inventory: [ a.yaml ]\n"), ("a.yaml", "")]);
    assert_eq!(message, "a.yaml: the file has no `targets`; add `targets`: `targets: []` for none");
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let message = load(Path::new("/nonexistent/driftd.yaml"), &environment()).unwrap_err().to_string();
    assert!(message.starts_with("/nonexistent/driftd.yaml: the file cannot be read: "), "{message}");
    let directory = tempfile::tempdir().unwrap();
    let message = load(directory.path(), &environment()).unwrap_err().to_string();
    assert!(message.ends_with(": this is not a regular file"), "{message}");
    let file = directory.path().join("f.yaml");
    fs::write(&file, b"a: \xff").unwrap();
    assert!(load(&file, &environment()).unwrap_err().to_string().ends_with(": the file is not UTF-8 text"));
    fs::write(&file, " ".repeat((1 << 20) + 1)).unwrap();
    assert!(load(&file, &environment()).unwrap_err().to_string().contains(": the file is longer than 1 MiB"));
}

#[test]
fn mistakes_of_a_generated_file_are_counted_beyond_two_hundred() {
    let targets: String = (0..1_000).map(|n| format!("- {{ id: t{n}, kind: mcp }}\n")).collect();
    let (_directory, loaded) =
        load_files(&[("driftd.yaml", "inventory: [ i.yaml ]\n"), ("i.yaml", &format!("targets:\n{targets}"))]);
    let mistakes = loaded.unwrap_err();
    assert_eq!((mistakes.list.len(), mistakes.more), (200, 800));
    assert!(mistakes.to_string().ends_with("and 800 more mistakes"));
}

#[test]
fn a_secret_in_any_place_of_a_wrong_file_is_not_shown() {
    let secret = "hunter2-value";
    for text in [
        format!("receivers: [ {{ name: a, webhook: {{ url: \"https://h.example/{secret}\", secrte: x }} }} ]"),
        format!("receivers: [ {{ name: a, webhook: {{ url: \"{secret}\" }} }} ]"),
        format!("receivers: {{ password: {secret}, more: [ ] }}"),
        format!("receivers:\n- name: a\n  email: {{ smtp: {{ password: {secret}, port: x }} }}"),
        format!("password: \"{secret}"),
        format!("a: [1\nsecret: {secret}\nb: : c"),
        "receivers: [ { name: a, webhook: { url: { env: PLAIN }, secret: { env: PLAIN } } } ]".to_owned(),
    ] {
        let message = refused(&[("driftd.yaml", &text)]);
        assert!(!message.contains(secret), "{text}\n{message}");
    }
    for text in [
        format!("targets: [ {{ id: a, kind: mcp, url: \"https://u:{secret}@h.example\", x: 1 }} ]"),
        format!("targets: [ {{ id: a, kind: mcp, url: \"https://h.example\", auth: {{ bearer: {secret} }}, x: 1 }} ]"),
        format!("targets: {{ id: a, auth: {{ bearer: {secret} }} }}"),
        format!("targets: [ {{ id: a, headers: {{ X-Api-Key: {secret}, Host: h }} }} ]"),
        format!("x: &t {secret}\ntargets: [ {{ id: a, auth: {{ bearer: *t }} }} ]"),
    ] {
        let message = refused(&[("driftd.yaml", "inventory: [ i.yaml ]"), ("i.yaml", &text)]);
        assert!(!message.contains(secret), "{text}\n{message}");
    }
}

/// A file with everything in it, and one of the characters that YAML, our forms and terminals care about.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, char)>> {
    let character = prop::sample::select(
        "{}[]:,#&*!|>'\"%@`-? \n\t\r~<a0é\u{0}\u{1b}\u{202e}\u{feff}\u{10ffff}".chars().collect::<Vec<_>>(),
    );
    prop::collection::vec((any::<prop::sample::Index>(), character), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_with_any_edits_is_taken_or_refused_and_harmless_to_show(edits in edits(), inventory in any::<bool>()) {
        let name = if inventory { "parts/everything.yml" } else { "good-everything.yml" };
        let mut text: Vec<char> = fs::read_to_string(configs().join(name)).unwrap().chars().collect();
        for (index, character) in edits {
            let at = index.index(text.len());
            text[at] = character;
        }
        let text: String = text.into_iter().collect();
        let environment = environment();
        let mut reader = Reader::new(&environment, None);
        let keys = if inventory { inventory_file::KEYS } else { daemon_file::KEYS };
        let value = reader.take(Path::new("f.yaml"), text, keys).map(|node| {
            if inventory {
                inventory_file::decode(&mut reader, &node);
                inventory_file::decode_listed(&mut reader, &node);
            } else {
                daemon_file::decode(&mut reader, &node);
            }
        });
        if let Err(mistakes) = reader.finish(value) {
            let message = mistakes.to_string();
            prop_assert!(!message.is_empty());
            prop_assert!(message.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{message:?}");
        }
    }
}
